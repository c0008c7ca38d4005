package audit

import (
	"fmt"
	"strconv"

	"stockapi/loadtest/history"
)

// byCount judges by numbers alone whether sales and stock agree, for a stock whose writes are not observed. A sold
// order took one unit, a refused one none, and one of unknown outcome none or one. The sales that the shop itself
// recorded say which: a client may throw when it releases an expired lock, after the commit, and then the buyer has a
// unit and an error. Errors that cancel out are not found.
func byCount(b *books) history.Finding {
	switch {
	case b.Left == nil:
		return answer(history.Stock, history.NotApplicable, "not judged: the stock was not read at the end")
	case b.Count.Unbalanced != "":
		return answer(history.Stock, history.Indeterminate, "%s", b.Count.Unbalanced)
	}
	if why := b.miscount(); why != "" {
		return broken(history.Stock, []history.Evidence{{Text: why + ", by count"}}, 1)
	}
	switch {
	case b.noFaults() && b.sales == 0 && b.Initial > 0:
		return answer(history.Stock, history.Indeterminate, "nothing was sold, so nothing was proven")
	case b.Count.Kept:
		return answer(history.Stock, history.Indeterminate, history.KeptByDatabase)
	}
	return history.Finding{Verdict: history.Stock, Result: history.OK}
}

// miscount returns how sales and stock disagree, "" if they agree. A shop that decides first, and then subtracts, takes
// a unit for each sale: only a stock that is too small shows that it sells too many.
func (b *books) miscount() string {
	gone, least, most := b.Initial-*b.Left, b.promised, b.promised+b.open
	answers := fromTo(least, most)
	said := answers + " sold"
	if sales := b.Count.Sales; sales != nil {
		least, most, said = *sales, *sales, fmt.Sprintf("%d recorded as sold", *sales)
	}
	switch {
	case least > b.Initial:
		return fmt.Sprintf("%s, of a stock of %d", said, b.Initial)
	case *b.Left < 0, gone < least, gone > most:
		return fmt.Sprintf("%s, but the stock went from %d to %d", said, b.Initial, *b.Left)
	case least < b.promised, most > b.promised+b.open:
		return fmt.Sprintf("%s, but %s according to the answers", said, answers)
	}
	return ""
}

// fromTo returns a range of numbers, in words.
func fromTo(least, most int64) string {
	if most > least {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return strconv.FormatInt(least, 10)
}
