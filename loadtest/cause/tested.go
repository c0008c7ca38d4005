package cause

import (
	"cmp"
	"slices"
	"time"

	"stockapi/loadtest/history"
)

// An ok means something only if the fault met what it was for. What that is follows from the fault, and from the
// courses of the orders around it.

// Asleep is why a waiter does not try the lock.
const Asleep = "waiters sleep until a message, and an expiry sends none"

// whyInconclusive returns why an ok of a judged cell would mean nothing, "" if it means something. Aborted is why its
// fault did not happen.
func (r *record) whyInconclusive() string {
	if why := cmp.Or(r.Aborted, r.unmet(), r.stillWaiting()); why != "" {
		return cmp.Or(r.tooMany(), why)
	}
	return r.freshTurnedAway()
}

// unmet returns what had to happen besides the faults, and did not; without a fault, a sale at each instance.
func (r *record) unmet() string {
	if !slices.ContainsFunc(r.Faults, func(f history.Fault) bool { return f.Kind != history.FaultDied }) {
		return r.soldEverywhere()
	}
	for i := range r.Faults {
		if why := r.missed(&r.Faults[i]); why != "" {
			return why
		}
	}
	return r.gaveUpUnderLock()
}

// missed returns what had to happen besides a fault, and did not.
func (r *record) missed(f *history.Fault) string {
	h := &hit{record: r, fault: f, op: r.courseOf(f.Order)}
	if h.op == nil {
		return ""
	}
	switch f.Kind {
	case history.FaultDied:
		return ""
	case history.FaultKill:
		return cmp.Or(h.neverAsked(), h.waitedOut())
	case history.FaultLate:
		return cmp.Or(h.neverLanded(), h.undisturbed())
	case history.FaultHeld:
		return cmp.Or(h.neverSpanned(), h.undisturbed())
	case history.FaultLost:
		if f.Command != history.CommandRenewal {
			return ""
		}
	}
	return cmp.Or(h.neverAsked(), h.unresumed(), h.undisturbed())
}

// A hit is a fault and the course of the order that it hit.
type hit struct {
	*record
	fault *history.Fault
	op    *history.Course
}

func (h *hit) name() string { return h.OrderName(h.op.Order) }

// others returns the orders, besides fresh ones and the trial's own, that were open while the fault lasted, or until
// the order that it hit was over.
func (h *hit) others() (all []*history.Course) {
	for _, c := range h.courses {
		if c.Index >= 0 && c != h.op && c.Phase == history.Buy && c.Instance != Us && c.Over() > h.fault.At &&
			c.Sent < max(h.fault.End, h.op.Over()) {
			all = append(all, c)
		}
	}
	return all
}

// asks reports whether a command tries to acquire the lock, successfully or not.
func asks(e *history.Event) bool { return e.Usually(history.EffectAcquired) || e.Acquires() }

// tookBy returns whether an order had acquired the lock by then.
func tookBy(c *history.Course, then history.Instant) bool { return c.TookBefore(then + 1).Known() }

// isFreed reports whether a release of the order had taken effect by then.
func isFreed(c *history.Course, then history.Instant) bool {
	return c.Find(func(e *history.Event) bool { return e.Releases() && e.At <= then }) != nil
}

// neverAsked is about an order that was hit while another one held the lock: it had to wait for it by then.
func (h *hit) neverAsked() string {
	held := slices.ContainsFunc(h.courses, func(c *history.Course) bool {
		return c.Index >= 0 && c != h.op && tookBy(c, h.fault.At) && !isFreed(c, h.fault.At)
	})
	asked := h.op.Find(func(e *history.Event) bool { return asks(e) && e.Came() <= h.fault.End })
	if !held || tookBy(h.op, h.fault.At) || asked != nil {
		return ""
	}
	return h.name() + " had not tried the lock yet"
}

// waitedOut is about an order that was killed while it held a lease: another one has to try the lock before it is over,
// unless the trial has ended it, too long to wait for.
func (h *hit) waitedOut() string {
	taken, lease := h.op.TookBefore(h.fault.At+1), h.lease()
	if !taken.Known() || lease == 0 || isFreed(h.op, h.fault.At) || h.ended() != nil {
		return ""
	}
	if renewed := h.op.FindLast(func(e *history.Event) bool {
		return e.Prolongs() && e.Succeeded() && e.At <= h.fault.At
	}); renewed != nil {
		taken = max(taken, renewed.At)
	}
	for _, c := range h.courses {
		if c.Index >= 0 && c != h.op && c.Find(func(e *history.Event) bool {
			return asks(e) && e.Came() > h.fault.At && e.Came() < taken+lease
		}) != nil {
			return ""
		}
	}
	return history.TooLate
}

