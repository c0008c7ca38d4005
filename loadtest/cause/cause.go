package cause

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// byDesign has the verdicts that the correct rung of a lock's family breaks under each fault: a lease that is not
// renewed (v4), one that is renewed (v5.5), a fenced write (v15). A write that depends on the stock's current value
// (v17) breaks none.
var byDesign = map[string]map[string]string{
	"v4": {"slow-work": "SE", "pause": "SE", "late": "SE", "key-removed": "SE", "server-restart": "SE", "cut-off": "SE"},
	"v5.5": {"pause": "SE", "late": "SE", "key-removed": "SE", "renewals-lost": "SE", "server-restart": "SE",
		"cut-off": "SE"},
	"v15": {"slow-work": "E", "pause": "E", "late": "E", "key-removed": "E", "renewals-lost": "E", "server-restart": "E",
		"cut-off": "E"},
}

// because has the reasons, by family.
var because = map[string]string{
	"v4":   "a lease that is not renewed expires under its holder, as in v4; renew it (v5.5) or fence the write (v15)",
	"v5.5": "no lease protects a write that is sent after its expiry, as in v5.5; fence the write (v15)",
	"v15":  "the lock is lost, but the stock refuses the late write, as in v15",
}

// ofFault has the reasons for faults that no lock survives without a fence, whatever its family.
var ofFault = map[string]string{
	"late": "a write in flight can outlive any lock; fence the write (v15)",
	"key-removed": "the trial removed the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)",
	"server-restart": "the Redis lost the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)",
}

// ByDesign returns the letters of the verdicts that every lock of a family breaks under a fault.
func ByDesign(family, fault string) string { return byDesign[family][fault] }

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

// An Explanation gives the causes of a cell's findings.
type Explanation struct {
	// Defect is the shop's, nil if there is none. Design is why every lock of this kind breaks in this cell, "" if it does
	// not. Remarks break nothing.
	Defect  *history.Defect
	Design  string
	Remarks []string
}

// Us is the name of the trial's own instance, in cells in which it takes the lock.
const Us = "loadtest"

// Margin is the time that a fresh order is allowed beyond a lease and a plain sale.
const Margin = 2 * history.Instant(time.Second)

// A record is a cell with its timeline.
type record struct {
	*history.Cell
	facts   *history.Facts
	line    *history.Timeline
	stalled history.Instant // the longest time that the load test waited for a processor
}

func newRecord(c *history.Cell) *record {
	r := &record{Cell: c, facts: c.Facts, line: history.TimelineOf(c)}
	if r.facts == nil {
		r.facts = &history.Facts{}
	}
	if c.Client != nil {
		r.stalled = history.Instant(c.Client.Longest)
	}
	r.line.Explain(history.Terms{TTL: r.facts.TTL})
	return r
}

// Of explains the findings of a judged cell.
func Of(c *history.Cell) (e Explanation) {
	r := newRecord(c)
	own := r.ownDefect()
	if history.Worst(c.Findings) == history.Invalid {
		e.Defect = cmp.Or(own, r.keptOut())
		return e
	}
	e.Remarks = r.remarks()
	lost := broken(c)
	allowed, why := r.allowed()
	switch {
	case own != nil:
		e.Defect = own
	case lost == "":
		e.Defect = r.crash()
	case r.takenTwice() != nil:
		e.Defect = r.takenTwice()
	case strings.Trim(lost, allowed) == "" && r.isExcused():
		e.Design = cmp.Or(why, because[Family(r.facts)])
		if anna := r.anna(); Family(r.facts) == "v15" || anna != nil && wroteInVain(anna) {
			e.Design = because["v15"]
		}
	default:
		e.Defect = r.find(lost, allowed)
	}
	return e
}

