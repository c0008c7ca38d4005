package cause

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// A premise returns why an ok of a cell would mean nothing: what had to happen besides the fault, and did not. It
// returns "" if it did happen.
type premise func(*record) string

// premises are those of the faults. A fault without one only has to happen for an ok to mean something.
var premises = map[string]premise{
	"one-instance":      soldEverywhere,
	"two-instances":     soldEverywhere,
	"slow-work":         overdue,
	"pause":             paused,
	"late":              landed,
	"after-release":     bereft,
	"delayed-release":   overlaps,
	"check-delete-gap":  overlaps,
	"late-acquire":      latecomer,
	"contended-acquire": bertSold,
	"renewals-lost":     overdue,
	"crash 3":           waited,
	"hang-up 1":         waited,
	"busy":              waited,
	"waiter-unheard 2":  unheard,
	"key-removed 1":     bereft,
	"key-removed 2":     renewed,
	"server-restart":    bereft,
	"cut-off":           overdue,
}

// whyInconclusive returns why an ok of a judged cell would mean nothing, "" if it means something. Aborted is why its
// fault did not happen.
func (r *record) whyInconclusive() string {
	if why := cmp.Or(r.Aborted, r.unmetPremise()); why != "" {
		return cmp.Or(r.tooMany(), why)
	}
	return r.freshTurnedAway()
}

