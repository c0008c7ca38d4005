package joint

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/latch"
	"stockapi/loadtest/load"
)

// A Share is what one party measured of a cell, with how far Redis' clock was ahead of the party's meanwhile.
type Share struct {
	Cell  *history.Cell
	Clock latch.Offset
}

// Merge merges the shares of a cell, one per party and the first party's first, into one cell, by the first party's
// clock. Redis' clock connects the parties' clocks, with a small error: by that error an order may have been sent
// earlier and answered later than was recorded, and so the merged cell has it. Times of instances are by their own
// clocks, which an audit bounds from the orders; they are only counted from the same start. What was done once comes
// from the first party's share.
//
// It fails if the shares are not of one cell. It does not change them.
func Merge(shares []Share) (*history.Cell, error) {
	first := shares[0].Cell
	sum := *first
	sum.Instances, sum.Ops, sum.Parties = nil, nil, nil
	names := naming(shares)
	var begun, ended history.Instant
	for i, s := range shares {
		if s.Cell.Product != first.Product || s.Cell.Title() != first.Title() || s.Cell.Initial != first.Initial {
			return nil, fmt.Errorf("party 1 measured %s with %s, and party %d %s with %s", first.Title(), first.Product, i+1,
				s.Cell.Title(), s.Cell.Product)
		}
		t := shiftOf(s, shares[0])
		for _, op := range s.Cell.All() {
			sum.Ops = append(sum.Ops, t.op(*op, names[i]))
		}
		for _, in := range s.Cell.Instances {
			in.Name, in.Offsets = names[i][in.Name], t.offsets(in.Offsets)
			if !slices.ContainsFunc(sum.Instances, func(other history.Instance) bool { return sameInstance(in, other) }) {
				sum.Instances = append(sum.Instances, in)
			}
		}
		begun, ended = min(begun, t.ours), max(ended, t.ours+history.Instant(s.Cell.Elapsed))
		sum.Parties = append(sum.Parties, history.Share{
			Party: nameOf(i), Buyers: s.Cell.Tally().Buyers, Elapsed: s.Cell.Elapsed,
			Began: t.ours, Within: time.Duration(t.within),
		})
	}
	sum.Elapsed = time.Duration(ended - begun)
	sum.Latency = load.LatencyOf(opsOf(shares)...)
	sum.Commands, sum.Client = commands(shares), client(shares)
	return &sum, nil
}

func opsOf(shares []Share) [][]history.Op {
	var all [][]history.Op
	for _, s := range shares {
		all = append(all, s.Cell.Ops)
	}
	return all
}

// A shift turns instants of one party's share into instants of the merged cell.
type shift struct {
	// ours is added to times by the party's clock, and theirs to times by its instances' clocks.
	ours, theirs history.Instant
	// within is the error bound of ours.
	within history.Instant
}

func shiftOf(s, first Share) shift {
	if s.Cell == first.Cell {
		return shift{} // its own clock is exact
	}
	// By the wall clocks: every instant counts from its cell's start by the wall clock of some machine.
	later := history.At(first.Cell.Start, s.Cell.Start)
	return shift{
		ours:   later + history.Instant(s.Clock.Ahead-first.Clock.Ahead),
		theirs: later,
		within: history.Instant(s.Clock.Within + first.Clock.Within),
	}
}

// op returns an op of the merged cell, with the instance names used there.
func (t shift) op(op history.Op, names map[string]string) history.Op {
	if name := names[op.Instance]; name != "" {
		op.Instance = name
	}
	op.Due, op.Sent, op.Done = add(op.Due, t.ours-t.within), add(op.Sent, t.ours-t.within), add(op.Done, t.ours+t.within)
	if op.Lease != nil {
		l := *op.Lease
		l.AcquiredAt, l.ReleasedAt = add(l.AcquiredAt, t.theirs), add(l.ReleasedAt, t.theirs)
		op.Lease = &l
	}
	op.Trace = slices.Clone(op.Trace)
	for i := range op.Trace {
		cmd := &op.Trace[i]
		cmd.At, cmd.End = add(cmd.At, t.theirs), add(cmd.End, t.theirs)
	}
	return op
}

// offsets returns how far an instance's clock was ahead of the merged cell's.
func (t shift) offsets(of []history.Offset) []history.Offset {
	var all []history.Offset
	for _, o := range of {
		ahead, within := time.Duration(t.ours-t.theirs), time.Duration(t.within)
		all = append(all, history.Offset{Least: o.Least - ahead - within, Most: o.Most - ahead + within})
	}
	return all
}

// client merges the parties' own figures: amounts are added up, and of the delays the worst is kept. It is nil if a
// party has none.
func client(shares []Share) *history.Client {
	var buyers []history.Op
	for _, ops := range opsOf(shares) {
		for i := range ops {
			if ops[i].Phase == history.Buy {
				buyers = append(buyers, ops[i])
			}
		}
	}
	sum := load.ClientOf(buyers)
	sum.Asked, sum.Rate = 0, 0
	for _, s := range shares {
		c := s.Cell.Client
		if c == nil {
			return nil
		}
		sum.Asked, sum.Rate, sum.AskedRate = sum.Asked+c.Asked, sum.Rate+c.Rate, sum.AskedRate+c.AskedRate
		sum.Loop, sum.Start = c.Loop, max(sum.Start, c.Start)
		sum.Away, sum.Longest = max(sum.Away, c.Away), max(sum.Longest, c.Longest)
	}
	return sum
}

// add moves an instant. Never stays Never.
func add(i, by history.Instant) history.Instant {
	if !i.Known() {
		return i
	}
	return i + by
}

// naming returns, for each party, the names of its instances in the merged cell. If two parties use one name for
// different instances, the party's name is put before it: an audit tells clocks apart by these names.
func naming(shares []Share) []map[string]string {
	of := map[string]history.Instance{}
	shared := map[string]bool{} // names of different instances
	for _, s := range shares {
		for _, in := range s.Cell.Instances {
			other, taken := of[in.Name]
			shared[in.Name] = shared[in.Name] || taken && !sameInstance(in, other)
			of[in.Name] = in
		}
	}
	names := make([]map[string]string, len(shares))
	for i, s := range shares {
		names[i] = map[string]string{}
		for _, in := range s.Cell.Instances {
			names[i][in.Name] = in.Name
			if shared[in.Name] {
				names[i][in.Name] = nameOf(i) + "." + in.Name
			}
		}
	}
	return names
}

// commands adds up what the parties' instances sent to Redis. Parties that share all their instances have counted the
// same commands; if they share only some, the sum is not known.
func commands(shares []Share) *int64 {
	var sum int64
	var seen []history.Instance
	for i, s := range shares {
		again := 0
		for _, in := range s.Cell.Instances {
			if slices.ContainsFunc(seen, func(other history.Instance) bool { return sameInstance(in, other) }) {
				again++
			}
		}
		switch {
		case i > 0 && again == len(s.Cell.Instances) && again == len(shares[0].Cell.Instances):
			continue
		case again > 0 || s.Cell.Commands == nil:
			return nil
		}
		seen = append(seen, s.Cell.Instances...)
		sum += *s.Cell.Commands
	}
	return &sum
}
