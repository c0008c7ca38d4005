package join

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/attack"
	"stockapi/loadtest/history"
	"stockapi/loadtest/latch"
)

// Share is what one party measured of a cell, and how far Redis' clock was ahead of the party's while it did.
type Share struct {
	Cell  *history.Cell
	Clock latch.Offset
}

// Merge puts the shares of a cell, one per party and the first party's first, together to one cell, by the first party's
// clock. Redis' clock is the bridge between two parties' clocks, and is known to each of them give or take a little: by
// so much as that, an order may have been sent earlier and answered later than it was written down, and so the merged
// cell has it. What instances wrote down is by their own clocks, which an audit bounds from the orders; it is only counted
// from the same start. What was done once, the first party's share holds.
//
// It fails if the shares are not of one cell. They are not changed.
func Merge(shares []Share) (*history.Cell, error) {
	first := shares[0].Cell
	sum := *first
	sum.Instances, sum.Ops, sum.Parties = nil, nil, nil
	names := naming(shares)
	var begun, ended history.Instant
	for i, s := range shares {
		if s.Cell.Product != first.Product || s.Cell.Title() != first.Title() || s.Cell.Initial != first.Initial {
			return nil, fmt.Errorf("party 1 measured %s with %s, and party %d %s with %s", first.Title(), first.Product, i+1, s.Cell.Title(), s.Cell.Product)
		}
		t := shiftOf(s, shares[0])
		for _, op := range s.Cell.All() {
			sum.Ops = append(sum.Ops, t.op(*op, names[i]))
		}
		for _, in := range s.Cell.Instances {
			in.Name, in.Offsets = names[i][in.Name], t.offsets(in.Offsets)
			if !slices.ContainsFunc(sum.Instances, func(other history.Instance) bool { return same(in, other) }) {
				sum.Instances = append(sum.Instances, in)
			}
		}
		begun, ended = min(begun, t.ours), max(ended, t.ours+history.Instant(s.Cell.Elapsed))
		sum.Parties = append(sum.Parties, history.Share{
			Party: nameOf(i), Buyers: s.Cell.Tally().Buyers, Elapsed: s.Cell.Elapsed, Began: t.ours, Within: time.Duration(t.within),
		})
	}
	sum.Elapsed = time.Duration(ended - begun)
	sum.Latency = attack.LatencyOf(opsOf(shares)...)
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

// shift is what makes instants of one party's share instants of the merged cell.
type shift struct {
	// ours is added to what the party's clock told, and theirs to what its instances' clocks told.
	ours, theirs history.Instant
	// within is how well ours is known.
	within history.Instant
}

func shiftOf(s, first Share) shift {
	if s.Cell == first.Cell {
		return shift{} // its own clock is no guess
	}
	// By the wall clocks: an instant counts from its cell's start by them, on whatever machine it was read.
	later := history.At(first.Cell.Start, s.Cell.Start)
	return shift{
		ours:   later + history.Instant(s.Clock.Ahead-first.Clock.Ahead),
		theirs: later,
		within: history.Instant(s.Clock.Within + first.Clock.Within),
	}
}

// op is an op in the merged cell, where instances go by those names.
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

// offsets are by how much an instance's clock was ahead of that of the merged cell.
func (t shift) offsets(of []history.Offset) []history.Offset {
	var all []history.Offset
	for _, o := range of {
		ahead, within := time.Duration(t.ours-t.theirs), time.Duration(t.within)
		all = append(all, history.Offset{Least: o.Least - ahead - within, Most: o.Most - ahead + within})
	}
	return all
}

// client is what the parties saw of themselves together: what each did is added up, and the worst of what held one up is
// told. It is nil if one of them did not look.
func client(shares []Share) *history.Client {
	var buyers []history.Op
	for _, ops := range opsOf(shares) {
		for i := range ops {
			if ops[i].Phase == history.Buy {
				buyers = append(buyers, ops[i])
			}
		}
	}
	sum := attack.ClientOf(buyers)
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

// add moves an instant. What never happened, happens at no other time either.
func add(i, by history.Instant) history.Instant {
	if !i.Known() {
		return i
	}
	return i + by
}

// naming returns, for each party, what its instances go by in the merged cell. Those of two parties that have a name in
// common, and are not the same, get their party's before it: by names an audit knows whose clock a time is of.
func naming(shares []Share) []map[string]string {
	of := map[string]history.Instance{}
	shared := map[string]bool{} // by several that are not the same
	for _, s := range shares {
		for _, in := range s.Cell.Instances {
			other, taken := of[in.Name]
			shared[in.Name] = shared[in.Name] || taken && !same(in, other)
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

// commands adds up what the parties' instances sent to Redis. Parties that share their instances have all counted the
// same; if they share some, nobody knows.
func commands(shares []Share) *int64 {
	var sum int64
	var seen []history.Instance
	for i, s := range shares {
		again := 0
		for _, in := range s.Cell.Instances {
			if slices.ContainsFunc(seen, func(other history.Instance) bool { return same(in, other) }) {
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
