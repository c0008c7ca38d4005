package audit

import (
	"math"

	"stockapi/loadtest/history"
)

// clocks bounds, from a history alone, how far each instance's clock is ahead of the client's. An order was sent
// before its instance acquired and answered after its instance released, so with the offset defined as
// "instance minus client":
//
//	acquired_at - offset >= sent        =>  offset <= acquired_at - sent
//	released_at - offset <= answered    =>  offset >= released_at - answered
//
// Every order with a lease narrows the bounds, and the best one leaves an uncertainty of about the shortest
// round trip without waiting.
type clocks struct {
	// of maps an instance to the id of its clock; instances that share an id share an offset.
	of     map[string]string
	bounds map[string]bound
}

// bound is a closed range of nanoseconds.
type bound struct{ lo, hi history.Instant }

func boundClocks(c *history.Cell) *clocks {
	k := &clocks{of: map[string]string{}, bounds: map[string]bound{}}
	for _, in := range c.Instances {
		k.of[in.Name] = in.Clock
	}
	for i := range c.Ops {
		if c.Ops[i].Lease != nil {
			k.narrow(&c.Ops[i])
		}
	}
	return k
}

// clock returns the clock id of an instance. One that names none, or that nobody introduced, has a clock of its own.
func (k *clocks) clock(instance string) string {
	if id := k.of[instance]; id != "" {
		return id
	}
	return "of " + instance
}

func (k *clocks) narrow(op *history.Op) {
	id := k.clock(op.Instance)
	b := k.bound(id)
	b.hi = min(b.hi, op.Lease.AcquiredAt-op.Sent)
	if op.Done.Known() {
		b.lo = max(b.lo, until(op.Lease)-op.Done)
	}
	k.bounds[id] = b
}

// bound returns what is known of a clock's offset; of one that granted no lease, that is nothing.
func (k *clocks) bound(id string) bound {
	if b, known := k.bounds[id]; known {
		return b
	}
	return bound{math.MinInt64 / 8, math.MaxInt64 / 8}
}

// stepped returns the clock that no constant offset explains: it was set while the cell ran.
func (k *clocks) stepped() (id string, yes bool) {
	for id, b := range k.bounds {
		if b.lo > b.hi {
			return id, true
		}
	}
	return "", false
}

// shift bounds what must be added to an instant of clock from to make it one of clock to.
func (k *clocks) shift(from, to string) bound {
	if from == to {
		return bound{}
	}
	f, t := k.bound(from), k.bound(to)
	return bound{t.lo - f.hi, t.hi - f.lo}
}

// until is the last moment of which a lease is known to have been believed in.
func until(l *history.Lease) history.Instant {
	if l.ReleasedAt.Known() {
		return l.ReleasedAt
	}
	return l.AcquiredAt
}
