package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// forgeCrowd makes a cell in which one order held the lock, n waited for it, and all held it in turn, with a release
// every 10 ms. For each release with waiters, woken returns those that it wakes.
func forgeCrowd(n int, woken func(waiting []int) []int) *history.Cell {
	c := forge(n + 1)
	c.Initial, c.Waiting = int64(n+1), n
	left := int64(0)
	c.Left = &left
	for i := range n + 1 {
		op := &c.Ops[i]
		op.Sent, op.Units, op.Left = history.Instant(i)*ms/100, []int64{int64(n + 1 - i)}, int64(n-i)
	}
	for i := range n {
		var waiting []int
		for j := i + 1; j <= n; j++ {
			waiting = append(waiting, j)
		}
		for _, j := range woken(waiting) {
			wake(&c.Ops[j], c.Ops[i].Lease.ReleasedAt+ms)
		}
	}
	return c
}

func next(waiting []int) []int { return waiting[:1] }

func every(waiting []int) []int { return waiting }

func wake(op *history.Op, at history.Instant) {
	op.Trace = append(op.Trace, history.Command{Cmd: "woken", Key: "lock", At: at, End: at})
}

func TestHerdIsFound(t *testing.T) {
	c := forgeCrowd(9, every)
	f := judge(t, c, history.Herd, history.Broken)
	assert.Equal(t, "a release woke 5 waiters on average (9 at most), of which one acquired the lock", f.Because)
	assert.Equal(t, "the release of order 0 on a at +0.007 s woke 9", f.Evidence[1].Text)
	c.Waiting = 0
	judge(t, c, history.Herd, history.NotApplicable)
}

func TestHerdIsMoreThanOnePerInstance(t *testing.T) {
	f := judge(t, forgeCrowd(9, next), history.Herd, history.OK)
	assert.Equal(t, "a release woke 1 waiter on average (1 at most)", f.Because)

	two := func(waiting []int) []int { return waiting[:min(2, len(waiting))] }
	judge(t, forgeCrowd(9, two), history.Herd, history.OK)
	single := forgeCrowd(9, two)
	single.Instances = single.Instances[:1]
	for i := range single.Ops {
		single.Ops[i].Instance = "a"
	}
	judge(t, single, history.Herd, history.Broken)

	asked := forgeCrowd(9, func([]int) []int { return nil })
	assert.Contains(t, judge(t, asked, history.Herd, history.OK).Because, "woke 0 waiters", "polls are no wake-ups")
}

// Late wake-ups are attributed to the wrong release, but do not change the sum.
func TestHerdIsFoundByLateWakeUps(t *testing.T) {
	late := forgeCrowd(9, func([]int) []int { return nil })
	for i := range 9 {
		for j := i + 1; j <= 9; j++ {
			wake(&late.Ops[j], late.Ops[9].Lease.AcquiredAt)
		}
	}
	f := judge(t, late, history.Herd, history.Broken)
	assert.Contains(t, f.Because, "woke 5 waiters on average (45 at most)")
}

func TestHerdIsUnknownWithoutEvidence(t *testing.T) {
	c := forgeCrowd(9, every)
	lose(&c.Ops[3])
	judge(t, c, history.Herd, history.Indeterminate)

	c = forge(5) // no order waits
	c.Waiting = 4
	f := judge(t, c, history.Herd, history.Indeterminate)
	assert.Contains(t, f.Because, "no order held the lock while others waited")
}
