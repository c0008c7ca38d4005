package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// Family returns the correct rung of a lock's kind.
func Family(f *history.Facts) string {
	switch {
	case !f.HasLock() && f.LockFree:
		return "v17"
	case !f.HasLock():
		return "v0"
	case f.Fence:
		return "v15"
	case f.Every > 0:
		return "v5.5"
	}
	return "v4"
}

// Asked lists the verdicts of a trial.
var Asked = []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness}

// Us is the name of the trial's own instance, in cells in which it takes the lock.
const Us = "loadtest"

// Margin is the time that a fresh order is allowed beyond a lease and a plain sale.
const Margin = 2 * history.Instant(time.Second)

// A record is a cell with its timeline, the courses of its orders, and what those show.
type record struct {
	*history.Cell
	facts   *history.Facts
	line    *history.Timeline
	courses []*history.Course // of the orders, by index, and of the stray commands
	stalled history.Instant   // the longest time that the load test waited for a processor

	seen []sighting // in order of time
	kept string     // the first lock that stayed, or waiter that slept, for longer than the machine explains
}

// A sighting is a moment to which a row applies.
type sighting struct {
	*row
	at     history.Instant
	sender int // the index of its order
	order  int // the same, or that of the order whose lock it ends
	shown  string
}

func recordOf(c *history.Cell, line *history.Timeline) *record {
	r := &record{Cell: c, facts: c.Facts, line: line}
	if r.facts == nil {
		r.facts = &history.Facts{}
	}
	if c.Client != nil {
		r.stalled = history.Instant(c.Client.Longest)
	}
	r.courses = r.line.Courses()
	history.Walk(r.courses, r.visit)
	return r
}

// visit records which rows apply to a moment: of those with a cause the first, and all others.
func (r *record) visit(op *history.Course, step *history.Event) {
	m, found := &moment{r, op, step}, false
	for i := range rows {
		one := &rows[i]
		if (one.kind == stray) != (op.Index < 0) || one.what != "" && found {
			continue
		}
		shown := one.of(m)
		if shown == "" {
			continue
		}
		found = found || one.what != ""
		r.seen = append(r.seen, sighting{one, m.at(), op.Index, m.about(one), shown})
	}
	if op.Index >= 0 && r.kept == "" {
		r.kept = cmp.Or(stands(m), sleeps(m))
	}
}

// Explain records the causes of a judged cell's findings in it, and why it is inconclusive if it is. It takes the
// timeline by which the cell was judged. A cell whose fault did not happen accuses only by what its commands show.
func Explain(c *history.Cell, line *history.Timeline) {
	if c.JobOfOther != "" { // what an order's instance did is not what the order did
		c.Defect, c.Design, c.Remarks, c.NotTested = nil, "", nil, &history.NotTested{Reason: c.JobOfOther}
		return
	}
	r := recordOf(c, line)
	r.findCauses()
	happened := c.Aborted == "" || c.Aborted == history.KeptByDatabase
	r.conclude(r.whyInconclusive(), happened)
}

// conclude marks an explained cell as not tested if it is inconclusive, and breaks nothing.
func (r *record) conclude(why string, happened bool) {
	if !happened && r.Defect != nil && !r.isProven() {
		r.Defect = nil
		r.NotTested = &history.NotTested{Reason: why}
	}
	if why != "" && r.Defect == nil && history.FirstBroken(r.Findings).Verdict == "" {
		r.NotTested = &history.NotTested{Reason: why}
	}
}

// findCauses records the causes of a judged cell's findings: its defect, or why every lock of its kind breaks here, and
// remarks.
func (r *record) findCauses() {
	r.Defect, r.Design, r.Remarks = nil, "", nil
	own := r.accused()
	if history.Worst(r.Findings) == history.Invalid {
		r.Defect = cmp.Or(own, r.keptOut())
		return
	}
	r.Remarks = r.remarks()
	lost, why := r.notByDesign()
	switch {
	case own != nil:
		r.Defect = own
	case broken(r.Cell) == "":
		r.Defect = cmp.Or(r.crash(), r.blocksForLong())
	case lost == "":
		r.Design = why
	default:
		r.Defect = cmp.Or(r.explain(lost), r.crash(), unknown.defect("%s", history.FirstBroken(r.Findings).Because))
	}
}

