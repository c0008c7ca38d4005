package audit

import (
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// Story tells the first violation of a cell in one line: a unit sold twice if there is one, since that is what a
// shop notices, else whatever else was found broken. It is empty if nothing was.
func Story(findings []history.Finding) string {
	for _, f := range findings {
		if f.Result == history.Broken {
			return f.Because
		}
	}
	return ""
}

func twiceInWords(c *history.Cell, unit int64, first, again *history.Op) string {
	return fmt.Sprintf("%s sold unit %d to %s at %s; %s sold unit %d again to %s at %s",
		first.Instance, unit, order(c, first), first.Done,
		again.Instance, unit, order(c, again), again.Done)
}

// order names an order briefly: its id begins with the product's name, which the reader of a cell knows.
func order(c *history.Cell, op *history.Op) string {
	return "order " + strings.TrimPrefix(op.Order, c.Product+"-")
}
