package audit_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// A skewedClock is off, drifts, and was stepped.
type skewedClock struct {
	off   history.Instant
	drift float64
	steps []step
}

type step struct{ at, by history.Instant }

func (w skewedClock) read(t history.Instant) history.Instant {
	t, truth := t+w.off+history.Instant(w.drift*float64(t)), t
	for _, s := range w.steps {
		if truth >= s.at {
			t += s.by
		}
	}
	return t
}

// conditions are the ways in which clocks and machines misbehave in a cell.
type conditions struct {
	steps, ownSteps int // of the instances' clock, of the client's
	drift           float64
	stalls          bool
	oneHost         bool // the instances and the client read the same clock
	batches         bool // some leases serve several orders of an instance
	losses          bool // some answers are lost on the way back
}

// crowd forges the history of a correct lock and a correct stock: buyers arrive all at once or one by one, wait for
// each other, and are answered promptly or late.
func crowd(r *rand.Rand, w conditions) *history.Cell {
	instances, initial := 1+r.IntN(3), int64(r.IntN(60))
	us := history.Instant(time.Microsecond)
	delay := func() history.Instant {
		d := history.Instant(r.Int64N(int64(400*us))) + 20*us
		if w.stalls && r.IntN(12) == 0 {
			d += history.Instant(r.Int64N(int64(200 * ms)))
		}
		return d
	}
	const end = 600 * ms
	forward := 1 - 2*history.Instant(r.IntN(2))
	set := func(n int) skewedClock {
		k := skewedClock{off: history.Instant(r.Int64N(int64(time.Hour))) - history.Instant(30*time.Minute)}
		k.drift = w.drift * (2*r.Float64() - 1)
		for range n {
			by := 50*ms + history.Instant(r.Int64N(int64(10*us)<<r.IntN(30)))
			k.steps = append(k.steps, step{history.Instant(r.Int64N(int64(end))), forward * by})
		}
		return k
	}
	client, k := set(w.ownSteps), set(w.steps)
	client.off = 0 // its times count from the start of the cell
	if w.oneHost {
		k = client
	}
	c := &history.Cell{Product: "p", Initial: initial, Limit: time.Hour}
	for i := range instances {
		c.Instances = append(c.Instances, history.Instance{Name: fmt.Sprint("i", i), Clock: "m"})
	}
	// A reading is the lead of an instance's clock on the client's, which counts from the start of the cell.
	reading := func(at history.Instant) history.Offset {
		off := time.Duration(k.read(at) - client.read(0) - at)
		return history.Offset{Least: off - 200*time.Microsecond, Most: off + 200*time.Microsecond}
	}
	now, left, orders := ms, initial, 5+r.IntN(120)
	for i := range orders {
		in := r.IntN(instances)
		sent := now - delay()
		if waited := history.Instant(r.Int64N(int64(80 * ms))); r.IntN(3) > 0 {
			sent = max(0, sent-waited)
		}
		asked := max(now, sent+10*us)
		acquired := asked + delay()
		released := acquired + delay()*4
		removed := released + delay()
		done := removed + delay()
		now = removed + 1
		serve := func(order string, sent, done history.Instant) history.Op {
			op := history.Op{Order: order, Phase: history.Buy, Instance: c.Instances[in].Name, Quantity: 1,
				Due: client.read(sent), Sent: client.read(sent), Done: client.read(done), Latency: time.Duration(done - sent),
				Outcome: history.Refused, Status: 409}
			if left > 0 {
				op.Outcome, op.Status, op.Units, op.Left = history.Sold, 200, []int64{left}, left-1
				left--
			}
			return op
		}
		op := serve(fmt.Sprint("p-", i), sent, done)
		for j := range r.IntN(3) {
			if w.batches {
				other := serve(fmt.Sprintf("%s-%d", op.Order, j), released-delay(), released+delay())
				other.SoldBy = op.Order
				c.Ops = append(c.Ops, other)
			}
		}
		op.Lease = &history.Lease{Fence: int64(i + 1), AcquiredAt: k.read(acquired + us), ReleasedAt: k.read(released)}
		op.Trace = []history.Command{
			{Node: "n", Cmd: "set", Key: "lock", At: k.read(asked), End: k.read(acquired), Reply: "true"},
			{Node: "n", Cmd: "eval:release", Key: "lock", At: k.read(released + us), End: k.read(removed), Reply: "1"},
		}
		if w.losses && r.IntN(20) == 0 {
			lose(&op)
		}
		c.Ops = append(c.Ops, op)
	}
	c.Left = &left
	c.Instances[0].Offsets = []history.Offset{reading(0), reading(now + 300*ms)}
	if r.IntN(2) == 0 {
		c.Ops[len(c.Ops)-1].Phase = history.Probe
	}
	r.Shuffle(len(c.Ops), func(i, j int) { c.Ops[i], c.Ops[j] = c.Ops[j], c.Ops[i] })
	return c
}

