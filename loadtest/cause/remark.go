package cause

import (
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// remarks returns observations that are worth knowing but break no verdict.
func (r *record) remarks() (all []string) {
	for _, text := range []string{r.renewedAfter(), r.waiterExtended(), r.blocks()} {
		if text != "" {
			all = append(all, text)
		}
	}
	for _, f := range r.deaths() {
		if r.hadToDie(f.Instance) {
			all = append(all, f.Instance+" "+f.Text)
		}
	}
	for i := range r.Ops {
		for _, text := range []string{r.leftBehind(&r.Ops[i]), r.sleptOn(&r.Ops[i]), r.soldNothing(&r.Ops[i]),
			r.answeredLate(&r.Ops[i]), r.accepted(&r.Ops[i])} {
			if text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// LongLease is the longest lease that a trial waits out. After a crash, a longer one is remarked on.
const LongLease = time.Minute

// blocks remarks on a lease that blocks all orders for long after a crash, in one cell only.
func (r *record) blocks() string {
	if r.Scenario != "crash 1" || r.facts.TTL <= LongLease {
		return ""
	}
	return "a crash blocks all orders for " + r.facts.TTL.String()
}

// muchLonger is how many times as long as a plain sale no lease has to be.
const muchLonger = 5000

// blocksForLong returns the defect of a lease that is out of proportion to a plain sale, as if seconds were taken for
// milliseconds; nil if it is not.
func (r *record) blocksForLong() *history.Defect {
	if r.blocks() == "" || r.facts.TTL < muchLonger*r.facts.Takes {
		return nil
	}
	return longLease.defect("%s, and a sale takes %s", r.blocks(), r.facts.Takes.Round(time.Millisecond))
}

// sleptOn remarks on an order that acquired the lock long after it had become free.
func (r *record) sleptOn(op *history.Op) string {
	const long = history.Instant(time.Second)
	for i := range op.Trace {
		cmd := &op.Trace[i]
		if !took(cmd) {
			continue
		}
		freed, how, free := r.line.FreeAt(cmd.Came() - 1)
		if how == history.NoEnd || !free || freed < op.Sent || cmd.Came()-freed < long+r.stalled {
			return ""
		}
		tried := false
		for j := range op.Trace[:i] {
			if op.Trace[j].Came() > freed || op.Trace[j].Heard() > freed { // it was busy, or polled
				return ""
			}
			tried = tried || asks(&op.Trace[j])
		}
		if !tried {
			return ""
		}
		return r.name(op) + " slept for " + since(freed, cmd.Came()) + " while the lock was free"
	}
	return ""
}

// soldNothing remarks on an order that held the lock, found stock and sold nothing, although no fault hit it.
func (r *record) soldNothing(op *history.Op) string {
	if !op.Done.Known() || op.Outcome == history.Sold || op.Outcome == history.Unknown || r.isFaulted(op) {
		return ""
	}
	held, found := false, false
	for i := range op.Trace {
		cmd := &op.Trace[i]
		n, err := numberIn(cmd.Reply)
		switch {
		case took(cmd) && cmd.Heard().Known():
			held = true
		case cmd.WritesStock() || cmd.Err != "" || !cmd.Heard().Known():
			return ""
		case cmd.ReadsStock():
			found = held && err == nil && n > 0
		}
	}
	if !found {
		return ""
	}
	return r.name(op) + " held the lock, found stock and sold nothing"
}

// numberIn parses a reply that is a number, or a number as text.
func numberIn(reply string) (int, error) { return strconv.Atoi(strings.Trim(reply, `"`)) }

// isFaulted reports whether a fault hit an order, or its instance while the order was open.
func (r *record) isFaulted(op *history.Op) bool {
	for _, f := range r.Faults {
		if f.Order == op.Order || f.Instance == op.Instance && f.At < op.Over() && f.End > op.Sent {
			return true
		}
	}
	return false
}

// answeredLate remarks on an order that was answered long after its write, not counting faults, or never.
func (r *record) answeredLate(op *history.Op) string {
	const long = history.Instant(5 * time.Second)
	wrote := history.Never
	for i := range op.Trace {
		if cmd := &op.Trace[i]; sold(cmd) && cmd.Heard().Known() {
			wrote = cmd.Heard()
		}
	}
	if !wrote.Known() || r.DiedAt(op.Instance).Known() {
		return ""
	}
	if op.GaveUp == history.TimedOut {
		return r.name(op) + " took its unit, and was never answered"
	}
	gap := op.Done - wrote
	for _, f := range r.Faults {
		if from, to := max(f.At, wrote), min(f.End, op.Done); from < to {
			gap -= to - from
		}
	}
	if !op.Done.Known() || gap < long+r.stalled {
		return ""
	}
	return r.name(op) + " was answered " + since(0, gap) + " after its write"
}

// accepted remarks on a 202 that was sent before the unit was taken.
func (r *record) accepted(op *history.Op) string {
	if op.Status != 202 || !op.Done.Known() {
		return ""
	}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; sold(cmd) && cmd.Came() > op.Done {
			return r.name(op) + " was answered 202 before its unit was taken"
		}
	}
	return ""
}

// leftBehind remarks on a lock without a working holder: the reply to its acquire was lost, and its order was refused,
// or retried, found its own key, and waited for that to expire.
func (r *record) leftBehind(op *history.Op) string {
	taken, met, endless := history.Never, false, false // taken without a reply; met: a retry found that key
	for i := range op.Trace {
		cmd := &op.Trace[i]
		switch {
		case took(cmd) && !cmd.Heard().Known():
			taken, met, endless = cmd.At, false, cmd.Endless()
		case took(cmd) && met && cmd.At-taken > history.Instant(r.facts.TTL)*3/4:
			return "a retried acquire found the key of its first attempt, and waited for that to expire"
		case took(cmd), cmd.Releases():
			taken, met = history.Never, false
		case cmd.Acquires():
			met = taken.Known()
		}
	}
	if !taken.Known() || r.facts.TTL == 0 || endless || op.Outcome == history.Sold || op.GaveUp != "" ||
		r.DiedAt(op.Instance).Known() {
		return ""
	}
	return "the lock stayed until its TTL although its order was refused: an acquire without a reply is not undone"
}