// OfCrowds gives the cells in which no command was observed, as in a crowd, the cause of another cell of the shop that
// breaks the same verdict: one bug is one defect.
func OfCrowds(cells []*history.Cell) {
	for _, c := range cells {
		if c.Defect == nil || c.IsObserved() {
			continue
		}
		for _, other := range cells {
			if other.Defect == nil || !strings.ContainsAny(broken(c), broken(other)) || other.Defect.Cause == unknown.what ||
				!other.IsObserved() {
				continue
			}
			d := *other.Defect
			d.Shown = c.Defect.Shown + "; as in " + other.Label()
			c.Defect = &d
			break
		}
	}
}

// accused returns the first defect that an order's own commands show, whatever the verdicts.
func (r *record) accused() *history.Defect {
	for _, s := range r.seen {
		if s.kind == accusing {
			return s.defect("%s", s.shown)
		}
	}
	return nil
}

// soldBy are the kinds of what lets two orders sell a unit, or hold the lock.
var soldBy = []kind{ending, stray, between}

// explain returns the defect that explains one of these letters: what plain sales show of any order, or else the first
// sighting that explains it, or else, if no command was observed, what plain sales show.
func (r *record) explain(lost string) *history.Defect {
	shown := history.FirstBroken(r.Findings).Because
	if d := r.ofPlainSales(lost, shown, always); d != nil {
		return d
	}
	for _, one := range []struct {
		letter string
		kinds  []kind
	}{{"S", []kind{explaining}}, {"R", []kind{ending}}, {"L", []kind{explaining, remarked}}, {"S", soldBy},
		{"E", soldBy}} { // a removal explains the sales that follow from it
		f := r.Finding(Asked[strings.Index("SERL", one.letter)])
		if s := r.first(f, one.letter, one.kinds); s != nil && strings.Contains(lost, one.letter) {
			switch {
			case one.letter == "S" && s.kind == explaining:
				return s.defect("%s; %s", s.shown, f.Because)
			case one.letter == "S" || one.letter == "E":
				return s.defect("%s", shown)
			}
			return s.defect("%s", f.Because)
		}
	}
	if r.IsObserved() {
		return nil
	}
	return r.ofPlainSales(lost, shown+"; the cause is known from plain sales", plainSales[len(always):])
}

// first returns the first sighting of these kinds that explains a finding, nil if none does.
func (r *record) first(f history.Finding, letter string, kinds []kind) *sighting {
	between := r.rivals(f)
	for i := range r.seen {
		s := &r.seen[i]
		if strings.Contains(s.explains, letter) && slices.Contains(kinds, s.kind) && r.fits(s, f, between) {
			return s
		}
	}
	return nil
}

// ofPlainSales returns the first defect of these that explains one of these letters.
func (r *record) ofPlainSales(lost, shown string, of []plainSale) *history.Defect {
	for _, one := range of {
		if strings.ContainsAny(lost, one.explains) && one.is(r.facts) {
			return one.defect("%s", shown)
		}
	}
	return nil
}

// fits reports whether a sighting explains a finding. For a unit that was sold twice, or a lock that two orders held,
// it is about one of the two, and ended the lock of the earlier one before the later one took it.
func (r *record) fits(s *sighting, f history.Finding, between rivals) bool {
	switch f.Verdict {
	case history.OwnRelease:
		return len(f.Evidence) == 0 || s.sender >= 0 && r.Ops[s.sender].Order == f.Evidence[0].Orders[0]
	case history.Liveness:
		return true
	}
	switch x := between.x; {
	case x == nil: // it names no two orders, or none
		return !slices.ContainsFunc(f.Evidence, func(e history.Evidence) bool {
			return len(e.Orders) > 0 && r.Ops[s.order].Order != e.Orders[0]
		})
	case s.kind == ending || s.kind == stray:
		return s.order == x.Index && s.at <= between.taken
	default:
		return s.order == x.Index || s.order == between.y.Index
	}
}

// rivals are the two orders of a violation, first the one that acquired the lock before the other, and when the other
// acquired it. They are nil if the record does not show that.
type rivals struct {
	x, y  *history.Course
	taken history.Instant
}

// rivals returns those of the first violation that names two orders.
func (r *record) rivals(f history.Finding) (of rivals) {
	for _, e := range f.Evidence {
		if of = r.pair(f, e); of.x != nil {
			return of
		}
	}
	return of
}

