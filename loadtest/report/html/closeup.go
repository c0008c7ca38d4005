package html

import (
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// narrow is the part of an axis below which a moment cannot be made out.
const narrow = 0.05

// maxCloseUps bounds the enlargements of one cell.
const maxCloseUps = 3

// closeUps returns the moment of each violation that is too short to be seen in the window, enlarged. A moment that an
// earlier one shows as well is not drawn again.
func closeUps(c *history.Cell, w window) []window {
	shown := []window{w}
	for _, f := range c.Findings {
		at := w.decisive(f)
		seen := func(w window) bool { return w.makesOut(at) }
		if at.empty() || len(shown) > maxCloseUps || slices.ContainsFunc(shown, seen) {
			continue
		}
		near := w
		near.focus, near.finding = focusOf(evidenceOf(f)), f
		near.zoom(at)
		if near.lo < near.hi && near.length() < w.length() && len(near.ops) > 0 {
			near.caption = fmt.Sprintf("The moment itself, %.0f times as large: %s to %s.",
				w.length()/near.length(), near.moment(near.lo), near.moment(near.hi))
			shown = append(shown, near)
		}
	}
	return shown[1:]
}

// makesOut reports whether a moment is within the window and no narrower than can be made out.
func (w window) makesOut(at span) bool {
	return w.lo <= at.lo && at.hi <= w.hi && at.length() >= narrow*w.length()
}

// decisive returns the time of a violation within the window: what the evidence names.
func (w window) decisive(f history.Finding) span {
	s := noSpan()
	if f.Result != history.Broken || f.Verdict == history.Liveness {
		return s
	}
	if s.include(evidenceOf(f).At...); s.lo < w.lo || s.hi > w.hi {
		return noSpan()
	}
	return s
}

// zoom narrows the window to a moment, with some air around it, and to the orders of that time.
func (w *window) zoom(at span) {
	air := max(at.length()*1.5, 1000)
	if at.length() == 0 {
		air = max(w.length()/100, 1000)
	}
	whole := w.span
	w.lo, w.hi = max(at.lo-air, whole.lo), min(at.hi+air, whole.hi)
	if w.queue { // the rows of the violation alone: the whole queue is above
		ops, turns := w.ops, w.turns
		w.ops, w.turns = nil, nil
		for i, op := range ops {
			if w.focus[op.Order] {
				w.ops, w.turns = append(w.ops, op), append(w.turns, turns[i])
			}
		}
		return
	}
	w.ops = slices.DeleteFunc(slices.Clone(w.ops), func(op *history.Op) bool {
		s := active(op)
		if w.whole {
			s.join(underWay(op))
		}
		return !s.meets(w.span)
	})
}
