package drawing

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// Of returns the drawing of a cell, which may have no orders. It does not judge the cell again.
func Of(c *history.Cell) *Drawing {
	m := &maker{Drawing: &Drawing{}, cell: c, locks: history.TimelineOf(c, catalog.TermsOf(c)),
		numbers: map[string]int{}, laneOf: map[string]int{}, lockAt: map[[2]string]int{}}
	for i := range c.Ops {
		m.numbers[c.Ops[i].Order] = i
	}
	m.window = choose(c)
	m.Notes = append(m.Notes, m.window.caption)
	m.instances()
	m.around()
	m.keys()
	for i := range c.Ops {
		m.order(i)
	}
	for i := range c.Strays {
		m.command(-1, &c.Strays[i])
	}
	m.requests()
	m.faults()
	m.tenures()
	m.violations()
	m.First = m.window.frame(m.numbers)
	m.Queue = m.window.queue
	m.notes()
	return m.Drawing
}

// A maker makes the drawing of a cell.
type maker struct {
	*Drawing
	cell    *history.Cell
	locks   *history.Timeline
	window  window
	numbers map[string]int // of the orders
	laneOf  map[string]int // of an instance
	lockAt  map[[2]string]int
}

// colours is the number of colours that instances have.
const colours = 4

// instances adds a lane per instance, in the cell's order, then lanes for instances that only orders name.
func (m *maker) instances() {
	add := func(name string) {
		if _, has := m.laneOf[name]; !has {
			m.laneOf[name] = len(m.Lanes)
			m.Lanes = append(m.Lanes, Lane{Kind: "instance", Name: clip(name, 40), Colour: len(m.Lanes) % colours})
		}
	}
	for _, in := range m.cell.Instances {
		add(in.Name)
	}
	for i := range m.cell.Ops {
		add(m.cell.Ops[i].Instance)
	}
}

// around adds a lane for the faults of the network, and one for those of each kind of server.
func (m *maker) around() {
	for _, lane := range []struct{ on, name string }{
		{"network", "network"}, {"locks", "lock servers"}, {"stock", "stock's server"},
	} {
		first := len(m.Faults)
		for _, f := range m.cell.Faults {
			if f.On != lane.on || !f.At.Known() {
				continue
			}
			text := f.Instance + ", " + f.Text
			m.Faults = append(m.Faults, Fault{Lane: len(m.Lanes), Order: -1, From: timeOf(f.At), To: timeOf(f.End),
				Text: clip(text, 300)})
		}
		if len(m.Faults) > first {
			m.Lanes = append(m.Lanes, Lane{Kind: "around", Name: lane.name})
		}
	}
}

// maxLocks bounds the lanes of locks: Redlock has five nodes.
const maxLocks = 5

// keys adds a lane per lock.
func (m *maker) keys() {
	for i, l := range m.locks.Locks {
		if i == maxLocks {
			m.Notes = append(m.Notes, fmt.Sprintf("%d more locks are not drawn.", len(m.locks.Locks)-i))
			return
		}
		name := "lock key"
		if len(m.locks.Locks) > 1 {
			name = fmt.Sprintf("lock, node %d", i+1)
		}
		m.lockAt[[2]string{l.Node, l.Key}] = len(m.Lanes)
		title := clip(l.Key, 120)
		if l.Node != "" {
			title += " on " + clip(l.Node, 80)
		}
		m.Lanes = append(m.Lanes, Lane{Kind: "lock", Name: name, Title: title})
	}
}

// lockOf returns the lane of the lock that a command names, directly or by a place in its queue; -1 if that lock is not
// drawn.
func (m *maker) lockOf(cmd *history.Command) int {
	for _, key := range []string{cmd.Key, path.Dir(cmd.Key)} {
		if at, is := m.lockAt[[2]string{cmd.Node, key}]; is {
			return at
		}
	}
	return -1
}