func (r *record) pair(f history.Finding, e history.Evidence) (of rivals) {
	if len(e.Orders) < 2 {
		return of
	}
	at := history.Never
	if f.Verdict == history.Exclusion && len(e.At) > 0 {
		at = e.At[0] + 1
	}
	x, y := r.courseOf(e.Orders[0]), r.courseOf(e.Orders[1])
	if x == nil || y == nil {
		return of
	}
	if x.TookBefore(at) > y.TookBefore(at) {
		x, y = y, x
	}
	return rivals{x, y, y.TookBefore(at)}
}

func (r *record) courseOf(order string) *history.Course {
	i := slices.IndexFunc(r.Ops, func(op history.Op) bool { return op.Order == order })
	if i < 0 {
		return nil
	}
	return r.courses[i]
}

// remarks returns observations that are worth knowing but break no verdict: of each cause the first.
func (r *record) remarks() (all []string) {
	var causes []string
	for _, s := range r.seen {
		if s.kind != remarked || s.what != "" && slices.Contains(causes, s.what) {
			continue
		}
		causes, all = append(causes, s.what), append(all, s.shown)
	}
	if text := r.blocks(); text != "" {
		all = append(all, text)
	}
	if r.Client != nil && r.Client.Overlapped != nil {
		all = append(all, fmt.Sprintf("%d of its programs overlapped", *r.Client.Overlapped))
	}
	for _, f := range r.deaths() {
		if r.hadToDie(f.Instance) {
			all = append(all, f.Instance+" "+f.Text)
		}
	}
	return all
}

// keptOut returns the defect that kept fresh orders out, if the commands show it although the machine was busy: a lock
// stayed, or a waiter slept, for longer than the verdict's limit and the longest stall together.
func (r *record) keptOut() *history.Defect {
	last := history.Op{Outcome: history.Sold}
	for _, op := range r.Ops {
		if op.Phase == history.Probe {
			last = op
		}
	}
	if last.Outcome == history.Sold || r.hasUs() || r.kept == "" {
		return nil
	}
	for _, s := range r.seen {
		if strings.Contains(s.explains, "L") {
			return s.defect("%s", r.kept)
		}
	}
	return unknown.defect("%s", r.kept)
}

// crash returns the defect of an instance that exited on its own.
func (r *record) crash() *history.Defect {
	for _, f := range r.deaths() {
		if !r.hadToDie(f.Instance) {
			return crashed.defect("%s %s", f.Instance, f.Text)
		}
	}
	return nil
}

// deaths returns the records of instances that exited on their own.
func (r *record) deaths() []history.Fault {
	return slices.DeleteFunc(slices.Clone(r.Faults), func(f history.Fault) bool { return f.Kind != history.FaultDied })
}

// hadToDie reports whether an instance had lost its Redis, or one of its orders a lock: some exit then, to write
// nothing.
func (r *record) hadToDie(instance string) bool {
	lost := slices.ContainsFunc(r.line.Locks, func(l *history.Lock) bool {
		return slices.ContainsFunc(l.Tenures, func(h history.Tenure) bool {
			return r.Ops[h.Order].Instance == instance && h.Lost()
		})
	})
	return lost || slices.ContainsFunc(r.Faults, func(f history.Fault) bool {
		return f.Kind == history.FaultCut || f.Kind == history.FaultRestart
	})
}

// broken returns the letters of the broken verdicts.
func broken(c *history.Cell) string {
	var letters strings.Builder
	for i, v := range Asked {
		if c.Finding(v).Result == history.Broken {
			letters.WriteByte("SERL"[i])
		}
	}
	return letters.String()
}

func (r *record) name(op *history.Op) string { return r.OrderName(op.Order) }

// hasUs reports whether the trial itself held the lock.
func (r *record) hasUs() bool {
	return slices.ContainsFunc(r.Ops, func(op history.Op) bool { return op.Instance == Us })
}

func took(cmd *history.Command) bool { return cmd.Acquires() && cmd.Succeeded() }

func sold(cmd *history.Command) bool { return cmd.WritesStock() && cmd.Wrote() }

// since formats the time between two moments.
func since(from, to history.Instant) string {
	return time.Duration(to - from).Round(time.Millisecond).String()
}
