package joint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/joint"
	"stockapi/loadtest/latch"
	"stockapi/loadtest/load"
)

const ms = history.Instant(time.Millisecond)

// truth is the time at which all parties began, by a clock that is right.
var truth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// machine is one on which a party runs with an instance of its own. Its clock and the instance's are ahead of the right
// one by so much; Redis' is right.
type machine struct{ party, instance time.Duration }

// forge makes the share of a party with n sales, one after the other: order i of all parties' held the lock from 10i+2
// to 10i+7 ms by the right clock, and sold unit 100-i. The party's are those from number first on, each step-th.
func forge(number int, m machine, first, step, n int) joint.Share {
	c := &history.Cell{
		Scenario: "two-instances", Rung: "v4", Product: "p", Initial: 100, Limit: time.Minute,
		Start: truth.Add(m.party), Elapsed: 500 * time.Millisecond,
		Instances: []history.Instance{{Name: "a", Clock: fmt.Sprintf("clock %d", number)}},
	}
	for i := first; i < first+n*step; i += step {
		c.Ops = append(c.Ops, forgeSale(fmt.Sprintf("p-p%d-%d", number, i), i, m))
	}
	return joint.Share{Cell: c, Clock: latch.Offset{Ahead: -m.party, Within: 200 * time.Microsecond}}
}

func forgeSale(order string, i int, m machine) history.Op {
	t := history.Instant(10*i) * ms
	// An instant of an instance is by its own clock, and counts from the party's start by the party's.
	apart := history.Instant(m.instance - m.party)
	return history.Op{
		Order: order, Phase: history.Buy, Instance: "a", Outcome: history.Sold, Status: 200,
		Due: t, Sent: t, Done: t + 9*ms, Latency: 9 * time.Millisecond,
		Quantity: 1, Units: []int64{int64(100 - i)}, Left: int64(99 - i),
		Lease: &history.Lease{Token: order, AcquiredAt: t + 2*ms + apart, ReleasedAt: t + 7*ms + apart},
		Trace: []history.Command{
			{Node: "n", Cmd: "set", Key: "lock", At: t + ms + apart, End: t + 2*ms + apart, Reply: "true"},
			{Node: "n", Cmd: "eval:release", Key: "lock", At: t + 7*ms + apart, End: t + 8*ms + apart, Reply: "1"},
		},
	}
}

// finish adds what the first party does when all are done: it asks once more, and counts what is left.
func finish(s joint.Share, left int64) {
	s.Cell.Left = &left
	s.Cell.Ops = append(s.Cell.Ops, history.Op{
		Order: "p-probe-1", Phase: history.Probe, Instance: "a", Outcome: history.Refused, Status: 409, Quantity: left + 1,
		Sent: 900 * ms, Done: 909 * ms,
	})
	probe, before := &s.Cell.Ops[len(s.Cell.Ops)-1], s.Cell.Ops[0]
	since := 900*ms - before.Sent
	probe.Lease = &history.Lease{
		Token: "probe", AcquiredAt: before.Lease.AcquiredAt + since, ReleasedAt: before.Lease.ReleasedAt + since,
	}
	for _, cmd := range before.Trace {
		cmd.At, cmd.End = cmd.At+since, cmd.End+since
		probe.Trace = append(probe.Trace, cmd)
	}
}

// apart are two machines and two instances, of which no two clocks agree, by hours.
func apart() (machine, machine) {
	return machine{party: 2 * time.Hour, instance: -time.Hour}, machine{party: -5 * time.Hour, instance: 7 * time.Hour}
}

// merged merges, judges, and expects one result, and ok or nothing of all other verdicts.
func merged(t *testing.T, v history.Verdict, want history.Result, shares ...joint.Share) (
	*history.Cell, history.Finding,
) {
	t.Helper()
	c, err := joint.Merge(shares)
	require.NoError(t, err)
	c.Findings, c.Coverage = audit.Judge(c)
	for _, f := range c.Findings {
		if f.Verdict == v {
			assert.Equal(t, want, f.Result, "%s: %s", f.Verdict, f.Because)
		} else if want == history.OK {
			assert.Contains(t, []history.Result{history.OK, history.NotApplicable}, f.Result, "%s: %s", f.Verdict, f.Because)
		}
	}
	return c, c.Finding(v)
}

func TestACleanRunOfTwoIsCleanWhateverTheirClocksSay(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
	finish(p1, 60)
	c, _ := merged(t, history.Stock, history.OK, p1, p2)
	assert.Equal(t, history.Tally{Buyers: 40, Sold: 40}, c.Tally())
	assert.Equal(t, p1.Cell.Start, c.Start, "by the first one's clock")
	assert.Equal(t, []history.Instance{{Name: "p1.a", Clock: "clock 1"}, {Name: "p2.a", Clock: "clock 2"}}, c.Instances,
		"two instances of one name")
	for _, op := range c.Ops[21:] {
		assert.Equal(t, "p2.a", op.Instance)
		assert.InDelta(t, float64(10*ms), float64(op.Done-op.Sent), float64(ms),
			"times of the second are by the first one's clock")
		assert.Less(t, op.Sent, history.Instant(time.Second))
	}
	assert.Len(t, c.Parties, 2)
	assert.Equal(t, history.Share{Party: "p2", Buyers: 20, Elapsed: 500 * time.Millisecond,
		Within: 400 * time.Microsecond}, c.Parties[1])
}

