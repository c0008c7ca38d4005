package cause

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// stuck returns the defect by which no fresh order gets through, nil if the cause is unknown.
func (r *record) stuck(shown string) *history.Defect {
	if c := r.whyStuck(); c != unknown {
		return c.defect("%s", shown)
	}
	return nil
}

func (r *record) whyStuck() cause {
	switch {
	case r.diedWaiting():
		return deadWaiter
	case r.waiterExtended() != "":
		return waiterExtends
	case r.facts.TTLLater:
		return ttlLater
	case r.facts.TTL == 0 && r.facts.InValue == 0 && len(r.facts.Locks) > 0:
		return noTTL
	case r.renewedAfter() != "":
		return renewalOutlives
	case r.facts.Messages, r.asleep():
		return nobodyWakes
	}
	return unknown
}

// diedWaiting reports whether Anna's instance was killed while she waited for the lock.
func (r *record) diedWaiting() bool {
	anna := r.anna()
	return anna != nil && r.DiedAt(anna.Instance).Known() && len(r.facts.Locks) > 0 && !tookAt(anna).Known()
}

// asleep reports whether the last fresh order tried the lock, and sent nothing once it was free.
func (r *record) asleep() bool {
	for i := len(r.Ops) - 1; i >= 0; i-- {
		if op := &r.Ops[i]; op.Phase == history.Probe && op.Outcome != history.Sold {
			return r.sleeps(op) != ""
		}
	}
	return false
}

// waiterExtended describes an order that extended another's lock; it is "" if none did. If the value is the instance's,
// it is unknown for which of its orders.
func (r *record) waiterExtended() string {
	if r.facts.Kind != "string" { // it may be shared
		return ""
	}
	for i := range r.Ops {
		op := &r.Ops[i]
		for j := range op.Trace {
			cmd := &op.Trace[j]
			l := r.lock(cmd)
			if !cmd.Prolongs() || !cmd.Succeeded() || l == nil {
				continue
			}
			h := l.HolderAt(cmd.At)
			if !h.Known || h.Tenure == nil || h.Tenure.Order == i {
				continue
			}
			if other := &r.Ops[h.Tenure.Order]; !r.facts.Name || other.Instance != op.Instance {
				return r.name(op) + "'s " + cmd.Cmd + " extended " + r.name(other) + "'s lock"
			}
		}
	}
	return ""
}

// renewedAfter describes an order whose lock was renewed after its answer; it is "" if there is none.
func (r *record) renewedAfter() string {
	const soon = history.Instant(200 * time.Millisecond)
	for i := range r.Ops {
		op := &r.Ops[i]
		for j := range op.Trace {
			if cmd := &op.Trace[j]; op.Done.Known() && cmd.Prolongs() && cmd.Came() > op.Done+soon {
				return r.name(op) + "'s lock was renewed " + since(op.Done, cmd.Came()) + " after its answer"
			}
		}
	}
	return ""
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
	if last.Outcome == history.Sold || r.hasUs() {
		return nil
	}
	for i := range r.Ops {
		if shown := cmp.Or(r.stands(i), r.sleeps(&r.Ops[i])); shown != "" {
			return cmp.Or(r.stuck(shown), unknown.defect("%s", shown))
		}
	}
	return nil
}

// stands describes an order that found a lock although the last order to acquire it had been over for longer than a
// fresh order may take. With several holders it is unknown whose lock it is.
func (r *record) stands(i int) string {
	op := &r.Ops[i]
	for j := range op.Trace {
		cmd := &op.Trace[j]
		l := r.lock(cmd)
		if l == nil || took(cmd) || !cmd.Prolongs() && !cmd.Acquires() {
			continue
		}
		owner := ownerAt(l, cmd.At)
		if owner == nil || owner.Order == i && !cmd.Prolongs() || !owner.Alone {
			continue
		}
		over := max(r.workedUntil(&r.Ops[owner.Order]), owner.Sent) // an acquire may come late
		if over.Known() && cmd.At-over > history.Instant(r.Limit)+r.stalled {
			return r.name(op) + "'s " + cmd.Cmd + " found " + cmd.Key + " " + since(over, cmd.At) + " after " +
				r.name(&r.Ops[owner.Order]) + "'s order was over"
		}
	}
	return ""
}

// ownerAt returns the last tenure that had begun by then, nil if an order has released the lock since. Its lease may
// have expired: the command that found the lock shows that it was there.
func ownerAt(l *history.Lock, at history.Instant) (owner *history.Tenure) {
	for i := range l.Tenures {
		if h := &l.Tenures[i]; h.Sent < at {
			owner = h
		}
	}
	if owner == nil || owner.At <= at && (owner.How == history.Released || owner.How == history.Removed) ||
		l.StraysIn(owner.From, at) {
		return nil
	}
	return owner
}

// workedUntil returns when an order was answered, or its instance killed; Never if neither.
func (r *record) workedUntil(op *history.Op) history.Instant {
	return min(op.Done, r.DiedAt(op.Instance))
}

// sleeps describes an order that had tried the lock, and did not poll once a release or the expiry had freed it.
func (r *record) sleeps(op *history.Op) string {
	over := op.Over()
	freed, _, free := r.line.FreeAt(over)
	freed = max(freed, op.Sent)
	asked := slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.Acquires() })
	awake := slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.Came() > freed })
	if !free || !asked || awake || waitsForReply(op, over) || tookAt(op).Known() || over-freed < Margin+r.stalled {
		return ""
	}
	return r.name(op) + " slept for " + since(freed, over) + " while the lock was free"
}