func (m *maker) order(i int) {
	op := &m.cell.Ops[i]
	lease, released, died := op.Lease, op.Lease != nil, m.cell.DiedAt(op.Instance)
	if lease == nil {
		lease, released = m.unreceipted(i, died)
	}
	o := Order{
		ID: clip(m.cell.Short(op.Order), 80), Lane: m.laneOf[op.Instance],
		Sent: timeOf(op.Sent), Done: timeOf(op.Done), From: never, To: never, Released: never, Lease: lease != nil,
		Outcome: clip(string(op.Outcome), 20), Units: op.Units[:min(len(op.Units), maxUnits)],
		Does: does(m.cell, op, evidenceOf(m.window.finding)),
	}
	if name := named(m.cell, op); name != "order "+o.ID {
		o.Name = name
	}
	if worked(op) || lease != nil {
		s := tenure(op, lease)
		o.From, o.To = s.times()
		if !op.Done.Known() && (lease == nil || !lease.ReleasedAt.Known()) {
			o.To = never
		}
	}
	if lease != nil {
		if released {
			o.Released = timeOf(lease.ReleasedAt)
		}
		if op.Lease != nil && op.Lease.Fence > 0 {
			o.Fence = m.cell.Ordinal(op.Lease.Fence)
		}
		o.Lost = m.lost(i, op, lease)
	}
	if turn, is := m.window.turns[op.Order]; is {
		o.Turn, o.Overtaken = turn.words(op, m.window.wakes), turn.overtaken(op, m.window.wakes)
	}
	m.Orders = append(m.Orders, o)
	for j := range op.Trace {
		m.command(i, &op.Trace[j])
	}
}

// unreceipted derives the lease of an order without a receipt, which is in flight or whose process died, and reports
// whether the order released it. ReleasedAt is Never while it holds the lock.
func (m *maker) unreceipted(i int, died history.Instant) (lease *history.Lease, released bool) {
	op := &m.cell.Ops[i]
	if op.Trace == nil || op.Outcome != history.Unknown && (op.Outcome != history.NotSold || !died.Known()) {
		return nil, false
	}
	if lease = m.locks.LeaseOf(i); lease == nil {
		return nil, false
	}
	released = slices.ContainsFunc(op.Trace, func(cmd history.Command) bool {
		return cmd.Releases() && cmd.Came() == lease.ReleasedAt
	})
	if !released && !op.Done.Known() && !died.Known() {
		lease.ReleasedAt = history.Never
	}
	return lease, released
}

// maxUnits bounds the units of an order in a drawing.
const maxUnits = 20

// lost returns how an order lost its lock before its last activity under the lock, nil if it kept it.
func (m *maker) lost(order int, op *history.Op, lease *history.Lease) *Lost {
	if !lease.AcquiredAt.Known() {
		return nil
	}
	end := m.locks.LossOf(order, lease.AcquiredAt)
	hi := activeUnder(op, lease).hi
	if !op.Done.Known() && !lease.ReleasedAt.Known() {
		hi = math.Inf(1)
	}
	if !end.At.Known() || float64(end.At) >= hi {
		return nil
	}
	return &Lost{Since: timeOf(end.Since), At: timeOf(end.At), How: hows[end.How], Why: m.why(end)}
}