// Each of the two has sold unit 93 once, and sees nothing wrong.
func TestAUnitThatTwoPartiesBoughtIsFound(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 5, 2, 3)
	p1.Cell.Ops = append(p1.Cell.Ops, forgeSale("p-p1-7", 7, m1))
	finish(p1, 77)
	_, f := merged(t, history.Stock, history.Broken, p1, p2)
	assert.Equal(t, int64(93), f.Evidence[0].Unit)
	assert.Equal(t, []string{"p-p1-7", "p-p2-7"}, f.Evidence[0].Orders)
	assert.Contains(t, f.Because,
		"p1.a sold unit 93 to order p1-7 at +0.079 s; p2.a sold unit 93 again to order p2-7 at +0.079 s")
	_, f = merged(t, history.Exclusion, history.Broken, p1, p2)
	assert.Contains(t, f.Because, "both held the lock")
}

// Of two leases on instances of two machines one spans the other. The orders bound the clocks well enough to be sure of
// it, but no closer than the parties know each other's.
func TestLeasesAreComparedAcrossPartiesOnlyAsFarAsClocksAreKnown(t *testing.T) {
	for within, want := range map[time.Duration]history.Result{
		time.Microsecond:     history.Broken,
		9 * time.Millisecond: history.Indeterminate, // not seen: the widened orders leave room for the one after the other
	} {
		m1, m2 := apart()
		p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
		finish(p1, 60)
		held := &p1.Cell.Ops[3]
		held.Lease.ReleasedAt += 14 * ms // into the next, on the other machine
		held.Trace[1].At, held.Trace[1].End, held.Done = held.Trace[1].At+14*ms, held.Trace[1].End+14*ms, held.Done+14*ms
		p1.Clock.Within, p2.Clock.Within = within, within
		merged(t, history.Exclusion, want, p1, p2)
	}
}

// Two parties that drive the same instances hear of the same clock from both, and of the same commands.
func TestInstancesThatPartiesShareAreOne(t *testing.T) {
	m1, m2 := apart()
	m2.instance = m1.instance
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
	finish(p1, 60)
	sent := int64(400)
	p1.Cell.Commands, p2.Cell.Commands = &sent, &sent
	p2.Cell.Instances[0].Clock = "clock 1"
	p2.Cell.Instances[0].URL = "http://the-same-by-another-name:5000"
	c, _ := merged(t, history.Stock, history.OK, p1, p2)
	assert.Len(t, c.Instances, 1)
	assert.Equal(t, int64(400), *c.Commands)

	p2.Cell.Ops[0].Lease.AcquiredAt -= 6 * ms // by one clock, an overlap of 1 ms is plain to see
	cmd := &p2.Cell.Ops[0].Trace[0]
	cmd.At, cmd.End = cmd.At-6*ms, cmd.End-6*ms
	p2.Cell.Ops[0].Sent -= 6 * ms
	merged(t, history.Exclusion, history.Broken, p1, p2)
}

func TestWhatNeverCameNeverComes(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
	finish(p1, 60)
	lost := &p2.Cell.Ops[4]
	*lost = history.Op{Order: lost.Order, Phase: history.Buy, Instance: "a", Outcome: history.Unknown, Sent: lost.Sent,
		Done: history.Never, Quantity: 1}
	c, _ := merged(t, history.Exclusion, history.Indeterminate, p1, p2)
	assert.False(t, c.Ops[25].Done.Known())
}

func TestSharesStayAsTheyWere(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
	again := forge(2, m2, 1, 2, 20)
	_, err := joint.Merge([]joint.Share{p1, p2})
	require.NoError(t, err)
	assert.Equal(t, again, p2)
}

func TestSharesOfDifferentCellsAreNotMerged(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 20)
	p2.Cell.Product = "q"
	_, err := joint.Merge([]joint.Share{p1, p2})
	require.ErrorContains(t, err, "party 2")
}

// Of two halves, of which one takes 1 ms and the other 100, the median is in neither's middle.
func TestLatenciesAreThoseOfAllBuyers(t *testing.T) {
	m1, m2 := apart()
	p1, p2 := forge(1, m1, 0, 2, 20), forge(2, m2, 1, 2, 30)
	for i := range p1.Cell.Ops {
		p1.Cell.Ops[i].Latency = time.Millisecond
	}
	for i := range p2.Cell.Ops {
		p2.Cell.Ops[i].Latency = 100 * time.Millisecond
	}
	c, err := joint.Merge([]joint.Share{p1, p2})
	require.NoError(t, err)
	assert.Equal(t, load.LatencyOf(append(p1.Cell.Ops, p2.Cell.Ops...)), c.Latency)
	assert.InEpsilon(t, 100*time.Millisecond, c.Latency.P50, 0.02)
}
