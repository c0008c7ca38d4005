package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// lateRelease has order 0 removing the key only at 15 ms, when order 1 has had it since 12.
func lateRelease(cmd string) *history.Cell {
	c := forge(5)
	c.Ops[0].Trace[1] = history.Command{Node: "n", Cmd: cmd, Key: "lock", At: 15 * ms, End: 16 * ms, Reply: "1"}
	c.Ops[0].Done = 17 * ms
	return c
}

func TestOwnReleaseFindsWhoRemovedAnothersLock(t *testing.T) {
	for _, cmd := range []string{"del", "unlink", "eval:release", "zk:delete", "sql:release"} {
		f := judge(t, lateRelease(cmd), history.OwnRelease, history.Broken)
		assert.Equal(t, "order 0 on a removed lock at +0.015 s although order 1 on b had taken it at +0.012 s", f.Because)
	}
}

func TestOwnReleaseIgnores(t *testing.T) {
	cases := map[string]func(c *history.Cell){
		"a release that removed nothing": func(c *history.Cell) { c.Ops[0].Trace[1].Reply = "0" },
		"another node's key":             func(c *history.Cell) { c.Ops[0].Trace[1].Node = "n2" },
		"another key":                    func(c *history.Cell) { c.Ops[0].Trace[1].Key = "lock2" },
		"an acquisition that failed":     func(c *history.Cell) { c.Ops[1].Trace[0].Reply = "false" },
		"one that was still under way":   func(c *history.Cell) { c.Ops[1].Trace[0].End = 16 * ms },
		"one whose reply was lost": func(c *history.Cell) {
			c.Ops[1].Trace[0].Reply, c.Ops[1].Trace[0].Err = "", "i/o timeout"
		},
		"a removal by an order that never made the key": func(c *history.Cell) { c.Ops[0].Trace[0].Reply = "false" },
		"an order that may have made the key again": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 13 * ms, End: 14 * ms, Err: "i/o timeout"})
		},
		"a renewal that made the key again": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "eval:renew", Key: "lock", At: 13 * ms, End: 14 * ms, Reply: "1"})
		},
		"a renewal that was under way": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "eval:renew", Key: "lock", At: 13 * ms, End: 18 * ms, Reply: "1"})
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := lateRelease("del")
			change(c)
			judge(t, c, history.OwnRelease, history.OK)
		})
	}
}

// A second permit beside the first takes nothing from it, so returning the first is right; a first permit after it
// shows that it was gone.
func TestOwnReleaseOfPermits(t *testing.T) {
	for reply, want := range map[string]history.Result{"1": history.Broken, "2": history.OK} {
		c := lateRelease("eval:release")
		c.Ops[0].Trace[0].Cmd, c.Ops[0].Trace[0].Reply = "eval:acquire-permit", "1"
		c.Ops[1].Trace[0].Cmd, c.Ops[1].Trace[0].Reply = "eval:acquire-permit", reply
		judge(t, c, history.OwnRelease, want)
	}
}

func TestOwnReleaseIsNotExcusedByARenewalThatFoundTheKeyGone(t *testing.T) {
	c := lateRelease("del")
	c.Ops[0].Trace = append(c.Ops[0].Trace,
		history.Command{Node: "n", Cmd: "eval:renew", Key: "lock", At: 13 * ms, End: 14 * ms, Reply: "0"})
	judge(t, c, history.OwnRelease, history.Broken)
}

// sqlLate is lateRelease on rows of a database.
func sqlLate() *history.Cell {
	c := lateRelease("sql:release")
	for i := range c.Ops {
		for j := range c.Ops[i].Trace {
			if cmd := &c.Ops[i].Trace[j]; cmd.Cmd == "set" {
				cmd.Cmd, cmd.Reply = "sql:acquire", "2" // rows, as MySQL counts one that changes its owner
			}
		}
	}
	return c
}

func TestOwnReleaseOfARow(t *testing.T) {
	judge(t, sqlLate(), history.OwnRelease, history.Broken)
	for name, change := range map[string]func(c *history.Cell){
		"an acquisition that changed no row": func(c *history.Cell) { c.Ops[1].Trace[0].Reply = "0" },
		"a release that changed no row":      func(c *history.Cell) { c.Ops[0].Trace[1].Reply = "0" },
		"a renewal that found its own row": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "sql:renew", Key: "lock", At: 13 * ms, End: 14 * ms, Reply: "1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := sqlLate()
			change(c)
			judge(t, c, history.OwnRelease, history.OK)
		})
	}
}

func TestOwnReleaseAcrossClocks(t *testing.T) {
	c := lateRelease("del")
	c.Instances[1].Clock = "other"
	for i := range c.Ops {
		if c.Ops[i].Instance == "b" {
			shift(&c.Ops[i], 3_600_000*ms)
		}
	}
	c.Ops[0].Trace[1].At, c.Ops[0].Trace[1].End, c.Ops[0].Done = 13*ms, 14*ms, 15*ms
	judge(t, c, history.OwnRelease, history.OK) // 1 ms is less than the clocks can tell
	c.Ops[0].Trace[1].At, c.Ops[0].Trace[1].End, c.Ops[0].Done = 35*ms, 36*ms, 37*ms
	judge(t, c, history.OwnRelease, history.Broken)
}

