package audit

import (
	"fmt"

	"stockapi/loadtest/history"
)

// byCount judges by numbers alone whether sales and stock agree, for a stock whose writes are not observed. A sold
// order took one unit, a refused one none, and one of unknown outcome none or one. The sales that the shop itself
// recorded replace both bounds: a client may throw when it releases an expired lock, after the commit, and then the
// buyer has a unit and an error. Errors that cancel out are not found.
func byCount(b *books) history.Finding {
	switch {
	case b.Left == nil:
		return answer(history.Stock, history.NotApplicable, "not judged: the stock was not read at the end")
	case b.Count.Unbalanced != "":
		return answer(history.Stock, history.Indeterminate, "%s", b.Count.Unbalanced)
	case b.noFaults() && b.sales == 0 && b.Initial > 0:
		return answer(history.Stock, history.Indeterminate, "nothing was sold, so nothing was proven")
	}
	gone, least, most := b.Initial-*b.Left, b.promised, b.promised+b.open
	said := fmt.Sprintf("%d sold", least)
	if most > least {
		said = fmt.Sprintf("%d to %d sold", least, most)
	}
	if sales := b.Count.Sales; sales != nil {
		least, most, said = *sales, *sales, fmt.Sprintf("%d recorded as sold", *sales)
	}
	if gone < least || gone > most {
		text := fmt.Sprintf("%s, but the stock went from %d to %d, by count", said, b.Initial, *b.Left)
		return broken(history.Stock, []history.Evidence{{Text: text}}, 1)
	}
	if b.Count.Kept {
		return answer(history.Stock, history.Indeterminate, history.KeptByDatabase)
	}
	return history.Finding{Verdict: history.Stock, Result: history.OK}
}