func (h *hit) lease() history.Instant { return history.Instant(cmp.Or(h.facts.TTL, h.facts.InValue)) }

// ended returns the tenure of the order that the trial, or its server, has ended, nil if it has not.
func (h *hit) ended() *history.Tenure {
	for _, l := range h.line.Locks {
		for i := range l.Tenures {
			if one := &l.Tenures[i]; one.Order == h.op.Index && slices.Contains(ends, one.Note) {
				return one
			}
		}
	}
	return nil
}

var ends = []string{history.LeaseOver, history.LockRemoved, history.LocksLost}

// neverLanded is about a late command: it has to arrive. If its order had no lock, it is an acquire, which has to take
// it.
func (h *hit) neverLanded() string {
	acquires := len(h.facts.Locks) > 0 && !tookBy(h.op, h.fault.At)
	landed := h.op.Find(func(e *history.Event) bool {
		if acquires {
			return isLate(h.fault, e) && took(e.Command)
		}
		return isLate(h.fault, e) && (e.WritesStock() || e.Usually(history.EffectWrote) ||
			h.fault.Command != history.CommandWrite)
	})
	switch {
	case landed != nil:
		return ""
	case acquires:
		return "the late acquire found the lock taken, or never arrived"
	}
	return h.name() + "'s " + h.fault.Command + " never arrived"
}

// isLate reports whether a command was held at the proxy while the fault lasted, and forwarded after it.
func isLate(f *history.Fault, e *history.Event) bool { return e.Came() < f.At && e.At >= f.End }

// neverSpanned is about a held command that is to arrive once the lock has changed hands: a release after another order
// has taken the lock, the command of a waiter after the release that it waits for.
func (h *hit) neverSpanned() string {
	switch {
	case h.op.AwaitsReply(h.fault.At), h.asksDatabase():
		return ""
	case !tookBy(h.op, h.fault.At):
		return h.unheard()
	case !h.heldRelease():
		return ""
	}
	why := h.name() + "'s release did not arrive after another order had taken the lock"
	others := h.others()
	switch {
	case len(others) == 0, slices.ContainsFunc(others, h.takesMeanwhile):
		return ""
	case h.held() == nil:
		why += ": the client gave up on it"
	}
	return why
}

// takesMeanwhile reports whether an order took the lock while a command was held at the proxy.
func (h *hit) takesMeanwhile(c *history.Course) bool {
	return c.Find(func(e *history.Event) bool { return took(e.Command) && h.spans(e.At) }) != nil
}

// held returns the command that was held, nil if it never arrived, since its client gave up on it.
func (h *hit) held() *history.Event {
	return h.op.Find(func(e *history.Event) bool { return e.Came() <= h.fault.At && e.At > h.fault.At })
}

// heldRelease reports whether the command that was held is a release. One that never arrived came after the write.
func (h *hit) heldRelease() bool {
	held := h.held()
	if held == nil {
		return h.op.WroteBefore(h.fault.At) && !isFreed(h.op, h.fault.At)
	}
	return (held.Releases() || held.Usually(history.EffectReleased)) && !held.WritesStock() &&
		!held.Usually(history.EffectWrote)
}

// spans reports whether a command of the order was held at the proxy at that moment.
func (h *hit) spans(then history.Instant) bool {
	return h.op.Find(func(e *history.Event) bool { return e.Came() < then && e.At > then }) != nil
}

// asksDatabase reports whether a request to the database was held.
func (h *hit) asksDatabase() bool {
	return slices.ContainsFunc(h.Requests, func(q history.Request) bool {
		return q.Order == h.op.Order && q.Came <= h.fault.At && q.Heard > h.fault.At
	})
}

// unheard is about the held command of a waiter, if the lock was released meanwhile.
func (h *hit) unheard() string {
	for _, c := range h.others() {
		freed := c.Find(func(e *history.Event) bool {
			return e.Releases() && e.At > h.fault.At && e.At < h.fault.End
		})
		if freed != nil && !h.spans(freed.At) {
			return h.name() + "'s " + h.fault.Command + " did not arrive after the release by " + h.OrderName(c.Order)
		}
	}
	return ""
}

