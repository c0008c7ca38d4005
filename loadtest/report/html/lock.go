package html

import (
	"fmt"
	"math"
	"slices"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

const (
	maxLocks = 5   // lanes of lock keys: Redlock's nodes
	maxHolds = 200 // holds per lane
	maxSide  = 4   // rows of holds that share a lock
)

// A locks holds the locks of a cell for its timeline: their tenures, and the terms by which these end.
type locks struct {
	*history.Timeline
	terms history.Terms
}

func locksOf(c *history.Cell) locks {
	l := locks{history.TimelineOf(c), catalog.TermsOf(c)}
	l.Explain(l.terms)
	return l
}

// A holding is a tenure that is drawn, in a row of its lane.
type holding struct {
	*history.Tenure
	op       *history.Op
	row      int
	from, at float64
}

// lanes draws a lane per lock: which order held it when, and how each tenure ended. A single lane has a line for words.
func (d *drawing) lanes() {
	height := tallRow + 6
	if len(d.locks.Locks) > 1 {
		height = rowHeight + 4
	}
	for i, l := range d.locks.Locks {
		if i == maxLocks {
			d.put("below", spot{x: 8, y: d.y + 10, text: fmt.Sprintf("and %d more lock keys", len(d.locks.Locks)-i)})
			d.y += 18
			break
		}
		name := "lock key"
		if len(d.locks.Locks) > 1 {
			name = fmt.Sprintf("lock, node %d", i+1)
		}
		drawn, side := d.holdings(l)
		height := height + float64(side)*rowHeight
		d.lane(name, height)
		d.rect("hit", clip(l.Key, 120)+" on "+clip(l.Node, 80), 0, gutter, d.y, height)
		d.lock(l, drawn, d.y+height-2-rowHeight/2)
		d.y += height + 4
	}
}

// holdings returns what is drawn of a lock's tenures. One that shares the lock with others, as readers and permits do,
// gets the first row with room for it. Side is how many rows that takes beside the first.
func (d *drawing) holdings(l *history.Lock) (drawn []holding, side int) {
	ends := make([]float64, maxSide)
	for i := range l.Tenures {
		h := holding{Tenure: &l.Tenures[i], from: float64(l.Tenures[i].From), at: float64(l.Tenures[i].At)}
		if h.from > d.hi || h.at < d.lo || len(drawn) == maxHolds {
			continue
		}
		op := &d.cell.Ops[h.Order]
		if _, shown := d.numbers[op.Order]; d.window.only && !shown {
			continue
		}
		if !h.Alone {
			h.row = max(0, slices.IndexFunc(ends, func(end float64) bool { return end <= h.from }))
		}
		ends[h.row], side = max(ends[h.row], h.at), max(side, h.row)
		h.op = op
		drawn = append(drawn, h)
	}
	return drawn, side
}

// lock draws the tenures of one lock: first all marks, then the words, because those keep clear of the marks.
func (d *drawing) lock(l *history.Lock, drawn []holding, middle float64) {
	wordy := len(d.locks.Locks) == 1
	if wordy {
		d.ofTheDead(l, middle)
	}
	for _, h := range drawn {
		d.hold(h, middle-float64(h.row)*rowHeight)
	}
	renewals := 0
	for i := range l.Renewals {
		if cmd := &l.Renewals[i]; renewals < maxHolds && d.shows(float64(cmd.End)) {
			d.renewal(cmd, middle-barHeight/2)
			renewals++
		}
	}
	if wordy {
		d.busy(l, middle)
	}
	slices.SortStableFunc(drawn, func(a, b holding) int { return d.rank(a) - d.rank(b) })   // the violation's come first
	wordy = wordy && !slices.ContainsFunc(drawn, func(h holding) bool { return h.row > 0 }) // where words would be
	for _, h := range drawn {
		d.holdWords(h, middle-float64(h.row)*rowHeight, wordy)
	}
}

// rank is 0 for the tenures of the violation's orders, and 1 for others.
func (d *drawing) rank(h holding) int {
	if d.window.focus[h.op.Order] {
		return 0
	}
	return 1
}

// why says how a tenure ended.
func (d *drawing) why(e history.End) string {
	switch e.How {
	case history.Released:
		return "released"
	case history.Removed:
		return "removed by " + named(d.cell, &d.cell.Ops[e.By])
	case history.Expired:
		return "TTL over"
	case history.SessionOver:
		return "session over"
	case history.Gone:
		return "lock gone"
	case history.NoEnd:
	}
	return ""
}

// ofTheDead dashes the time in which an order whose process died can have had the key. It told nothing of its lock.
func (d *drawing) ofTheDead(l *history.Lock, middle float64) {
	for _, f := range d.cell.Faults {
		at := slices.IndexFunc(d.window.ops, func(op *history.Op) bool {
			return op.Order == f.Order && op.Lease == nil && op.Sent.Known()
		})
		if at < 0 || !kills(f) || f.On != "" || !f.At.Known() || !f.End.Known() {
			continue
		}
		op := d.window.ops[at]
		from, to := float64(op.Sent), math.Inf(1)
		if d.locks.terms.TTL > 0 {
			to = float64(f.End) + float64(d.locks.terms.TTL)
		}
		for _, h := range l.Tenures {
			switch {
			case h.From > f.At:
				to = min(to, float64(h.From))
			case h.Alone:
				from = max(from, float64(h.Since)) // until then it was another's
			}
		}
		if x0, x1 := d.x(from), d.x(to); x0 < x1 {
			text, line := "perhaps the key of "+d.cell.OrderName(op.Order)+", which died", middle-barHeight/2-6
			d.rect("maybe "+d.colours[op.Instance], "", x0, x1, middle-barHeight/2, barHeight)
			d.put("gone", append(d.within(x0, x1, line, text), spot{x0, line, text, ""})...)
		}
	}
}

// busy hatches the times in which an order waited and was refused because another order held the lock. It does so only
// where no known order had the key: then these answers are the only sign of it.
func (d *drawing) busy(l *history.Lock, middle float64) {
	for _, op := range d.window.ops {
		u := underWay(op)
		if op.Outcome != history.Busy || op.Lease != nil || u.hi < d.lo || u.lo > d.hi || known(l, u) {
			continue
		}
		title := d.cell.OrderName(op.Order) + " was told, at " + d.when(op.Done) + ", that another holds the lock"
		d.rect("busy", title, d.x(u.lo), max(d.x(u.hi), d.x(u.lo)+2), middle-barHeight/2, barHeight)
	}
}

// known reports whether an order is known to have had the key in that time.
func known(l *history.Lock, s span) bool {
	return slices.ContainsFunc(l.Tenures, func(h history.Tenure) bool {
		return float64(h.From) <= s.hi && float64(h.Since) >= s.lo
	})
}

// hold draws a tenure: solid while the order is known to have the lock, then dashed until it is known to have it no
// more.
func (d *drawing) hold(h holding, middle float64) {
	class := "hold " + d.colours[h.op.Instance]
	if d.window.focus[h.op.Order] {
		class += " focus"
	}
	d.group(class, fmt.Sprintf("held by order %s on %s from %s",
		clip(h.op.Order, 80), clip(h.op.Instance, 40), d.moment(h.from)))
	defer d.end()
	x0, x1, since := d.x(h.from), d.x(h.at), float64(h.Since)
	solid := x1
	if from := d.x(since); x1 > from+1 {
		solid = max(from, x0)
	}
	y := middle - barHeight/2
	if since >= d.lo {
		d.rect("bar", "", x0, max(solid, x0+1.5), y, barHeight, "rx", 1.5)
	}
	if x1 > solid+1 {
		d.rect("maybe", "", solid, x1, y, barHeight)
	}
	switch {
	case !d.shows(h.at):
	case h.How == history.Removed:
		d.cross(x1, middle)
	case h.Lost():
		d.stroke("over", d.why(h.End)+" at "+d.moment(h.at), x1, y-3, barHeight+6)
	}
}

// exact bounds the time, in nanoseconds, within which an end is said to be "at" a moment: 0 in milliseconds.
const exact = 1.1e6

// holdWords says whose lock it was and since when, inside, and how it ended, above.
func (d *drawing) holdWords(h holding, middle float64, wordy bool) {
	order, name := named(d.cell, h.op), short(d.cell, h.op)
	x0, x1 := d.x(h.from), d.x(h.at)
	d.group("hold "+d.colours[h.op.Instance], "")
	defer d.end()
	words := "held by " + order
	d.put("label", d.within(x0, x1, middle+4, words+", since "+d.moment(h.from), words, order, name)...)
	if !wordy || !d.shows(h.at) || h.How == history.Released && x1-x0 < 30 && !d.window.focus[h.op.Order] {
		return
	}
	at, line := " at ", middle-barHeight/2-6
	if h.at-float64(h.Since) > exact {
		at = " by "
	}
	class, why := "gone", d.why(h.End)
	if h.Lost() {
		class = "overlabel"
	}
	var spots []spot
	for _, text := range []string{order + ": " + why + at + d.moment(h.at), order + ": " + why, why} {
		spots = append(spots, spot{x1, line, text, "end"}, spot{x1 - 3, line, text, ""}, spot{x1, line, text, "middle"})
	}
	d.put(class, spots...)
}

// renewal draws a small triangle on the upper edge: filled if the renewal succeeded, hollow if it failed.
func (d *drawing) renewal(cmd *history.Command, y float64) {
	class, what := "renew", "renewed at "
	if !cmd.Succeeded() {
		class, what = "renew failed", "a renewal failed at "
	}
	x := d.x(float64(cmd.End))
	d.el("path", what+d.when(cmd.End), "class", class,
		"d", fmt.Sprintf("M%s %sl-3.5 -6h7z", number(x), number(y+3)))
	d.taken = append(d.taken, box{x - 3.5, y - 3, x + 3.5, y + 3})
}

func (d *drawing) cross(x, y float64) {
	d.reserve(x, y, 6)
	d.el("path", "", "class", "cross", "d", fmt.Sprintf("M%s %sl10 10m0 -10l-10 10", number(x-5), number(y-5)))
}

func (d *drawing) diamond(class, title string, x, y float64) {
	const r = 4.6
	d.reserve(x, y, r)
	d.el("path", title, "class", class,
		"d", fmt.Sprintf("M%s %sl%g %gl%g %gl%g %gz", number(x), number(y-r), r, r, -r, r, -r, -r))
}