// allowed returns the letters that every lock of this kind may break under the cell's faults, and the reason if no lock
// survives one of them. A lock without a TTL is lost only when the trial removes it: its holder then releases the next
// holder's.
func (r *record) allowed() (letters, why string) {
	var all []string
	for _, fault := range faultsOf(r.Cell) {
		all = append(all, byDesign[Family(r.facts)][fault])
		why = cmp.Or(why, ofFault[fault])
	}
	anna := r.anna()
	switch letters = strings.Join(all, ""); {
	case r.facts.Elsewhere && anna != nil && len(r.Faults) > 0 && r.heldAfterRelease(anna): // no lock was lost
		return "", ""
	case r.facts.Apart != "":
		return "", why
	case r.facts.TTL == 0 && r.facts.InValue == 0 && has(r.Cell, "key-removed", "server-restart"):
		return letters + "R", why
	}
	return letters, why
}

// find returns the defect that explains these letters, for a lock without a TTL only those not allowed.
func (r *record) find(lost, allowed string) *history.Defect {
	if r.facts.TTL == 0 && strings.Contains(allowed, "R") {
		lost = strings.Trim(lost, allowed)
	}
	d := cmp.Or(r.ofPlainSale(lost), r.commitsLater(lost))
	if d == nil && strings.Contains(lost, "S") {
		d = r.refusedSold()
	}
	if d == nil && strings.Contains(lost, "R") {
		d = r.removed(r.Finding(history.OwnRelease))
	}
	if d == nil && strings.Contains(lost, "L") {
		d = r.stuck(r.Finding(history.Liveness).Because)
	}
	if d == nil && strings.ContainsAny(lost, "SE") {
		d = r.soldTwice(lost)
	}
	return cmp.Or(d, r.crash(), unknown.defect("%s", history.FirstBroken(r.Findings).Because))
}

// ofPlainSale returns the defect of every plain sale that explains these letters, whatever happened in the cell.
func (r *record) ofPlainSale(lost string) *history.Defect {
	shown := history.FirstBroken(r.Findings).Because
	switch f := r.facts; {
	case f.Apart == "order":
		return lockPerOrder.defect("%s", shown)
	case f.Apart != "":
		return lockPerInstance.defect("%s", shown)
	case f.Early:
		return releasedEarly.defect("%s", shown)
	case !strings.Contains(lost, "S") || f.HasLock():
	case f.Watches:
		return sharedWatch.defect("%s", shown)
	default: // a DECR is atomic, but the decision to send it may rest on a stale read
		return noLock.defect("%s", shown)
	}
	return nil
}

// commitsLater returns the defect of an order that had a request held after its release, if only the count broke. It
// does not guess which request was the commit.
func (r *record) commitsLater(lost string) *history.Defect {
	anna := r.anna()
	if !r.facts.Elsewhere || lost != "S" || anna == nil || len(r.Faults) == 0 || !r.heldAfterRelease(anna) {
		return nil
	}
	return commitsLater.defect("%s; %s", r.Faults[0].Text, r.Finding(history.Stock).Because)
}

// heldAfterRelease reports whether the fault began after an order had released its lock.
func (r *record) heldAfterRelease(op *history.Op) bool {
	return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool {
		return cmd.Releases() && cmd.Succeeded() && cmd.At < r.Faults[0].At
	})
}

// takenTwice returns the defect of an order that took several units.
func (r *record) takenTwice() *history.Defect {
	for i := range r.Ops {
		if op := &r.Ops[i]; len(op.Units) > 1 {
			return writtenAgain.defect("%s", r.Finding(history.Stock).Because)
		}
	}
	return nil
}

// refusedSold returns the defect of an order that was refused although it had taken a unit.
func (r *record) refusedSold() *history.Defect {
	for i := range r.Ops {
		op := &r.Ops[i]
		wrote := slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return sold(&cmd) })
		if op.Outcome == history.Busy && wrote {
			return refusedTaken.defect("%s was answered %d; %s", r.name(op), op.Status, r.Finding(history.Stock).Because)
		}
	}
	return nil
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
	return lost || has(r.Cell, "cut-off", "server-restart")
}

