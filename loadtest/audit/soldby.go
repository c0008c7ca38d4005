package audit

import (
	"fmt"
	"slices"

	"stockapi/loadtest/history"
)

// Orders that wait for the same lock may share one lease. Then one of them, the seller, returns it, and each of the
// others names that order in sold_by and returns no lease. The claim is accepted if it is possible: the seller is
// another order of the same instance with a lease of its own, which did not end before the claiming order was sent, nor
// begin after it was answered. Otherwise the claiming order had a lease that was not seen.

// A seller is an order that others name in sold_by.
type seller struct {
	instance, soldBy string
	token            string
	leased, ended    bool
	told             bool            // it returned a trace, or an order that it sold for did
	silent           bool            // it is counted in books.silent
	unheard          int             // how many of the orders that it sold for returned no trace
	lost             bool            // it sent a write of the stock whose reply was lost
	timing           timing          // also that of the orders that it sold for
	acquired         history.Instant // by its instance's clock
	from, to         history.Instant
}

// sharesLease reports whether an order names a seller and returns no lease.
func sharesLease(op *history.Op) bool { return op.SoldBy != "" && op.Lease == nil }

// addShared counts the orders that name a seller.
func (b *books) addShared() {
	for _, op := range b.ops {
		if _, named := b.sellers[op.Order]; named {
			b.sellers[op.Order] = b.seller(op)
		}
	}
	served := map[int]*seller{}
	for i, op := range b.ops {
		if !sharesLease(op) {
			continue
		}
		if why := b.whyNotSoldBy(op); why != "" {
			b.addDoubtful(op, why)
		} else {
			served[i] = b.sellers[op.SoldBy]
			b.addServed(op, b.sellers[op.SoldBy])
		}
	}
	for i := range b.sends {
		if s := &b.sends[i]; s.done.Known() && served[s.op] != nil {
			s.timing = served[s.op].timingFor(s.op)
		}
	}
	for i := range b.refusals {
		if r := &b.refusals[i]; served[r.op] != nil {
			r.timing = served[r.op].timingFor(r.op)
		}
	}
	for _, s := range b.sellers {
		switch {
		case s == nil:
		case !s.told:
			b.silent += s.unheard
		case s.silent:
			b.silent--
		}
	}
}

// seller returns an order as a seller, with the span by the client's clock in which it can have held its lease.
func (b *books) seller(op *history.Op) *seller {
	s := &seller{
		instance: op.Instance, soldBy: op.SoldBy, told: len(op.Trace) > 0, lost: lostWrite(b.Cell, op),
		from: op.Sent, to: op.Done, timing: timingOf(-1, op),
	}
	s.silent = !s.told && (op.Outcome == history.Sold || op.Outcome == history.Refused)
	if l := op.Lease; l != nil {
		s.token, s.acquired = l.Token, l.AcquiredAt
		s.leased, s.ended = l.AcquiredAt.Known(), l.ReleasedAt.Known()
		if clock := b.clocks.of(op.Instance); s.leased && s.ended {
			s.from, s.to = max(s.from, l.AcquiredAt-clock.hi), min(s.to, l.ReleasedAt-clock.lo)
		}
	}
	return s
}

// timingFor returns the timing of an order that was served under the seller's lease.
func (s *seller) timingFor(op int) timing {
	t := s.timing
	t.op = op
	return t
}

// whyNotSoldBy returns why an order's sold_by cannot be true, "" if it can.
func (b *books) whyNotSoldBy(op *history.Op) string {
	says := func(when, why string, args ...any) string {
		return fmt.Sprintf("%s on %s%s names %s as its seller, %s",
			order(b.Cell, op), op.Instance, when, b.OrderName(op.SoldBy), fmt.Sprintf(why, args...))
	}
	s := b.sellers[op.SoldBy]
	switch {
	case s == nil:
		return says("", "which is not in the cell")
	case op.SoldBy == op.Order:
		return says("", "which is itself")
	case s.instance != op.Instance:
		return says("", "which is an order of %s", s.instance)
	case s.soldBy != "":
		return says("", "which itself names %s", b.OrderName(s.soldBy))
	case !s.leased:
		return says("", "which returned no lease")
	case !s.ended:
		return says("", "whose lease has no release")
	case s.to < op.Sent:
		return says(fmt.Sprintf(", sent at %s,", op.Sent), "whose lease had ended by %s", s.to)
	case op.Done < s.from:
		return says(fmt.Sprintf(", answered at %s,", op.Done), "whose lease began at %s or later", s.from)
	case slices.ContainsFunc(op.Trace, func(cmd history.Command) bool { return cmd.Cut() }):
		return says("", "but sent more commands than are kept")
	case wroteStock(b.Cell, op):
		return says("", "but wrote the stock itself")
	}
	return ""
}

// addServed counts an order that was served under a seller's lease. If none of a batch is sold, the order that returns
// the lease need not be the one that sent the commands.
func (b *books) addServed(op *history.Op, by *seller) {
	told := len(op.Trace) > 0
	by.told = by.told || told
	switch op.Outcome {
	case history.Sold, history.Refused:
		b.shared++
		if !told {
			by.unheard++
		}
	case history.Unknown:
		if by.lost { // its write was for the whole batch
			b.unexplained -= unnamed(op)
		}
	}
}

// addDoubtful counts an order whose sold_by cannot be true.
func (b *books) addDoubtful(op *history.Op, why string) {
	b.addLease(op, b.faulted[op.Order])
	switch op.Outcome {
	case history.Unknown:
		b.unanswered++
	case history.Sold, history.Refused:
	default:
		return // it need not have held the lock
	}
	if b.doubtful++; b.doubtful == 1 {
		b.doubt = why
	}
}

// doubts returns the first order whose sold_by cannot be true, and why, and the number of such orders.
func (b *books) doubts() string {
	if b.doubtful > 1 {
		return fmt.Sprintf("%s (one of %d)", b.doubt, b.doubtful)
	}
	return b.doubt
}
