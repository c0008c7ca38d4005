package cause

import (
	"cmp"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// What breaks by design is S or E between two orders of which the first had lost its lock before the second took it,
// through no bug of the shop, and went on under its belief; or whose write was sent while it held the lock, and arrived
// late by the fault.

// The reasons.
const (
	unrenewed = "a lease that is not renewed expires under its holder, as in v4; renew it (v5.5) or fence the write (v15)"
	overtaken = "no lease protects a write that is sent after its expiry, as in v5.5; fence the write (v15)"
	withFence = "the lock is lost, but the stock refuses the late write, as in v15"
	inFlight  = "a write in flight can outlive any lock; fence the write (v15)"
	removed   = "the trial removed the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)"
	restarted = "the Redis lost the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)"
)

// notByDesign returns the letters of the verdicts that the shop's own code breaks, and why every lock of its kind
// breaks the others.
func (r *record) notByDesign() (letters, why string) {
	var own strings.Builder
	for i, v := range Asked {
		f := r.Finding(v)
		if f.Result != history.Broken {
			continue
		}
		if reason := r.designOf(f); reason != "" {
			why = cmp.Or(why, reason)
		} else {
			own.WriteByte("SERL"[i])
		}
	}
	return own.String(), why
}

// designOf returns why every lock of this kind breaks a finding, "" if the shop's own code does.
func (r *record) designOf(f history.Finding) (why string) {
	switch f.Verdict {
	case history.OwnRelease:
		return r.removalByDesign()
	case history.Liveness:
		return ""
	case history.Stock:
		if r.facts.Fence || r.sees(writtenAgain) || r.Count != nil && r.sees(refusedTaken) {
			return ""
		}
	}
	if len(r.Faults) == 0 { // such as a crowd
		return ""
	}
	for _, e := range f.Evidence {
		reason := r.designOfOne(f, e)
		if reason == "" {
			return ""
		}
		why = cmp.Or(why, reason)
	}
	return why
}

// designOfOne is designOf for one violation.
func (r *record) designOfOne(f history.Finding, e history.Evidence) string {
	switch of := r.pair(f, e); {
	case r.facts.Unseen:
		return r.unseenLoss(e)
	case of.x != nil:
		return r.lossTo(of.x, of.y)
	case r.Count != nil:
		return r.anyLoss(anyTwo)
	case f.Verdict == history.Stock: // a write that was sent again has hidden another order's
		return r.anyLoss(wroteAfter)
	}
	return ""
}

// wroteAfter reports whether an order wrote the stock after another one had taken the lock.
func wroteAfter(x, y *history.Course) bool {
	return x.Find(func(e *history.Event) bool { return sold(e.Command) && y.TookBefore(e.At).Known() }) != nil
}

func anyTwo(_, _ *history.Course) bool { return true }

// sees reports whether there is a sighting of a cause.
func (r *record) sees(c cause) bool {
	for _, s := range r.seen {
		if s.what == c.what {
			return true
		}
	}
	return false
}

// removalByDesign returns why a lock without a TTL is removed by another order: the trial had removed it before.
func (r *record) removalByDesign() string {
	if r.facts.TTL != 0 || r.facts.InValue != 0 {
		return ""
	}
	for _, l := range r.line.Locks {
		for i := range l.Tenures {
			if why := endedBy(&l.Tenures[i]); why != "" {
				return why
			}
		}
	}
	return ""
}

// endedBy returns why a lock that the trial or its server has ended protects nothing, "" if neither has.
func endedBy(h *history.Tenure) string {
	switch h.Note {
	case history.LockRemoved:
		return removed
	case history.LocksLost:
		return restarted
	}
	return ""
}

// anyLoss is for a violation that names no two orders, as a count does. It asks those with which the violation may be.
func (r *record) anyLoss(may func(x, y *history.Course) bool) (why string) {
	for _, x := range r.courses {
		for _, y := range r.courses {
			if x != y && x.Index >= 0 && y.Index >= 0 && may(x, y) {
				why = cmp.Or(why, r.lossTo(x, y))
			}
		}
	}
	return why
}

// unseenLoss is for a lock whose keys are unknown: its lease has expired if a fault lasted longer.
func (r *record) unseenLoss(e history.Evidence) string {
	for _, f := range r.Faults {
		switch {
		case !slices.Contains(e.Orders, f.Order) && f.Kind != history.FaultRestart:
		case f.Kind == history.FaultLate:
			return inFlight
		case f.Kind == history.FaultRestart:
			return restarted
		case f.Kind != "" && r.facts.TTL > 0 && f.End-f.At > history.Instant(r.facts.TTL):
			return unrenewed
		}
	}
	return ""
}

// lossTo returns why an order that had lost its lock when another took it is no bug of the shop's, "" if it is one, or
// if it had not lost it.
func (r *record) lossTo(x, y *history.Course) (why string) {
	for _, l := range r.line.Locks {
		for i := range l.Tenures {
			hx := &l.Tenures[i]
			if hx.Order != x.Index {
				continue
			}
			for j := range l.Tenures[i:] {
				if hy := &l.Tenures[i+j]; hy.Order == y.Index {
					why = cmp.Or(why, r.design(x, hx, hy))
				}
			}
		}
	}
	return why
}

func (r *record) design(x *history.Course, hx, hy *history.Tenure) string {
	late := r.writesLate(x, hx, hy)
	if !late && (!hx.Lost() || hx.Since > hy.From || x.FreedBefore(hy.Sent)) {
		return ""
	}
	why := cmp.Or(endedBy(hx), r.expiry(x, hx))
	switch {
	case late:
		why = inFlight
	case why == "":
		return ""
	}
	if r.facts.Fence || x.WroteInVain() {
		return withFence
	}
	return why
}

// expiry returns why a lease that has expired is no bug, "" if it is one: a lease that its order should have renewed.
func (r *record) expiry(x *history.Course, h *history.Tenure) string {
	switch {
	case h.Note == history.LockSwept && r.renewalsFaulted(x.Op): // its signs of life had stopped
		return overtaken
	case h.How != history.Expired || r.facts.ExpiresInASale():
		return ""
	case r.facts.Every == 0:
		return unrenewed
	case r.renewalsFaulted(x.Op) || x.Over() < h.Since:
		return overtaken
	}
	return ""
}

// writesLate reports whether a fault delayed a write, sent under a tenure, until another order had the lock.
func (r *record) writesLate(x *history.Course, hx, hy *history.Tenure) bool {
	return slices.ContainsFunc(r.Faults, func(f history.Fault) bool {
		return f.Order == x.Order && f.Kind == history.FaultLate && x.Find(func(e *history.Event) bool {
			return sold(e.Command) && hx.From <= e.Came() && e.Came() <= hy.Sent && hy.Sent < e.At && isLate(&f, e)
		}) != nil
	})
}