func TestOwnReleaseWithALostAnswerIsUnknown(t *testing.T) {
	c := forge(5)
	lose(&c.Ops[4])
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

// A removal that came before, by a clock that was set back afterwards, is no removal of another's lock.
func TestOwnReleaseThatALateAnswerExplainsIsUnknown(t *testing.T) {
	c := lateRelease("del")
	c.Ops[1].Done += 4 * ms // it had the lock at 12, and the removal was sent at 15
	judge(t, c, history.OwnRelease, history.Indeterminate)
	c.Ops[1].Done -= 2 * ms
	judge(t, c, history.OwnRelease, history.Broken)
}

func TestOwnReleaseByAClockThatWasSetIsUnknown(t *testing.T) {
	c := lateRelease("del")
	shift(&c.Ops[3], -60_000*ms)
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

// passedOn has order 0 take the lock and pass it on to order 2 of the same instance, which releases it.
func passedOn() *history.Cell {
	c := forge(5)
	first, second := &c.Ops[0], &c.Ops[2]
	second.Sent, second.Done = 8*ms, 18*ms
	second.Lease.AcquiredAt, second.Lease.ReleasedAt, second.Lease.Token = 9*ms, 10*ms, first.Lease.Token
	second.Trace[0], second.Trace[1] = first.Trace[1], history.Command{
		Node: "n", Cmd: "eval:release", Key: "lock", At: 10 * ms, End: 11 * ms, Reply: "1"}
	first.Trace, second.Trace = first.Trace[:1], second.Trace[1:]
	second.Lease.Fence, c.Ops[1].Lease.Fence = 2, 3
	return c
}

func TestOwnReleaseOfALockThatWasPassedOn(t *testing.T) {
	judge(t, passedOn(), history.OwnRelease, history.OK)
	c := passedOn()
	c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms // order 1 has had it since 12
	f := judge(t, c, history.OwnRelease, history.Broken)
	assert.Equal(t, "order 2 on a removed lock at +0.015 s although order 1 on b had taken it at +0.012 s", f.Because)

	for name, change := range map[string]func(c *history.Cell){
		"by nobody who can be told": func(c *history.Cell) { c.Ops[2].Lease.Token = "another" },
		"on another instance":       func(c *history.Cell) { c.Ops[2].Instance = "b" },
		"without a token":           func(c *history.Cell) { c.Ops[0].Lease.Token, c.Ops[2].Lease.Token = "", "" },
		"and was taken again in its name": func(c *history.Cell) {
			c.Ops[0].Done, c.Ops[1].Trace[1].Reply = 18*ms, "0"
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 13 * ms, End: 14 * ms, Reply: "true"})
		},
		"and was renewed too often to be looked at": func(c *history.Cell) {
			for range 101 {
				c.Ops[0].Trace = append(c.Ops[0].Trace,
					history.Command{Node: "n", Cmd: "eval:renew", Key: "lock", At: 3 * ms, End: 4 * ms, Reply: "1"})
			}
		},
		"and was another lock of an order that went on to the next shard": func(c *history.Cell) {
			c.Ops[2].Lease.AcquiredAt, c.Ops[2].Lease.ReleasedAt = 17*ms, 18*ms
		},
		"and may have been taken again": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 7 * ms, End: 8 * ms, Err: "i/o timeout"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := passedOn()
			c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms
			change(c)
			judge(t, c, history.OwnRelease, history.OK)
		})
	}

	c = passedOn()
	c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms
	c.Ops[3].Trace = nil // it may have taken the lock in anybody's name
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

// The last of a batch to leave releases the lock, and that need not be the one that shows the lease.
func TestOwnReleaseOfALockThatOthersWereSoldUnder(t *testing.T) {
	late := func() *history.Cell {
		c := forge(5)
		servedUnder(c, 0, 2)
		removal := history.Command{Node: "n", Cmd: "eval:release", Key: "lock", At: 15 * ms, End: 16 * ms, Reply: "1"}
		c.Ops[2].Trace, c.Ops[2].Done = []history.Command{removal}, 17*ms
		c.Ops[0].Trace = c.Ops[0].Trace[:1]
		return c
	}
	judge(t, late(), history.OwnRelease, history.Broken)
	c := late()
	c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 8*ms, 9*ms
	judge(t, c, history.OwnRelease, history.OK)
	c = late()
	c.Ops[0].Lease.AcquiredAt, c.Ops[0].Lease.ReleasedAt, c.Ops[0].Done = 17*ms, 18*ms, 19*ms // of another shard
	judge(t, c, history.OwnRelease, history.OK)
	c = late()
	c.Ops[2].SoldBy = "p-99" // whose lock it was is not known
	f := judge(t, c, history.OwnRelease, history.Indeterminate)
	assert.Equal(t, "order 2 on a says that it was sold by order 99, which is not in the cell", f.Because)
}
