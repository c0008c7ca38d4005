package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// books are kept once for all verdicts. Receipts, sends, refusals and leases have the index of their op.
type books struct {
	*history.Cell
	// ops are the cell's, without the leases and commands of answers that belong to another order: they prove nothing
	// about the order that received them.
	ops    []*history.Op
	clocks *clocks
	// oneClock reports whether all instances are known to read one clock.
	oneClock bool

	receipts []receipt
	sends    []send
	refusals []refusal
	// probes are the fresh requests in the order in which they were sent.
	probes []*history.Op
	// leases are in order of acquisition. alone means that no two of them can be compared.
	leases []lease
	alone  bool

	sales, refused, resolved, unknown, notSent int
	// promised counts the units that are sold or named by answers, with serial numbers or without.
	promised int64
	// open counts the units that orders of unknown outcome may have taken besides those that they name, and unexplained
	// those of them that no write of the stock with a lost reply explains.
	open, unexplained int64
	// missing counts the units that are gone beyond those that the ops can have taken, if other orders may have.
	missing int64
	// strange describes the first answer that leaves the outcome unknown, as the end of a sentence.
	strange string
	// unanswered counts the orders without an answer, whose lease, if any, is unknown. astray counts those that received
	// another order's answer.
	unanswered, astray int
	// locks counts the leases, and fenced those with a token. due counts the orders that must have held the lock, and
	// seen those whose whole lease is known.
	locks, fenced, due, seen int
	// shared counts the orders that were served under another order's lease, and need none of their own. doubtful counts
	// those that claim it although it is impossible; doubt is the reason for the first of them.
	shared, doubtful int
	doubt            string
	// cut counts the orders with more commands than are kept.
	cut int
	// surplus are the orders that got more units than they ordered.
	surplus violations
	// silent counts the due and the shared orders without a trace whose sellers, if any, returned none either.
	silent int
	// sellers are the orders that others name as theirs. faulted are those into which a fault was injected.
	sellers map[string]*seller
	faulted map[string]bool
	// removals counts the commands that removed a lock, and judged those of them that were compared with the acquires.
	// lostReleases counts the releases without a reply: they may have removed a lock, or may still do so.
	removals, judged, lostReleases int
	// points counts the refusals' leases of zero length.
	points int
	// error is the largest error of the client's own clock that the ops show.
	error history.Instant
}

// noFaults reports whether no fault was injected: under a fault it may be right that no order acquires the lock.
func (b *books) noFaults() bool { return len(b.Faults) == 0 && b.Aborted == "" }

// A receipt is one unit that an answer names as sold, with the moment that [books.soldAt] returns.
type receipt struct {
	unit int64
	at   history.Instant
	op   int
}

// A send is an order that may have taken units after it was sent. Only a sold one has a done: by then it had taken
// them.
type send struct {
	sent, done history.Instant
	quantity   int64
	timing
}

// A refusal is an order that was refused for lack of stock.
type refusal struct {
	sent, done history.Instant
	quantity   int64
	timing
	// left is the least that can have been left when it was refused, and gone the least that can have been gone.
	left, gone int64
}

// A timing is the span of the lease under which an order read and wrote the stock, if known.
type timing struct {
	acquired, until history.Instant
	op              int
	known           bool
}

// timingOf returns the timing of an order that returned its lease. One that lost the lease may have gone on without it.
func timingOf(i int, op *history.Op) timing {
	l := op.Lease
	if l == nil || !l.AcquiredAt.Known() || !l.ReleasedAt.Known() || l.Lost {
		return timing{op: i}
	}
	return timing{l.AcquiredAt, l.ReleasedAt, i, true}
}

func readBooks(c *history.Cell) *books {
	b := &books{Cell: c, clocks: newClocks(c), oneClock: c.OneClock(),
		probes: freshRequests(c), sellers: map[string]*seller{}, faulted: map[string]bool{}}
	for _, f := range c.Faults {
		if f.Order != "" {
			b.faulted[f.Order] = true
		}
	}
	for i := range c.Ops {
		op := own(&c.Ops[i])
		b.ops = append(b.ops, op)
		b.add(i, op, b.faulted[op.Order])
	}
	b.clocks.settle()
	if b.clocks.digit() > 0 {
		b.seen += b.points
	}
	if b.astray > 0 {
		b.dropCopies()
	}
	if len(b.sellers) > 0 {
		b.addShared()
	}
	b.addMissing()
	b.readLeases()
	return b
}

