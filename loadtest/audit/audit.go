package audit

import (
	"cmp"
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// maxEvidence bounds the evidence that a finding keeps; Because has the total.
const maxEvidence = 5

// Judge returns a finding for each verdict on a cell: Valid first, whether the cell measures the service, then those of
// history.Verdicts in their order. It also returns the coverage. A cell that was not run gets neither. The timeline is
// the cell's.
func Judge(c *history.Cell, line *history.Timeline) ([]history.Finding, *history.Coverage) {
	if c.NotTested != nil {
		return nil, nil
	}
	b := readBooks(c)
	answers := []history.Finding{
		stock(b),
		exclusion(b),
		ownRelease(b, line),
		liveness(b),
		fence(b),
		inOrder(b),
		herd(b),
	}
	return withValid(valid(b, answers), answers), b.coverage()
}

// withValid puts the finding for Valid before the others. If the cell does not measure the service, the others become
// unknown.
func withValid(first history.Finding, answers []history.Finding) []history.Finding {
	if first.Result == history.Invalid {
		for i, f := range answers {
			if f.Result != history.NotApplicable {
				answers[i] = answer(f.Verdict, history.Indeterminate,
					"the cell does not measure the service: %s", first.Because)
			}
		}
	}
	return append([]history.Finding{first}, answers...)
}

// Stock judges whether sales and stock agree.
func Stock(c *history.Cell) history.Finding { return stock(readBooks(c)) }

func answer(v history.Verdict, r history.Result, format string, args ...any) history.Finding {
	return history.Finding{Verdict: v, Result: r, Because: fmt.Sprintf(format, args...)}
}

// broken returns a finding that gives the first piece of evidence as its reason, and counts the others.
func broken(v history.Verdict, ev []history.Evidence, total int) history.Finding {
	f := history.Finding{Verdict: v, Result: history.Broken, Because: ev[0].Text, Evidence: ev[:min(len(ev), maxEvidence)]}
	if total > 1 {
		f.Because += fmt.Sprintf(" (the first of %d)", total)
	}
	return f
}

// evidence returns a text about some ops, with the instants that it names, as a piece of evidence.
func evidence(text string, at []history.Instant, ops ...*history.Op) history.Evidence {
	e := history.Evidence{Text: text, At: at}
	for _, op := range ops {
		e.Orders, e.Instances = append(e.Orders, op.Order), append(e.Instances, op.Instance)
	}
	return e
}

// A violation involves one op or two.
type violation struct {
	at    history.Instant
	a, b  int   // indices of ops
	value int64 // the unit, the token or the removal concerned
}

// violations counts violations and keeps the first maxEvidence of them.
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

// broken makes a finding of the violations; words describes one of them.
func (h *violations) broken(v history.Verdict, words func(violation) history.Evidence) history.Finding {
	ev := make([]history.Evidence, 0, len(h.first))
	for _, one := range h.first {
		ev = append(ev, words(one))
	}
	return broken(v, ev, h.total)
}