// why describes how a tenure ended.
func (m *maker) why(e history.End) string {
	switch e.How {
	case history.Released:
		return "released"
	case history.Removed:
		return "removed by " + named(m.cell, &m.cell.Ops[e.By])
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

// hows names the endings in a drawing.
var hows = map[history.Ending]string{history.Released: "released", history.Removed: "removed",
	history.Expired: "expired", history.SessionOver: "session", history.Gone: "gone"}

// tenures adds the tenures of the locks that have a lane.
func (m *maker) tenures() {
	for _, l := range m.locks.Locks {
		lane, is := m.lockAt[[2]string{l.Node, l.Key}]
		if !is {
			continue
		}
		for _, h := range l.Tenures {
			m.Tenures = append(m.Tenures, Tenure{Lane: lane, Order: h.Order, From: timeOf(h.From), Since: timeOf(h.Since),
				At: timeOf(h.At), How: hows[h.How], Why: m.why(h.End), Beside: !h.Alone})
		}
		if len(m.locks.Locks) == 1 {
			m.ofTheDead(l, lane)
			m.unheard(l, lane)
		}
	}
}

// ofTheDead adds the time in which an order whose process died, and so returned no trace, may have held the key.
func (m *maker) ofTheDead(l *history.Lock, lane int) {
	for _, f := range m.cell.Faults {
		i, is := m.numbers[f.Order]
		if !is || f.Kind != history.FaultKill || f.On != "" || !f.At.Known() || !f.End.Known() {
			continue
		}
		op := &m.cell.Ops[i]
		if op.Lease != nil || !op.Sent.Known() {
			continue
		}
		from, to := float64(op.Sent), math.Inf(1)
		if m.locks.Terms.TTL > 0 {
			to = float64(f.End) + float64(m.locks.Terms.TTL)
		}
		for _, h := range l.Tenures {
			switch {
			case h.Order == i:
				to = from // its commands are on record
			case h.From > f.At:
				to = min(to, float64(h.From))
			case h.Alone:
				from = max(from, float64(h.Since)) // until then another order held it
			}
		}
		if from < to {
			s := span{from, to}
			start, end := s.times()
			m.Tenures = append(m.Tenures, Tenure{Lane: lane, Order: i, From: start, Since: start, At: end, Maybe: true,
				Why: "possibly held by " + nameOf(m.cell, op) + ", which died"})
		}
	}
}

// unheard adds the times in which an order found the lock busy although no known order held the key. Its reply is the
// only evidence of a holder.
func (m *maker) unheard(l *history.Lock, lane int) {
	for i := range m.cell.Ops {
		op := &m.cell.Ops[i]
		u := underWay(op)
		known := func(h history.Tenure) bool { return float64(h.From) <= u.hi && float64(h.Since) >= u.lo }
		if op.Outcome != history.Busy || op.Lease != nil || slices.ContainsFunc(l.Tenures, known) {
			continue
		}
		from, to := u.times()
		m.Tenures = append(m.Tenures, Tenure{Lane: lane, Order: -1, From: from, Since: from, At: to, Maybe: true,
			Why: nameOf(m.cell, op) + " found the lock busy"})
	}
}

// faults adds the faults of orders and of the processes that served them.
func (m *maker) faults() {
	for i := range m.cell.Ops {
		for _, f := range faultsOf(m.cell, &m.cell.Ops[i]) {
			m.Faults = append(m.Faults, Fault{Lane: m.Orders[i].Lane, Order: i, Kind: clip(string(f.Kind), 20),
				From: timeOf(f.At), To: timeOf(f.End), Text: clip(f.Text, 90), Short: clip(f.Text, 40)})
		}
	}
}

func (m *maker) notes() {
	if len(m.locks.Locks) == 0 {
		m.Notes = append(m.Notes, "No lock key: this rung has none, or no command on it was seen.")
	}
	for _, in := range m.cell.Instances {
		if in.Clock != m.cell.Instances[0].Clock {
			m.Notes = append(m.Notes, "The instances do not share a clock: their lanes may be offset from each other.")
			return
		}
	}
}

// violations adds the first piece of evidence of each broken verdict.
func (m *maker) violations() {
	for _, f := range m.cell.Findings {
		if f.Result != history.Broken {
			continue
		}
		v := Violation{Verdict: clip(string(f.Verdict), 40), Letter: terminal.Letters[f.Verdict],
			Sign: signs[history.SeverityOf([]history.Finding{f})], What: whatHappened(f), Text: clip(f.Because, 600)}
		e := evidenceOf(f)
		for _, id := range e.Orders {
			if i, is := m.numbers[id]; is {
				v.Orders = append(v.Orders, i)
			}
		}
		for _, at := range e.At {
			v.At = append(v.At, timeOf(at))
		}
		v.Unit, v.Text = e.Unit, cmp.Or(clip(e.Text, 600), v.Text)
		if f.Verdict == history.Exclusion {
			if refused := m.refused(); refused != "" {
				v.What += "; the stock refused the late write of " + refused
			}
		}
		m.Violations = append(m.Violations, v)
	}
}

// refused returns the name of an order in the window whose write the stock refused.
func (m *maker) refused() string {
	for _, cmd := range m.Commands {
		if cmd.Kind == refusedWrite && cmd.Order >= 0 && m.window.has(m.cell.Ops[cmd.Order].Order) {
			return nameOf(m.cell, &m.cell.Ops[cmd.Order])
		}
	}
	return ""
}

// clip shortens a string of a history, which may have any length and any characters.
func clip(s string, runes int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	r := []rune(s)
	if len(r) > runes {
		r = append(r[:runes-1:runes-1], '…')
	}
	for i, one := range r {
		if unicode.IsControl(one) && one != '\n' && one != '\t' {
			r[i] = '\uFFFD'
		}
	}
	return string(r)
}