// unresumed is about an instance that was stopped for longer than its client waits for a reply, and then wrote nothing:
// the client may have given up.
func (h *hit) unresumed() string {
	patience := history.Instant(h.facts.Patience)
	if h.fault.Kind != history.FaultStop || patience == 0 || h.facts.Elsewhere || h.fault.End-h.fault.At <= patience ||
		h.op.Find(func(e *history.Event) bool { return e.WritesStock() }) != nil {
		return ""
	}
	return h.name() + " wrote nothing once resumed: the client gives up on a reply after " +
		h.facts.Patience.Round(100*time.Millisecond).String()
}

// undisturbed is about an order that a fault was to cost its lock: another one has to try the lock between the loss and
// the next write. A fault that is over before the lease costs it nothing.
func (h *hit) undisturbed() string {
	others, ended := h.others(), h.ended()
	if len(others) == 0 || h.fault.At == h.fault.End && ended == nil && h.fault.Kind != history.FaultRestart {
		return ""
	}
	since, until := h.lost(ended), h.worksUntil()
	if since > h.fault.End { // nothing cost it the lock
		return ""
	}
	name := h.OrderName(others[0].Order)
	switch {
	case h.isUnaware(others):
		return h.name() + " was held at the reply to the acquire, too early to know of the lock: to hold orders later " +
			"give the shop's database by --db"
	case slices.ContainsFunc(others, func(c *history.Course) bool { return h.comes(c, since, until) }):
		return h.noRenewal(ended, until)
	case h.sellsUnseen():
		return name + " did not sell before " + h.name() + "'s order was over"
	case since == 0 || ended != nil:
		return name + " did not try the lock before " + h.name() + "'s write"
	case isFreed(h.op, h.fault.At):
		return name + " did not try the lock while " + h.name() + " was held after the release"
	}
	why := name + " did not try the lock between the expiry of " + h.name() + "'s lease and the write"
	if h.facts.Messages {
		why += ": " + Asleep
	}
	return why
}

// lost returns when the order was to lose its lock: when it was ended, or released, or when its lease would expire
// unless it is renewed. It is 0 if that is unknown.
func (h *hit) lost(ended *history.Tenure) history.Instant {
	taken, lease := h.op.TookBefore(h.fault.End), h.lease()
	switch {
	case ended != nil:
		return ended.Since
	case isFreed(h.op, h.fault.At):
		return h.fault.At
	case !taken.Known() || lease == 0:
		return 0
	}
	return taken + lease
}

// worksUntil returns when the order wrote next, after its fault had begun, or when the fault was over if it had written
// already. It is Never if it wrote nothing: it may have noticed the loss. Where writes are not observed, it works until
// its release, or until the end of a fault after that.
func (h *hit) worksUntil() history.Instant {
	switch next := h.op.Find(func(e *history.Event) bool { return e.WritesStock() && e.At > h.fault.At }); {
	case h.facts.Elsewhere && isFreed(h.op, h.fault.At):
		return h.fault.End
	case h.facts.Elsewhere:
		if freed := h.op.Find(func(e *history.Event) bool { return e.Releases() }); freed != nil {
			return min(h.op.Over(), freed.Came())
		}
		return h.op.Over()
	case next != nil:
		return next.At
	case h.op.Find(func(e *history.Event) bool { return e.WritesStock() }) != nil:
		return h.fault.End
	}
	return history.Never
}

// sellsUnseen reports whether neither a lock nor the writes are observed: only the answers show when an order sold.
func (h *hit) sellsUnseen() bool { return h.facts.Elsewhere && len(h.facts.Locks) == 0 }

// comes reports whether an order, before a time, took the lock, wrote the stock, or tried the lock after a loss: an
// earlier try shows nothing of a lock that expires later.
func (h *hit) comes(c *history.Course, lost, until history.Instant) bool {
	if h.sellsUnseen() {
		return c.Outcome == history.Sold && c.Done < until
	}
	return c.Find(func(e *history.Event) bool {
		return (took(e.Command) || e.WritesStock() || asks(e) && e.End > lost) && e.At < until
	}) != nil
}

