package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// maxEvidence bounds the evidence that a finding keeps; Because says how much there was.
const maxEvidence = 5

// Judge answers whether a cell is a measurement of the service, and then all questions about it, in the order of
// history.Verdicts. It also returns what the answers rest on. A cell that was not run gets neither.
func Judge(c *history.Cell) ([]history.Finding, *history.Coverage) {
	if c.NotTested != nil {
		return nil, nil
	}
	b := readBooks(c)
	answers := []history.Finding{
		stock(b),
		exclusion(b),
		ownRelease(b),
		liveness(b),
		fence(b),
		inOrder(b),
		herd(b),
	}
	return withValid(valid(b, answers), answers), b.coverage()
}

// withValid puts the answer to Valid before the others. If the cell is no measurement of the service, the others say
// nothing.
func withValid(first history.Finding, answers []history.Finding) []history.Finding {
	if first.Result == history.Invalid {
		for i, f := range answers {
			if f.Result != history.NotApplicable {
				answers[i] = answer(f.Verdict, history.Indeterminate,
					"the cell is no measurement of the service: %s", first.Because)
			}
		}
	}
	return append([]history.Finding{first}, answers...)
}

// Stock answers whether sales and stock agree.
func Stock(c *history.Cell) history.Finding { return stock(readBooks(c)) }

func answer(v history.Verdict, r history.Result, format string, args ...any) history.Finding {
	return history.Finding{Verdict: v, Result: r, Because: fmt.Sprintf(format, args...)}
}

// broken makes a finding of its evidence. The first piece is the reason; of the others only the number is told.
func broken(v history.Verdict, ev []history.Evidence, total int) history.Finding {
	f := history.Finding{Verdict: v, Result: history.Broken, Because: ev[0].Text, Evidence: ev[:min(len(ev), maxEvidence)]}
	if total > 1 {
		f.Because += fmt.Sprintf(" (the first of %d)", total)
	}
	return f
}

// evidence returns what a text says of some ops, with the moments that it names.
func evidence(text string, at []history.Instant, ops ...*history.Op) history.Evidence {
	e := history.Evidence{Text: text, At: at}
	for _, op := range ops {
		e.Orders, e.Instances = append(e.Orders, op.Order), append(e.Instances, op.Instance)
	}
	return e
}

// A violation is one between two ops.
type violation struct {
	at    history.Instant
	a, b  int   // indices of ops
	value int64 // the unit, the token or the removal that it is about
}

// violations counts violations and keeps the first ones.
type violations struct {
	total int
	first []violation
}

func (h *violations) add(one violation) {
	h.total++
	h.first = append(h.first, one)
	slices.SortStableFunc(h.first, func(a, b violation) int { return cmp.Compare(a.at, b.at) })
	h.first = h.first[:min(len(h.first), maxEvidence)]
}

// broken makes a finding of the violations. words puts one of them into words.
func (h *violations) broken(v history.Verdict, words func(violation) history.Evidence) history.Finding {
	ev := make([]history.Evidence, 0, len(h.first))
	for _, one := range h.first {
		ev = append(ev, words(one))
	}
	return broken(v, ev, h.total)
}
