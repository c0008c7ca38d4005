package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// asksTimes lists the verdicts that compare the times of orders.
var asksTimes = []history.Verdict{
	history.Exclusion, history.OwnRelease, history.Fence, history.InOrder, history.Herd,
}

// Times of two hosts are not compared: two concurrent holders are neither found nor ruled out.
func TestTimesOfTwoHostsAreNotCompared(t *testing.T) {
	for why, edit := range map[string]func(c *history.Cell){
		`two hosts: the clocks "m" and "n" are not compared`:    func(c *history.Cell) { c.Instances[1].Clock = "n" },
		`two hosts: the clocks "m" and "of b" are not compared`: func(c *history.Cell) { c.Instances[1].Clock = "" },
		`it is unknown which clock instance "a" reads`: func(c *history.Cell) {
			c.Instances = append(c.Instances, history.Instance{Name: "a", URL: "http://another"})
		},
		`it is unknown which clock instance "nobody" reads`: func(c *history.Cell) { c.Ops[2].Instance = "nobody" },
	} {
		c := forgeCrowd(5, every)
		c.InLine = true
		hold(c, 1, 25*ms) // order 2 acquired it at 22
		c.Ops[3].Lease.Fence, c.Ops[4].Lease.Fence = 9, 8
		for _, v := range []history.Verdict{history.Exclusion, history.Fence, history.Herd} {
			judge(t, c, v, history.Broken)
		}
		edit(c)
		for _, v := range asksTimes {
			assert.Equal(t, "not judged: "+why, judge(t, c, v, history.NotApplicable).Because)
		}
		for _, v := range []history.Verdict{history.Valid, history.Stock, history.Liveness} {
			judge(t, c, v, history.OK)
		}
	}
}

// A token that was granted twice is wrong at any time.
func TestTokenGrantedTwiceOverTwoHosts(t *testing.T) {
	c := forge(5)
	c.Instances[1].Clock, c.Ops[3].Lease.Fence = "n", 3
	judge(t, c, history.Fence, history.Broken)
}

// An instance that served no order has no times to compare.
func TestClockWithoutOrdersIsNotCompared(t *testing.T) {
	c := forge(5)
	c.Instances = append(c.Instances, history.Instance{Name: "c", Clock: "n"})
	judge(t, c, history.Exclusion, history.OK)
}

// A clock that is an hour ahead, or runs faster, still orders its own times.
func TestClockWithOffsetIsComparedWithItself(t *testing.T) {
	c := forge(8)
	for i := range c.Ops {
		shift(&c.Ops[i], 3_600_000*ms)
	}
	drifts := []history.Offset{{Least: time.Hour, Most: time.Hour}, {Least: time.Hour + 40_000, Most: time.Hour + 40_000}}
	c.Instances[0].Offsets = drifts
	for _, v := range []history.Verdict{history.Valid, history.Exclusion, history.OwnRelease, history.Fence} {
		judge(t, c, v, history.OK)
	}
	hold(c, 1, 3_600_025*ms)
	c.Ops[1].Done = 19 * ms
	judge(t, c, history.Valid, history.Invalid) // it reports 25 ms and was answered after 19
	c.Ops[1].Done = 30 * ms
	judge(t, c, history.Exclusion, history.Broken)
}

func TestClockSteppedMakesTheCellInvalid(t *testing.T) {
	const second = time.Second
	for name, edit := range map[string]func(c *history.Cell){
		"by its own times": func(c *history.Cell) {
			c.Instances[0].Offsets = []history.Offset{{Least: -second, Most: second}, {Least: 2 * second, Most: 3 * second}}
		},
		"by another instance's times": func(c *history.Cell) {
			c.Instances[0].Offsets = []history.Offset{{Least: -second, Most: second}}
			c.Instances[1].Offsets = []history.Offset{{Least: 2 * second, Most: 3 * second}}
		},
		"as an order shows":             func(c *history.Cell) { shift(&c.Ops[3], -60_000*ms) },
		"as orders show after it":       func(c *history.Cell) { shift(&c.Ops[4], 20*ms); shift(&c.Ops[5], 20*ms) },
		"in the middle of a lease":      func(c *history.Cell) { c.Ops[3].Lease.ReleasedAt = c.Ops[3].Lease.AcquiredAt - 1 },
		"in the middle of a command":    func(c *history.Cell) { c.Ops[3].Trace[0].End = c.Ops[3].Trace[0].At - 1 },
		"the client's, during an order": func(c *history.Cell) { c.Ops[3].Due, c.Ops[3].Latency = c.Ops[3].Sent, second },
	} {
		t.Run(name, func(t *testing.T) {
			c := forge(5)
			hold(c, 1, 25*ms) // order 2 acquired it at 22: it may only seem so
			judge(t, c, history.Exclusion, history.Broken)
			edit(c)
			assert.Contains(t, invalid(t, c), "was stepped during the cell")
		})
	}
}

func TestClockReadOnceIsNotStepped(t *testing.T) {
	c := forge(5)
	c.Instances[0].Offsets = []history.Offset{{Least: -time.Hour, Most: time.Hour}}
	judge(t, c, history.Valid, history.OK)
}

// The outcome of an order that was looked up later is no sign of a stepped clock.
func TestResolvedOrderStepsNoClock(t *testing.T) {
	c := forge(5)
	c.Ops[4].Resolved, c.Ops[4].Latency, c.Ops[4].Done = true, time.Millisecond, c.Ops[4].Sent+1000*ms
	judge(t, c, history.Stock, history.OK)
}

// On the client's own clock a release may follow the answer. On any other clock that shows a step.
func TestReleaseAfterTheAnswer(t *testing.T) {
	c := forge(5)
	release := &c.Ops[3].Trace[1]
	release.At, release.End = c.Ops[3].Done+ms/4, c.Ops[3].Done+ms/2
	c.Ops[3].Done -= ms
	assert.Contains(t, invalid(t, c), "was stepped during the cell")
	c.Instances[0].Offsets = []history.Offset{{}}
	for _, v := range []history.Verdict{history.Valid, history.Exclusion, history.OwnRelease} {
		judge(t, c, v, history.OK)
	}
	c.Ops[4].Trace[0].At = c.Ops[4].Sent - ms
	assert.Contains(t, invalid(t, c), "was stepped during the cell", "no command comes before its order")
}
