package audit

import (
	"strings"

	"stockapi/loadtest/history"
)

// books is what one look at all ops of a cell leaves: the clocks, counts, and of each sale and each refusal a few
// numbers. What else is needed of an op is read again, by its number.
type books struct {
	*history.Cell
	clocks *clocks

	receipts []receipt
	sends    []send
	refusals []refusal
	probes   []int32

	sales, refused, resolved, unknown, notSent int
	// twoHundreds is how many units the answers of status 200 promised, named or not.
	twoHundreds int64
	// open is how many units the orders of unknown outcome may have taken beyond those that they name, and unexplained
	// how many of them no write of the stock can have taken whose reply was lost.
	open, unexplained int64
	// unanswered counts the orders whose lease, if they had one, nobody knows.
	unanswered int
	// locks counts the leases, fenced those with a token; due the orders that must have had one, and seen those of
	// which it is known from its beginning to its end.
	locks, fenced, due, seen int
	// silent counts those of the orders that are due that told no command.
	silent int
	// removed are the keys that somebody removed, and made and removals how many commands are to be looked at.
	removed        map[uint64]struct{}
	made, removals int
	// Where there are several clocks, before is, for each op, how late it seems to have been by its clock when it got
	// the lock, and after how far its clock was ahead at most when it gave it back.
	before, after []history.Instant
	// error is by how much the client's own clock may be wrong, as far as it can be told.
	error history.Instant
}

// crowd reports whether nothing but buyers came upon the cell: a fault may be that nobody gets the lock.
func (b *books) crowd() bool { return len(b.Faults) == 0 && b.CutShort == "" }

// receipt is one unit that an answer names as sold.
type receipt struct {
	unit int64
	done history.Instant
	op   int32
}

// send is an order that may have taken units since then.
type send struct {
	sent     history.Instant
	quantity int64
}

// refusal is an order that was told that the stock does not suffice.
type refusal struct {
	done     history.Instant
	quantity int64
	op       int32
}

func readBooks(c *history.Cell) *books {
	b := &books{Cell: c, clocks: newClocks(c), removed: map[uint64]struct{}{},
		receipts: make([]receipt, 0, min(int64(c.Len()), max(c.Initial, 0)+100)), sends: make([]send, 0, c.Len())}
	struck := map[string]bool{}
	for _, f := range c.Faults {
		if f.Order != "" {
			struck[f.Order] = true
		}
	}
	for i, op := range c.All() {
		b.add(int32(i), op, struck[op.Order])
	}
	return b
}

func (b *books) add(i int32, op *history.Op, struck bool) {
	b.clocks.narrow(op)
	b.count(op)
	b.addSale(i, op)
	if op.Phase == history.Probe {
		b.probes = append(b.probes, i)
	}
	if op.Outcome == history.Refused {
		b.refused++
		// What a fault befell is no witness: the shelf may have been emptied for it.
		if op.Quantity > 0 && !struck {
			b.refusals = append(b.refusals, refusal{op.Done, op.Quantity, i})
		}
	}
	b.addLease(op, struck)
	for j := range op.Trace {
		b.addCommand(&op.Trace[j])
	}
	if op.Latency > 0 && op.Done.Known() {
		off := op.Done - op.Due - history.Instant(op.Latency)
		b.error = max(b.error, off, -off)
	}
}

func (b *books) count(op *history.Op) {
	switch op.Outcome {
	case history.NotSent:
		b.notSent++
	case history.Unknown:
		b.unknown++
		if op.Lease == nil {
			b.unanswered++
		}
	}
	if op.Resolved && op.Outcome != history.Unknown {
		b.resolved++
	}
}

func (b *books) addSale(i int32, op *history.Op) {
	for _, u := range op.Units {
		b.receipts = append(b.receipts, receipt{u, op.Done, i})
	}
	if op.Outcome == history.Sold && op.Quantity > 0 {
		b.sales++
	}
	named := int64(len(op.Units))
	if op.Status == 200 || op.Outcome == history.Sold {
		if named > 0 {
			b.twoHundreds += named
		} else {
			b.twoHundreds += op.Quantity
		}
	}
	if op.Outcome == history.Unknown {
		more := max(0, op.Quantity-named)
		b.open += more
		if !lostWrite(b.Cell, op) {
			b.unexplained += more
		}
	}
	if op.Outcome == history.Sold || op.Outcome == history.Unknown || op.Status == 200 || named > 0 {
		b.sends = append(b.sends, send{op.Sent, max(op.Quantity, named)})
	}
}

// addLease counts who must have had the lock: who sold, or read the stock and refused. Of an order that was stopped,
// killed or never answered nobody expects to be told the end.
func (b *books) addLease(op *history.Op, struck bool) {
	if op.Lease != nil {
		b.locks++
		if op.Lease.Fence != 0 {
			b.fenced++
		}
	}
	if op.Outcome != history.Sold && op.Outcome != history.Refused {
		return
	}
	ended := op.Lease != nil && (op.Lease.ReleasedAt.Known() || struck)
	if struck && !ended {
		return
	}
	b.due++
	if len(op.Trace) == 0 {
		b.silent++
	}
	if ended {
		b.seen++
	}
}

func (b *books) addCommand(cmd *history.Command) {
	switch {
	case cmd.Releases() && cmd.Succeeded():
		b.removals++
		b.removed[keyOf(cmd)] = struct{}{}
	case cmd.Acquires() && !writesStock(b.Cell, cmd):
		b.made++
	}
}

// lostWrite reports whether an order sent a write of the stock and never saw the reply.
func lostWrite(c *history.Cell, op *history.Op) bool {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; cmd.Err != "" && writesStock(c, cmd) {
			return true
		}
	}
	return false
}

// writesStock reports whether a command writes the stock of the cell's product.
func writesStock(c *history.Cell, cmd *history.Command) bool {
	return cmd.WritesStock() && strings.Contains(cmd.Key, c.Product)
}