// unmetPremise returns what had to happen besides the fault, and did not.
func (r *record) unmetPremise() string {
	c := r.Cell
	asks := premises[c.Scenario]
	if asks == nil {
		asks = premises[faultOf(c)]
	}
	if asks != nil {
		if why := asks(r); why != "" {
			return why
		}
	}
	return r.stillWaiting()
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

// soldEverywhere requires a sale at each instance of the crowd, or, with fewer units than instances, of all units.
func soldEverywhere(r *record) string {
	all := 0
	for i := range r.Ops {
		if r.Ops[i].Phase == history.Buy && r.Ops[i].Outcome == history.Sold {
			all++
		}
	}
	if units := int(r.Initial); units < len(r.Instances) && all >= units {
		return ""
	}
	for _, in := range r.Instances {
		came, sold := false, false
		for _, op := range r.Ops {
			if op.Instance == in.Name && op.Phase == history.Buy {
				came, sold = true, sold || op.Outcome == history.Sold
			}
		}
		if came && !sold {
			return "no order of the crowd sold at " + in.Name
		}
	}
	return ""
}

// Asleep is why a waiter does not try the lock.
const Asleep = "waiters sleep until a message, and an expiry sends none"

// unaware is why an order that lost its lock tells nothing: it began its work afterwards.
const unaware = "Anna was held at the reply to her acquire, before she knew that she held the lock: " +
	"to hold her later give the shop's database by --db"

// isUnaware reports whether Bert took the lock and released it before Anna had the reply to her last acquire, for a
// stock whose writes are not observed.
func (r *record) isUnaware() bool {
	taken, heard := history.Never, history.Never
	for _, cmd := range r.annas() {
		if took(cmd) {
			taken, heard = cmd.At, cmd.Heard()
		}
	}
	had := false
	for _, cmd := range r.berts() {
		had = had || took(cmd) && cmd.At > taken && cmd.At < heard
		if had && cmd.Releases() && cmd.At < heard {
			return r.facts.Elsewhere
		}
	}
	return false
}

// overdue requires that Bert tried the lock after Anna's lease had expired, if it expires at all, and before her write.
func overdue(r *record) string {
	taken, lease := history.Never, cmp.Or(r.facts.TTL, r.facts.InValue)
	if anna := r.anna(); anna != nil {
		taken = tookAt(anna)
	}
	switch {
	case r.isUnaware():
		return unaware
	case !taken.Known() || lease == 0:
		return bereft(r)
	case r.comes(taken + history.Instant(lease)):
		return ""
	case r.facts.Messages:
		return "Bert did not try the lock between the expiry of Anna's lease and her write: " + Asleep
	}
	return "Bert did not try the lock between the expiry of Anna's lease and her write"
}

// paused requires the same. An instance that was stopped for longer than its client waits, and then wrote nothing, may
// have given up on the reply.
func paused(r *record) string {
	patience := history.Instant(r.facts.Patience)
	wrote := slices.ContainsFunc(r.annas(), func(cmd *history.Command) bool { return cmd.WritesStock() })
	for _, f := range r.Faults {
		if f.Kind == history.FaultStop && !wrote && !r.facts.Elsewhere && patience > 0 && f.End-f.At > patience {
			return "Anna wrote nothing once resumed: her client gives up on a reply after " +
				r.facts.Patience.Round(100*time.Millisecond).String()
		}
	}
	return overdue(r)
}

// bereft requires that Bert tried the lock before Anna's write, after she had lost it.
func bereft(r *record) string {
	switch {
	case r.isUnaware():
		return unaware
	case r.comes(0):
		return ""
	case r.facts.Elsewhere && len(r.facts.Locks) == 0:
		return "Bert did not sell before Anna's order was over"
	}
	return "Bert did not try the lock before Anna's write"
}

// comes reports whether, before Anna's write, an order of Bert's took the lock, wrote the stock, or tried the lock
// after that moment: an earlier try shows nothing of a lock that expires later. If Anna wrote nothing, she may have
// noticed the loss, and later commands count too. Where neither a lock nor the writes are observed, he has sold.
func (r *record) comes(since history.Instant) bool {
	write := history.Never
	if anna := r.anna(); anna != nil {
		if r.facts.Elsewhere {
			write = r.worked(anna)
		}
		for i := range anna.Trace {
			if cmd := &anna.Trace[i]; cmd.WritesStock() {
				write = min(write, cmd.At)
			}
		}
	}
	if r.facts.Elsewhere && len(r.facts.Locks) == 0 {
		return slices.ContainsFunc(r.Ops, func(op history.Op) bool {
			return r.isBerts(&op) && op.Outcome == history.Sold && op.Done < write
		})
	}
	return slices.ContainsFunc(r.berts(), func(cmd *history.Command) bool {
		got := took(cmd) || cmd.WritesStock()
		return (got || asks(cmd) && cmd.End > since) && cmd.At < write
	})
}

// isBerts reports whether an order is one of Bert's.
func (r *record) isBerts(op *history.Op) bool { return strings.HasPrefix(r.Short(op.Order), "bert") }

// worked returns when an order had finished its work, for a stock whose writes are not observed: at its release, or at
// the end of a fault that came after the release.
func (r *record) worked(op *history.Op) history.Instant {
	if len(r.Faults) == 0 {
		return op.Over()
	}
	if r.heldAfterRelease(op) {
		return r.Faults[0].End
	}
	end := op.Over()
	for _, cmd := range op.Trace {
		if cmd.Releases() {
			end = min(end, cmd.Came())
		}
	}
	return end
}

// berts returns the commands of Bert's orders.
func (r *record) berts() (all []*history.Command) {
	for i := range r.Ops {
		if r.isBerts(&r.Ops[i]) {
			for j := range r.Ops[i].Trace {
				all = append(all, &r.Ops[i].Trace[j])
			}
		}
	}
	return all
}

// annas returns the commands of Anna's order.
func (r *record) annas() (all []*history.Command) {
	if anna := r.anna(); anna != nil {
		for i := range anna.Trace {
			all = append(all, &anna.Trace[i])
		}
	}
	return all
}

// asks reports whether a command tries to acquire the lock, successfully or not.
func asks(cmd *history.Command) bool { return cmd.Usually(history.EffectAcquired) || cmd.Acquires() }

// isLate reports whether a command was held at the proxy while the fault lasted, and forwarded after it.
func (r *record) isLate(cmd *history.Command) bool {
	return len(r.Faults) > 0 && cmd.Came() < r.Faults[0].At && cmd.At >= r.Faults[0].End
}

// landed requires that Anna's write arrived late, and that Bert tried the lock before it.
func landed(r *record) string {
	if !r.facts.Elsewhere && !slices.ContainsFunc(r.annas(), func(cmd *history.Command) bool {
		return r.isLate(cmd) && (cmd.WritesStock() || cmd.Usually(history.EffectWrote))
	}) {
		return "Anna's write never arrived"
	}
	return overdue(r)
}

// latecomer requires that a late acquire took the lock.
func latecomer(r *record) string {
	if slices.ContainsFunc(r.annas(), func(cmd *history.Command) bool { return r.isLate(cmd) && took(cmd) }) {
		return ""
	}
	return "the late acquire found the lock taken, or never arrived"
}

// overlaps requires that Anna's release reached the proxy before Bert took the lock, and Redis after.
func overlaps(r *record) string {
	for _, cmd := range r.berts() {
		if took(cmd) && spans(r.annas(), cmd.At) {
			return ""
		}
	}
	return "Anna's release did not arrive after Bert had taken the lock: her client gave up on it"
}

// spans reports whether one of the commands was held at the proxy at that moment.
func spans(commands []*history.Command, then history.Instant) bool {
	return slices.ContainsFunc(commands, func(cmd *history.Command) bool { return cmd.Came() < then && cmd.At > then })
}

// unheard requires that Bert's subscription was in flight when Anna released the lock.
func unheard(r *record) string {
	for _, cmd := range r.annas() {
		if cmd.Releases() && spans(r.berts(), cmd.At) {
			return ""
		}
	}
	return "Bert's subscription did not come after Anna's release"
}

// renewed requires that Anna sent a renewal after she had lost the lock, unless she wrote nothing, since she may have
// noticed the loss; and that Bert then tried the lock.
func renewed(r *record) string {
	renews := func(cmd *history.Command) bool {
		return cmd.Usually(history.EffectRenewed) && len(r.Faults) > 0 && cmd.Came() > r.Faults[0].At
	}
	wrote := slices.ContainsFunc(r.annas(), func(cmd *history.Command) bool { return cmd.WritesStock() })
	if wrote && !slices.ContainsFunc(r.annas(), renews) {
		return "no renewal came after Anna's lock was removed"
	}
	return bereft(r)
}

// bertSold requires that Bert, who was held under his lock, sold.
func bertSold(r *record) string {
	for i := range r.Ops {
		if op := &r.Ops[i]; r.Short(op.Order) == "bert" && op.Outcome != history.Sold {
			return "Bert did not sell: his client gave up while he was held"
		}
	}
	return ""
}

// waited requires that Anna tried the lock before her fault was over.
func waited(r *record) string {
	asked := func(cmd *history.Command) bool { return asks(cmd) && len(r.Faults) > 0 && cmd.Came() < r.Faults[0].End }
	if slices.ContainsFunc(r.annas(), asked) {
		return ""
	}
	return "Anna had not tried the lock yet"
}

// faultOf returns the cell's fault, without the number.
func faultOf(c *history.Cell) string {
	name, _, _ := strings.Cut(c.Scenario, " ")
	return name
}

// heldAfterRelease reports whether the fault began after an order had released its lock.
func (r *record) heldAfterRelease(op *history.Op) bool {
	return slices.ContainsFunc(op.Trace, func(cmd history.Command) bool {
		return cmd.Releases() && cmd.Succeeded() && cmd.At < r.Faults[0].At
	})
}

// anna returns the order that the fault affects, nil if there is none, as in a crowd.
func (r *record) anna() *history.Op {
	i := slices.IndexFunc(r.Ops, func(op history.Op) bool { return r.Short(op.Order) == "anna" })
	if i < 0 {
		return nil
	}
	return &r.Ops[i]
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
