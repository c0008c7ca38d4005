package porcupine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

// timeLimit bounds how long Porcupine searches. The windows that are cut here take it some milliseconds.
const timeLimit = 2 * time.Second

// reaches are the numbers of neighbours that a window has on either side of a violation, tried in turn. A wide window
// may hold a second violation; a narrower one then shows the first alone.
var reaches = []int{4, 2, 1, 0}

// Window is the first violation of a cell with some orders around it, and the result that Porcupine found for them.
type Window struct {
	// NoPicture says why there is no picture of the violation; empty if there is one.
	NoPicture string

	cell     *history.Cell
	finding  history.Finding
	question *question
	times    times
	kept     keptOrders
	cached   []*history.Op // by orders
	// legalWithout says that there is a legal sequence without the last order of the violation.
	legalWithout bool
	info         porcupine.LinearizationInfo
}

// First returns the window of the first violation of verdict stock or, if the stock is ok, of verdict exclusion. It
// returns nil if neither is broken.
func First(c *history.Cell) *Window {
	for _, v := range []history.Verdict{history.Stock, history.Exclusion} {
		if f := c.Finding(v); f.Result == history.Broken && len(f.Evidence) > 0 {
			w := &Window{cell: c, finding: f, times: timesOf(c), kept: keptOrders{}}
			w.NoPicture = w.cut()
			if w.NoPicture == "" {
				w.NoPicture = w.ask()
			}
			return w
		}
	}
	return nil
}

// Operations returns how many operations Porcupine got.
func (w *Window) Operations() int { return len(w.question.operations) }

// cut chooses the question. It returns a reason if there is none to ask.
func (w *Window) cut() (reason string) {
	violation, lock := w.orders(), w.finding.Verdict == history.Exclusion
	switch {
	case lock && len(violation) == 0:
		return "its evidence names no orders"
	case lock && !oneClock(w.cell):
		return "the instances are not known to have one clock, and Porcupine compares times as they are"
	case lock:
		w.narrow(violation, leasesAround(w.cell, w.kept, violation).around)
	case len(violation) > 0:
		w.narrow(violation, salesAround(w.cell, w.times, w.kept, violation).around)
	case w.cell.Len() > maxOperations:
		return fmt.Sprintf("it shows only among all %d orders, which are too many", w.cell.Len())
	default:
		w.question = (&sales{cell: w.cell, times: w.times, kept: w.kept}).whole()
	}
	return ""
}

// narrow takes the widest window that is legal but for the violation.
func (w *Window) narrow(violation []*history.Op, around func([]*history.Op, int) *question) {
	for _, reach := range reaches {
		w.question = around(violation, reach)
		rest := w.question.without(violation[len(violation)-1])
		w.legalWithout = porcupine.CheckOperationsTimeout(rest.model(), rest.forPorcupine(), timeLimit) == porcupine.Ok
		if w.legalWithout {
			return
		}
	}
}

// ask has Porcupine search for a legal sequence. It returns a reason if the result is nothing to be shown.
func (w *Window) ask() (reason string) {
	result, info := porcupine.CheckOperationsVerbose(w.question.model(), w.question.forPorcupine(), timeLimit)
	switch result {
	case porcupine.Illegal:
		sortTried(info)
		info.AddAnnotations(w.notes())
		w.info = info
		return ""
	case porcupine.Ok:
		return fmt.Sprintf("it found a legal sequence of the %d operations around it", w.Operations())
	default:
		return fmt.Sprintf("it did not finish with %d operations in %s", w.Operations(), timeLimit)
	}
}

// sortTried sorts the sequences that were tried, the longest first. Porcupine returns them in no fixed order.
func sortTried(info porcupine.LinearizationInfo) {
	for _, tried := range info.PartialLinearizations() {
		slices.SortFunc(tried, func(a, b []int) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b))
		})
	}
}

// orders returns the orders of the first violation, each once, in the order of its evidence.
func (w *Window) orders() []*history.Op {
	if w.cached != nil {
		return w.cached
	}
	ids := w.finding.Evidence[0].Orders
	byID := map[string]*history.Op{}
	for i, op := range w.cell.All() {
		if byID[op.Order] == nil && slices.Contains(ids, op.Order) {
			byID[op.Order] = w.kept.keep(i, op)
		}
	}
	w.cached = []*history.Op{}
	for _, id := range ids {
		if op := byID[id]; op != nil && !slices.Contains(w.cached, op) {
			w.cached = append(w.cached, op)
		}
	}
	return w.cached
}