// own returns an op without the parts of its answer that belong to another order.
func own(op *history.Op) *history.Op {
	if op.For == "" {
		return op
	}
	mine := *op
	mine.Lease, mine.SoldBy, mine.Trace = nil, "", nil
	return &mine
}

// dropCopies drops receipts that arrived more than once, such as in one answer that was delivered to two orders:
// whether the other order was sold anything is unknown.
func (b *books) dropCopies() {
	type sale struct {
		unit  int64
		owner string
	}
	sold := map[sale]bool{}
	ownerOf := func(r receipt) (owner string, astray bool) {
		op := b.ops[r.op]
		return cmp.Or(op.For, op.Order), op.For != ""
	}
	for _, r := range b.receipts {
		if owner, astray := ownerOf(r); !astray {
			sold[sale{r.unit, owner}] = true
		}
	}
	b.receipts = slices.DeleteFunc(b.receipts, func(r receipt) bool {
		owner, astray := ownerOf(r)
		if one := (sale{r.unit, owner}); !astray || !sold[one] {
			sold[one] = true
			return false
		}
		b.promised--
		if b.ops[r.op].Outcome == history.Unknown {
			b.open, b.unexplained = b.open+1, b.unexplained+1
		}
		return true
	})
}

// addMissing counts the units that orders outside the ops took. They may have taken them before any refusal.
func (b *books) addMissing() {
	if !b.Incomplete || b.Left == nil {
		return
	}
	if b.missing = max(0, b.Initial-*b.Left-int64(len(b.receipts))-b.open); b.missing > 0 {
		b.sends = append(b.sends, send{sent: -far, done: history.Never, quantity: b.missing})
	}
}

func (b *books) add(i int, op *history.Op, faulted bool) {
	b.clocks.narrow(op)
	b.count(op)
	b.addSale(i, op)
	if op.For != "" {
		b.astray++
	}
	if op.Outcome == history.Refused {
		b.refused++
		// A faulted order proves nothing: the stock may have been emptied for it.
		if op.Quantity > 0 && !faulted {
			b.refusals = append(b.refusals, refusal{
				sent: op.Sent, done: op.Done, quantity: op.Quantity, timing: timingOf(i, op),
			})
		}
	}
	if sharesLease(op) {
		b.sellers[op.SoldBy] = nil // looked up once all are known
	} else {
		b.addLease(op, faulted)
	}
	for j := range op.Trace {
		b.addCommand(&op.Trace[j])
	}
	if op.Latency > 0 && op.Done.Known() && !op.Resolved { // a resolved outcome was looked up later
		off := op.Done - op.Due - history.Instant(op.Latency)
		b.error = max(b.error, off, -off)
	}
}

// moments returns the first and the last instant that an instance recorded for an op, and whether any of its times run
// backwards.
func moments(op *history.Op) (first, last history.Instant, backwards bool) {
	first, last = far, -far
	see := func(from, to history.Instant) {
		if !from.Known() || !to.Known() {
			return
		}
		first, last = min(first, from), max(last, to)
		backwards = backwards || to < from
	}
	if op.Lease != nil {
		see(op.Lease.AcquiredAt, op.Lease.Until())
	}
	for i := range op.Trace {
		if cmd := &op.Trace[i]; !cmd.Woken() {
			see(cmd.At, cmd.End)
		}
	}
	return first, last, backwards
}

func (b *books) count(op *history.Op) {
	switch op.Outcome {
	case history.NotSent:
		b.notSent++
	case history.Unknown:
		b.unknown++
		if b.strange == "" && op.Status != 0 {
			b.strange = fmt.Sprintf("; the first answer without an outcome, to %s: %s", order(b.Cell, op),
				cmp.Or(op.Detail, fmt.Sprintf("status %d", op.Status)))
		}
		if op.Lease == nil && !sharesLease(op) && !b.seesLocks() {
			b.unanswered++
		}
	}
	if op.Resolved && op.Outcome != history.Unknown {
		b.resolved++
	}
}

