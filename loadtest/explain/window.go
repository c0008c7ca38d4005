package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

// patience is how long Porcupine may try. The windows that are cut here take it some milliseconds.
const patience = 2 * time.Second

// reaches are how many neighbours on either side of a violation a window has, at best. With more, the violation may
// not be the only thing wrong.
var reaches = []int{4, 2, 1, 0}

// Window is the first violation of a cell, with some orders around it, as Porcupine sees it.
type Window struct {
	// Doubt is why there is no picture of it, in words; empty if there is one.
	Doubt string

	cell     *history.Cell
	finding  history.Finding
	question *question
	times    times
	kept     picks
	found    []*history.Op // see orders
	// alone reports whether all is well without the last order of the violation.
	alone bool
	info  porcupine.LinearizationInfo
}

// First returns the window of the first violation of a cell's stock or, if the stock is in order, of its lock. It
// returns nil if neither was found broken.
func First(c *history.Cell) *Window {
	for _, v := range []history.Verdict{history.Stock, history.Exclusion} {
		if f := c.Finding(v); f.Result == history.Broken && len(f.Evidence) > 0 {
			w := &Window{cell: c, finding: f, times: timesOf(c), kept: picks{}}
			w.Doubt = w.cut()
			if w.Doubt == "" {
				w.Doubt = w.ask()
			}
			return w
		}
	}
	return nil
}

// Acts is how many acts Porcupine was asked about.
func (w *Window) Acts() int { return len(w.question.acts) }

// cut chooses what to ask. It returns why there is nothing to be asked, if so.
func (w *Window) cut() (doubt string) {
	violation, lock := w.orders(), w.finding.Verdict == history.Exclusion
	switch {
	case lock && len(violation) == 0:
		return "it is of no orders"
	case lock && !oneClock(w.cell):
		return "the instances are not known to have one clock, and Porcupine compares times as they are"
	case lock:
		w.narrow(violation, leasesAround(w.cell, w.kept, violation).around)
	case len(violation) > 0:
		w.narrow(violation, salesAround(w.cell, w.times, w.kept, violation).around)
	case w.cell.Len() > maxActs:
		return fmt.Sprintf("it takes all %d orders to see it, which are too many", w.cell.Len())
	default:
		w.question = (&sales{cell: w.cell, times: w.times, kept: w.kept}).whole()
	}
	return ""
}

// narrow takes the widest window in which all is well but for the violation.
func (w *Window) narrow(violation []*history.Op, around func([]*history.Op, int) *question) {
	for _, reach := range reaches {
		w.question = around(violation, reach)
		rest := w.question.without(violation[len(violation)-1])
		w.alone = porcupine.CheckOperationsTimeout(rest.model(), rest.operations(), patience) == porcupine.Ok
		if w.alone {
			return
		}
	}
}

// ask has Porcupine look for a sequence. It returns why what came of it is nothing to be shown, if so.
func (w *Window) ask() (doubt string) {
	result, info := porcupine.CheckOperationsVerbose(w.question.model(), w.question.operations(), patience)
	switch result {
	case porcupine.Illegal:
		settle(info)
		info.AddAnnotations(w.notes())
		w.info = info
		return ""
	case porcupine.Ok:
		return fmt.Sprintf("of the %d acts that were looked at it found a sequence without fault", w.Acts())
	default:
		return fmt.Sprintf("it came to no end with %d acts in %s", w.Acts(), patience)
	}
}

// settle puts the sequences that were tried into an order that is always the same, the longest first: they come in any.
func settle(info porcupine.LinearizationInfo) {
	for _, tried := range info.PartialLinearizations() {
		slices.SortFunc(tried, func(a, b []int) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b))
		})
	}
}

// orders are those of the first violation, each once, the last one last.
func (w *Window) orders() []*history.Op {
	if w.found != nil {
		return w.found
	}
	ids := w.finding.Evidence[0].Orders
	byID := map[string]*history.Op{}
	for i, op := range w.cell.All() {
		if byID[op.Order] == nil && slices.Contains(ids, op.Order) {
			byID[op.Order] = w.kept.keep(i, op)
		}
	}
	w.found = []*history.Op{}
	for _, id := range ids {
		if op := byID[id]; op != nil && !slices.Contains(w.found, op) {
			w.found = append(w.found, op)
		}
	}
	return w.found
}
