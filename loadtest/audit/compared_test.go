package audit_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// Leases that cannot be compared with any other prove nothing.
func TestLeasesNotComparableAreNotSeen(t *testing.T) {
	for name, edit := range map[string]func(i int, op *history.Op){
		"each ends when it begins":   func(_ int, op *history.Op) { op.Lease.ReleasedAt = op.Lease.AcquiredAt },
		"each ends before it begins": func(_ int, op *history.Op) { op.Lease.ReleasedAt = op.Lease.AcquiredAt - 1 },
		"all of them read":           func(_ int, op *history.Op) { op.Phase = history.Reading },
	} {
		t.Run(name, func(t *testing.T) {
			c := forge(5)
			for i := range c.Ops {
				edit(i, &c.Ops[i])
			}
			assert.Zero(t, coverage(c).Leases)
			judge(t, c, history.Exclusion, history.Indeterminate)
			judge(t, c, history.Fence, history.Indeterminate)
		})
	}
}

func TestLeaseOfZeroLengthIsNotSeen(t *testing.T) {
	c := forge(5)
	c.Ops[4].Lease.ReleasedAt = c.Ops[4].Lease.AcquiredAt
	assert.Equal(t, 5, coverage(c).Leases)
	judge(t, c, history.Exclusion, history.Indeterminate)
	judge(t, c, history.Fence, history.OK)
}

// Without a trace, a token may have been drawn at any time since its order was sent.
func TestTokensOfConcurrentOrdersAreNotCompared(t *testing.T) {
	c := forge(5)
	for i := range c.Ops {
		c.Ops[i].Sent, c.Ops[i].Done, c.Ops[i].Trace = 0, 100*ms, nil
	}
	judge(t, c, history.Exclusion, history.OK)
	judge(t, c, history.Fence, history.Indeterminate)
}

// A clock of millisecond resolution truncates the rest. That breaks no verdict, and if one clock times all leases, each
// verdict is known.
func TestTruncatedTimesAreIntervals(t *testing.T) {
	for range 300 {
		for _, f := range findings(cutOff()) {
			assert.Contains(t, []history.Result{history.OK, history.NotApplicable}, f.Result, "%s: %s", f.Verdict, f.Because)
		}
	}
}

// cutOff forges the history of a correct shop whose clock has millisecond resolution.
func cutOff() *history.Cell {
	c := forge(8)
	c.Start, c.InLine = time.Unix(1_800_000_000, rand.Int64N(1e9)), true
	at := history.Instant(0)
	now := func() history.Instant {
		at += history.Instant(rand.Int64N(int64(ms) / 4))
		return history.At(c.Start, c.Start.Add(time.Duration(at)).Truncate(time.Millisecond))
	}
	for i := range c.Ops {
		op := &c.Ops[i]
		op.Sent = at
		op.Trace[0].At, op.Trace[0].End = now(), now()
		op.Lease.AcquiredAt = now()
		if op.Outcome == history.Sold {
			at += ms
		}
		op.Lease.ReleasedAt = now()
		op.Trace[1].At, op.Trace[1].End = now(), now()
		op.Done = at
	}
	return c
}

// Truncation hides overlaps no longer than a digit, and no others.
func TestTruncatedTimesShowOverlaps(t *testing.T) {
	c := cutOff()
	c.Ops[3].Sent, c.Ops[3].Lease.AcquiredAt, c.Ops[3].Trace = c.Ops[2].Sent, c.Ops[2].Lease.ReleasedAt-ms, nil
	judge(t, c, history.Exclusion, history.Broken)
	c = cutOff()
	for i := range c.Ops {
		c.Ops[i].Lease.ReleasedAt = c.Ops[i].Lease.AcquiredAt
	}
	judge(t, c, history.Exclusion, history.Indeterminate)
	c = cutOff()
	assert.Equal(t, time.Millisecond, coverage(c).Resolution)
}
