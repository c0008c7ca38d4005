package history

import (
	"cmp"
	"slices"
	"time"
)

// Terms are the conditions under which a lock ends without a release.
type Terms struct {
	// TTL is the time after which it expires, 0 if it has none.
	TTL time.Duration
	// Session means that the server removes it when it hears no more from its holder.
	Session bool
	// InValue means that the expiry is kept in the lock's value, so no command sets a TTL.
	InValue bool
	// Slack is how early a server may seem to expire a lock, 0 for the rounding of times: an expiry kept in the lock's
	// value was computed before the acquire was sent.
	Slack Instant
	// Quorum means that it is held as long as a majority of several nodes have it.
	Quorum bool
}

// slack bounds how long before its time a lease of a shop on trial may seem to expire.
const slack = Instant(50 * time.Millisecond)

// TermsOnTrial returns how a lock of a shop on trial ends without a release.
func TermsOnTrial(c *Cell) Terms {
	return Terms{TTL: c.TTL, InValue: c.Facts != nil && c.Facts.InValue > 0, Slack: slack}
}

// rounding bounds how early, by the instance's clock, a server may expire a key.
const rounding = Instant(5 * time.Millisecond)

// explain finds why, and narrows down when, tenures ended that no order is known to have ended. It also collects the
// renewals.
func (t *Timeline) explain() {
	all := make(map[*Lock][]signs, len(t.Locks))
	for _, l := range t.Locks {
		all[l] = make([]signs, len(l.Tenures))
		for i, h := range l.Tenures {
			all[l][i] = signs{seen: h.From, sent: h.Sent, set: h.replied, endless: h.endless, lease: h.lease,
				gone: Never}
		}
	}
	for i := range t.cell.Ops {
		op := &t.cell.Ops[i]
		for j := range op.Trace {
			cmd := &op.Trace[j]
			if l := t.byName[[2]string{cmd.Node, cmd.Key}]; l != nil && cmd.End.Known() && op.For == "" {
				l.see(cmd, all[l])
				l.hear(i, cmd, all[l])
			}
		}
	}
	for i := range t.cell.Strays {
		if cmd := &t.cell.Strays[i]; cmd.Source == Looked && cmd.Releases() {
			if l := t.byName[[2]string{cmd.Node, cmd.Key}]; l != nil {
				l.endAt(cmd, all[l])
			}
		}
	}
	for _, l := range t.Locks {
		slices.SortStableFunc(l.Renewals, func(a, b Command) int { return cmp.Compare(a.End, b.End) })
		for i := range l.Tenures {
			l.Tenures[i].explain(t.Terms, all[l][i])
		}
	}
}

// signs are what replies show of a tenure besides its beginning and its end.
type signs struct {
	seen      Instant       // the last instant at which one showed that the lock was held
	sent, set Instant       // when the last command that set the TTL was sent, and when it was replied to
	endless   bool          // no command set a TTL
	lease     time.Duration // the TTL that the last one set, 0 if the usual one
	gone      Instant       // when a note says that the server had ended it
	note      string        // that note's reply
}

// see records that the lock was held when the command was sent, if its reply shows that.
func (l *Lock) see(cmd *Command, all []signs) {
	shows := cmd.Prolongs() && cmd.Succeeded() || cmd.Acquires() && cmd.Err == "" && !cmd.Succeeded()
	if !shows || len(all) == 0 {
		return
	}
	i := max(l.from(cmd.At+1)-1, 0)
	if h := &l.Tenures[i]; h.From <= cmd.End {
		all[i].seen = min(max(all[i].seen, cmd.At), h.At)
	}
}