// isUnaware reports whether others took the lock and released it before the order had the reply to its acquire, for a
// stock whose writes are not observed: it began its work afterwards.
func (h *hit) isUnaware(others []*history.Course) bool {
	taken := h.op.Last.Took
	if !h.facts.Elsewhere || taken == nil {
		return false
	}
	heard := taken.Heard()
	return slices.ContainsFunc(others, func(c *history.Course) bool {
		got := c.TookBefore(heard)
		return got.Known() && got > taken.At && c.Find(func(e *history.Event) bool {
			return e.Releases() && e.At > got && e.At < heard
		}) != nil
	})
}

// noRenewal is about a lock that was removed for longer than its renewals are apart: one has to find it removed.
func (h *hit) noRenewal(ended *history.Tenure, until history.Instant) string {
	every := history.Instant(h.facts.Every)
	if ended == nil || ended.Note != history.LockRemoved || every == 0 || h.facts.Shared || h.facts.Elsewhere ||
		!until.Known() || until-ended.Since < every*5/4 {
		return ""
	}
	if h.op.Find(func(e *history.Event) bool {
		return (e.Prolongs() || e.Usually(history.EffectRenewed)) && e.Came() > ended.Since
	}) != nil {
		return ""
	}
	return "no renewal came after " + h.name() + "'s lock was removed"
}

// gaveUpUnderLock returns which order, held under its lock and hit by no fault, did not sell, since its client gave up
// on a reply.
func (r *record) gaveUpUnderLock() string {
	for _, c := range r.courses {
		if c.Index < 0 || c.Phase != history.Buy || c.Outcome == history.Sold || c.Instance == Us || r.isHit(c) {
			continue
		}
		taken := c.Find(func(e *history.Event) bool { return took(e.Command) })
		if taken != nil && c.Find(func(e *history.Event) bool {
			return e.At >= taken.At && e.Wire != nil && !e.Heard().Known()
		}) != nil {
			return r.OrderName(c.Order) + " did not sell: the client gave up while held under its lock"
		}
	}
	return ""
}

// isHit reports whether a fault hit an order itself, or its process.
func (r *record) isHit(c *history.Course) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool {
		switch f.Kind {
		case history.FaultHeld, history.FaultLate, history.FaultLost, "":
			return f.Order == c.Order
		case history.FaultRestart:
			return true
		}
		return hits(&f, c.Op)
	})
}

// isProven reports whether the commands of a cell show its defect although its fault did not happen. A count that does
// not balance, or an order that does not get through for an unknown reason, accuses only where the fault is known.
func (r *record) isProven() bool {
	if r.Count != nil && broken(r.Cell) == "S" {
		return cmp.Or(r.accused(), r.crash()) != nil
	}
	return r.Defect.Cause != unknown.what
}

// tooMany returns [history.TooMany] if one of the cell's orders was turned away for it.
func (r *record) tooMany() string {
	if slices.ContainsFunc(r.Ops, func(op history.Op) bool { return r.WhyTurnedAway(&op) == history.TooMany }) {
		return history.TooMany
	}
	return ""
}

// freshTurnedAway returns why fresh orders were turned away, if not for the lock.
func (r *record) freshTurnedAway() string {
	why := r.Finding(history.Liveness).Because
	if why == history.TooMany || why == history.FullAgain {
		return why
	}
	return ""
}

// stillWaiting returns which order timed out: its outcome is unknown. A customer who hung up, or whose instance was
// killed, is not waiting.
func (r *record) stillWaiting() string {
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Phase == history.Buy && op.GaveUp == history.TimedOut {
			return r.name(op) + " was still waiting after " + since(op.Sent, op.Over())
		}
	}
	return ""
}

// soldEverywhere requires a sale at each instance with orders, or, with fewer units than instances, of all units.
func (r *record) soldEverywhere() string {
	all, sold := 0, map[string]bool{}
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Phase == history.Buy && op.Instance != Us {
			sold[op.Instance] = sold[op.Instance] || op.Outcome == history.Sold
			if op.Outcome == history.Sold {
				all++
			}
		}
	}
	if units := int(r.Initial); units < len(r.Instances) && all >= units {
		return ""
	}
	for _, in := range r.Instances {
		if got, came := sold[in.Name]; came && !got {
			return "no order sold at " + in.Name
		}
	}
	return ""
}