var allConditions = map[string]conditions{
	"skew":                       {},
	"stalls":                     {stalls: true},
	"drift":                      {drift: 2e-4, stalls: true},
	"a step":                     {steps: 1},
	"a step and stalls":          {steps: 1, stalls: true},
	"steps":                      {steps: 3, stalls: true, drift: 1e-4},
	"one host":                   {oneHost: true, stalls: true},
	"a step of one host":         {oneHost: true, ownSteps: 1},
	"steps and stalls, one host": {oneHost: true, ownSteps: 2, stalls: true},
	"a step of the client's":     {ownSteps: 1, stalls: true},
	"batches":                    {batches: true, stalls: true},
	"losses":                     {losses: true, stalls: true},
	"lost answers of batches":    {batches: true, losses: true},
}

// A correct shop is never found broken, whatever its clocks and its machine do, and is found ok if they behave.
func TestCorrectShopIsNeverBroken(t *testing.T) {
	seeds := 1000
	if testing.Short() {
		seeds = 50
	}
	for name, w := range allConditions {
		t.Run(name, func(t *testing.T) {
			results := map[history.Verdict]map[history.Result]int{}
			for seed := range uint64(seeds) {
				c := crowd(rand.New(rand.NewPCG(seed, 7)), w)
				for _, f := range findings(c) {
					if f.Verdict == history.Liveness {
						continue // half of the crowds are not judged
					}
					require.NotEqual(t, history.Broken, f.Result, "seed %d, %s: %s", seed, f.Verdict, f.Because)
					if w.steps+w.ownSteps == 0 {
						require.NotEqual(t, history.Invalid, f.Result, "seed %d: %s", seed, f.Because)
					}
					if results[f.Verdict] == nil {
						results[f.Verdict] = map[history.Result]int{}
					}
					results[f.Verdict][f.Result]++
				}
			}
			t.Log(results)
			if w.steps+w.ownSteps == 0 && !w.losses {
				for _, v := range []history.Verdict{history.Exclusion, history.OwnRelease, history.Fence} {
					assert.Greater(t, results[v][history.OK], seeds*98/100, v)
				}
			}
		})
	}
}

// busy is a crowd at a correct shop whose machine stalls and which loses answers.
func busy(seed uint64) (*rand.Rand, *history.Cell) {
	r := rand.New(rand.NewPCG(seed, 8))
	return r, crowd(r, conditions{stalls: true, batches: true, losses: true})
}

func TestDuplicateIsAlwaysFound(t *testing.T) {
	for seed := range uint64(200) {
		r, c := busy(seed)
		var sold []*history.Op
		for i := range c.Ops {
			if c.Ops[i].Outcome == history.Sold {
				sold = append(sold, &c.Ops[i])
			}
		}
		if len(sold) < 2 {
			continue
		}
		from := r.IntN(len(sold) - 1)
		sold[from+1].Units = sold[from].Units
		f := audit.Stock(c)
		require.Equal(t, history.Broken, f.Result, "seed %d", seed)
		require.Equal(t, sold[from].Units[0], f.Evidence[0].Unit, "seed %d", seed)
	}
}

func TestSecondHolderIsAlwaysFound(t *testing.T) {
	for seed := range uint64(200) {
		r, c := busy(seed)
		var holders []*history.Op
		for i := range c.Ops {
			if c.Ops[i].Lease != nil {
				holders = append(holders, &c.Ops[i])
			}
		}
		slices.SortFunc(holders, func(a, b *history.Op) int { return cmp.Compare(a.Lease.AcquiredAt, b.Lease.AcquiredAt) })
		first := r.IntN(len(holders) - 1)
		holders[first].Lease.ReleasedAt = holders[first+1].Lease.AcquiredAt + 1
		holders[first].Done = history.Never // the client's clock must not contradict it
		require.Equal(t, history.Broken, history.FindingOf(findings(c), history.Exclusion).Result, "seed %d", seed)
	}
}