// isExcused reports whether the lock of the order with the fault had expired, or been removed by the trial, before
// another order took it: then what breaks is no bug of the shop.
func (r *record) isExcused() bool {
	anna := r.anna()
	if anna == nil || has(r.Cell, "key-removed", "server-restart", "late") {
		return true
	}
	const slack = history.Instant(50 * time.Millisecond)
	for _, l := range r.line.Locks {
		last, free := history.Instant(0), history.Never // her last acquire or renewal, and her first release
		for _, cmd := range on(anna, l.Key) {
			switch {
			case took(cmd), cmd.Prolongs():
				last = cmd.At
			case cmd.Releases():
				free = min(free, cmd.At)
			}
		}
		for _, h := range l.Tenures {
			other := r.Ops[h.Order].Instance != anna.Instance
			if other && h.Sent > last && h.Sent < min(free, last+history.Instant(r.facts.TTL)-slack) &&
				l.HolderAt(h.From).Known {
				return false
			}
		}
	}
	return true
}

// wroteInVain reports whether the command that writes the stock found the lock lost, and wrote nothing.
func wroteInVain(op *history.Op) bool {
	return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool {
		return cmd.Usually(history.EffectWrote) && cmd.End.Known() && !cmd.Wrote() && !cmd.ReadsStock() &&
			!slices.ContainsFunc(op.Trace, func(other history.Command) bool { // its other effects
				return other.Wrote() && other.At == cmd.At
			})
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

// faultOf returns the cell's fault, without the number.
func faultOf(c *history.Cell) string {
	name, _, _ := strings.Cut(c.Scenario, " ")
	return name
}

// like maps a word of a line to the fault that breaks the same verdicts.
var like = map[string]string{"stop-": "pause", "late-": "late", "remove": "key-removed", "restart": "server-restart",
	"cut-": "cut-off", "expiry": "slow-work", "a<read.b>end": "slow-work", "a<acquired.b>end": "slow-work",
	"a>write.b>end": "slow-work", "a<db": "slow-work", "a>db": "late"}

// faultsOf returns the cell's faults, without the number. A line of the user's own may have several.
func faultsOf(c *history.Cell) (faults []string) {
	if c.Scenario != c.Line {
		return []string{faultOf(c)}
	}
	for word, fault := range like {
		if strings.Contains("."+c.Line, "."+word) {
			faults = append(faults, fault)
		}
	}
	slices.Sort(faults)
	return faults
}

// has reports whether the cell has one of these faults.
func has(c *history.Cell, faults ...string) bool {
	return slices.ContainsFunc(faultsOf(c), func(f string) bool { return slices.Contains(faults, f) })
}

// anna returns the order that the fault affects, nil if there is none, as in a crowd.
func (r *record) anna() *history.Op {
	i := slices.IndexFunc(r.Ops, func(op history.Op) bool { return r.Short(op.Order) == "anna" })
	if i < 0 {
		return nil
	}
	return &r.Ops[i]
}

func (r *record) name(op *history.Op) string { return r.OrderName(op.Order) }

// hasUs reports whether the trial itself held the lock.
func (r *record) hasUs() bool {
	return slices.ContainsFunc(r.Ops, func(op history.Op) bool { return op.Instance == Us })
}

func took(cmd *history.Command) bool { return cmd.Acquires() && cmd.Succeeded() }

func sold(cmd *history.Command) bool { return cmd.WritesStock() && cmd.Wrote() }

// on returns an order's commands on a key.
func on(op *history.Op, key string) (all []*history.Command) {
	for i := range op.Trace {
		if op.Trace[i].Key == key {
			all = append(all, &op.Trace[i])
		}
	}
	return all
}

// tookAt returns when an order first took a lock, Never if it did not.
func tookAt(op *history.Op) history.Instant {
	for i := range op.Trace {
		if took(&op.Trace[i]) {
			return op.Trace[i].At
		}
	}
	return history.Never
}

// since formats the time between two moments.
func since(from, to history.Instant) string {
	return time.Duration(to - from).Round(time.Millisecond).String()
}