// hear records what an order's own command, or a note in its trace, shows of its tenure.
func (l *Lock) hear(order int, cmd *Command, all []signs) {
	if cmd.Prolongs() && !cmd.UnknownScript() {
		l.Renewals = append(l.Renewals, *cmd)
	}
	if !cmd.Ended() && (!cmd.Prolongs() || !cmd.Succeeded()) {
		return
	}
	for i := l.from(cmd.End+1) - 1; i >= 0; i-- {
		h, s := &l.Tenures[i], &all[i]
		if h.Order != order && (cmd.Source != Looked || !h.Alone) { // another order may prolong the lock that is there
			continue
		}
		switch {
		case cmd.End > h.At:
		case !cmd.Ended():
			s.sent, s.set, s.endless, s.lease = cmd.At, cmd.End, cmd.Endless(), cmd.Lease()
		case cmd.At > h.From:
			s.gone, s.note = min(s.gone, cmd.At), cmd.Reply
		}
		return
	}
}

// endAt records that a command of no known order removed the lock.
func (l *Lock) endAt(cmd *Command, all []signs) {
	i := l.from(cmd.At) - 1
	if i < 0 || cmd.At >= l.Tenures[i].At || all[i].gone <= cmd.At {
		return
	}
	if all[i].gone = cmd.At; cmd.Wire != nil && cmd.Wire.Background {
		all[i].note = LockSwept
	}
}

// explain finds why a tenure ended.
func (h *Tenure) explain(terms Terms, s signs) {
	early, over := terms.expiry(s)
	switch unexplained := h.How == Gone || h.How == NoEnd; {
	case !unexplained:
	case s.gone.Known() && s.note == LeaseOver:
		h.End, h.Note = End{Expired, -1, s.gone, s.gone}, s.note
	case s.gone.Known() && s.gone < over:
		h.End, h.Note = End{Gone, h.By, s.gone, s.gone}, s.note
	case h.How == NoEnd && over.Known():
		h.End = End{Expired, -1, early, over}
	case h.How == NoEnd:
		h.Since = Never
	case early-cmp.Or(terms.Slack, rounding) <= h.At:
		h.How, h.Since, h.At = Expired, min(early, h.At), min(over, h.At)
	case h.replaced:
	default:
		h.Since = min(s.seen, h.At)
		if terms.Session {
			h.How = SessionOver
		}
	}
}

// expiry returns the span in which a lease expires, Never if it does not.
func (t *Terms) expiry(s signs) (early, over Instant) {
	if t.TTL == 0 || s.endless && !t.InValue {
		return Never, Never
	}
	lease := cmp.Or(s.lease, t.TTL)
	return s.sent.after(lease), s.set.after(lease)
}

// after returns the instant d later, Never on overflow.
func (i Instant) after(d time.Duration) Instant {
	if i > Never-Instant(d) {
		return Never
	}
	return i + Instant(d)
}

// LossOf returns how an order lost the lock that it held at an instant, NoEnd if it did not lose it, or if its lock is
// unknown. It lost a lock on several nodes when fewer of them than required still had it.
func (t *Timeline) LossOf(order int, at Instant) End {
	first := End{How: NoEnd, By: -1, Since: Never, At: Never}
	for i, l := range t.Locks {
		if i > 0 && t.Locks[i-1].Key == l.Key {
			continue
		}
		if e := t.lossOf(order, at, l.Key); e.At < first.At {
			first = e
		}
	}
	return first
}

func (t *Timeline) lossOf(order int, at Instant, key string) End {
	kept := End{How: NoEnd, By: -1, Since: Never, At: Never}
	var ends []End
	need := 0
	for _, l := range t.Locks {
		if l.Key != key {
			continue
		}
		need++
		if h := l.TenureOf(order, at); h != nil {
			if !h.Lost() {
				ends = append(ends, kept)
			} else {
				ends = append(ends, h.End)
			}
		}
	}
	if t.Terms.Quorum {
		need = need/2 + 1
	}
	if len(ends) < need {
		return kept
	}
	slices.SortFunc(ends, func(a, b End) int { return cmp.Compare(a.At, b.At) })
	return ends[len(ends)-need]
}

// TenureOf returns an order's last tenure that had begun by then, nil if there is none.
func (l *Lock) TenureOf(order int, at Instant) *Tenure {
	for i := l.from(at+1) - 1; i >= 0; i-- {
		if l.Tenures[i].Order == order {
			return &l.Tenures[i]
		}
	}
	return nil
}