// seesLocks reports whether each order's commands on the lock are known even without an answer, as in a trial whose
// stock is in no Redis.
func (b *books) seesLocks() bool { return b.Facts != nil && b.Facts.Elsewhere }

func (b *books) addSale(i int, op *history.Op) {
	at := b.soldAt(op)
	for _, u := range op.Units {
		b.receipts = append(b.receipts, receipt{u, at, i})
	}
	if op.Outcome == history.Sold && op.Quantity > 0 {
		b.sales++
	}
	named := int64(len(op.Units))
	if named > max(op.Quantity, 0) {
		b.surplus.add(violation{at: op.Done, a: i})
	}
	switch {
	case named > 0:
		b.promised += named
	case op.Outcome == history.Sold:
		b.promised += op.Quantity
	}
	if op.Outcome == history.Unknown {
		b.open += unnamed(op)
		if !lostWrite(b.Cell, op) {
			b.unexplained += unnamed(op)
		}
	}
	if op.Outcome == history.Sold || op.Outcome == history.Unknown || named > 0 {
		b.sends = append(b.sends, sendOf(i, op))
	}
}

func sendOf(i int, op *history.Op) send {
	one := send{op.Sent, history.Never, max(op.Quantity, int64(len(op.Units))), timing{op: i}}
	if op.Outcome == history.Sold {
		one.done, one.timing = op.Done, timingOf(i, op)
	}
	return one
}

// unnamed returns how many units an order may have taken besides those that it names.
func unnamed(op *history.Op) int64 { return max(0, op.Quantity-int64(len(op.Units))) }

// addLease counts the orders that must have held the lock: those that sold, and those that read the stock and refused.
// An order that was stopped or killed need not report its release.
func (b *books) addLease(op *history.Op, faulted bool) {
	if op.Lease != nil {
		b.locks++
		if op.Lease.Fence != 0 {
			b.fenced++
		}
	}
	if op.Outcome != history.Sold && op.Outcome != history.Refused {
		return
	}
	ended := op.Lease != nil && (op.Lease.ReleasedAt.Known() || faulted)
	if ended && !faulted && op.Lease.ReleasedAt <= op.Lease.AcquiredAt {
		// A lease of zero length overlaps nothing. A refusal may take less than the clock's last digit.
		ended = false
		if op.Outcome == history.Refused {
			b.points++
		}
	}
	if faulted && !ended {
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
	case cmd.Cut():
		b.cut++
	case cmd.Releases() && cmd.Lost():
		b.lostReleases++
	case cmd.Releases() && cmd.Succeeded():
		b.removals++
	}
}

// notKept returns how many orders sent more commands than are kept, "" if none did.
func (b *books) notKept() string {
	if b.cut == 0 {
		return ""
	}
	return fmt.Sprintf("%d orders sent more commands than are kept", b.cut)
}

// lostWrite reports whether an order sent a write of the stock that may have taken effect without its knowledge: the
// reply was lost, or the effect was observed.
func lostWrite(c *history.Cell, op *history.Op) bool {
	for i := range op.Trace {
		cmd := &op.Trace[i]
		carriedOut := cmd.Source == history.Looked && cmd.Effect == history.EffectWrote
		if (cmd.Lost() || carriedOut) && writesStock(c, cmd) {
			return true
		}
	}
	return false
}

// wroteStock reports whether an order sent a write of the stock.
func wroteStock(c *history.Cell, op *history.Op) bool {
	for i := range op.Trace {
		if writesStock(c, &op.Trace[i]) {
			return true
		}
	}
	return false
}

// writesStock reports whether a command writes the stock of the cell's product. An observed effect is on that stock,
// whatever its key is called.
func writesStock(c *history.Cell, cmd *history.Command) bool {
	return cmd.WritesStock() && (cmd.Source == history.Looked || strings.Contains(cmd.Key, c.Product))
}
