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
