package audit_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// lateRelease has order 0 remove the key only at 15 ms, when order 1 has held the lock since 12.
func lateRelease(cmd string) *history.Cell {
	c := forge(5)
	c.Ops[0].Trace[1] = history.Command{Node: "n", Cmd: cmd, Key: "lock", At: 15 * ms, End: 16 * ms, Reply: "1"}
	c.Ops[0].Done = 17 * ms
	return c
}

func TestOwnReleaseFindsForeignRemoval(t *testing.T) {
	for _, cmd := range []string{"del", "unlink", "eval:release", "zk:delete", "sql:release"} {
		f := judge(t, lateRelease(cmd), history.OwnRelease, history.Broken)
		assert.Equal(t, "order 0 on a removed lock at +0.015 s although order 1 on b had taken it at +0.012 s", f.Because)
	}
}

func TestOwnReleaseIgnores(t *testing.T) {
	judged := []string{"a release that removed nothing", "one that was still under way",
		"a renewal that made the key again"}
	cases := map[string]func(c *history.Cell){
		"a release that removed nothing": func(c *history.Cell) { c.Ops[0].Trace[1].Reply = "0" },
		"another node's key":             func(c *history.Cell) { c.Ops[0].Trace[1].Node = "n2" },
		"another key":                    func(c *history.Cell) { c.Ops[0].Trace[1].Key = "lock2" },
		"an acquisition that failed":     func(c *history.Cell) { c.Ops[1].Trace[0].Reply = "false" },
		"one that was still under way":   func(c *history.Cell) { c.Ops[1].Trace[0].End = 16 * ms },
		"one whose reply was lost": func(c *history.Cell) {
			c.Ops[1].Trace[0].Reply, c.Ops[1].Trace[0].Source = "", history.ReplyLost
		},
		"a removal by an order that never made the key": func(c *history.Cell) { c.Ops[0].Trace[0].Reply = "false" },
		"an order that may have made the key again": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 13 * ms, End: 14 * ms, Source: history.ReplyLost})
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
			if !slices.Contains(judged, name) {
				f := judge(t, c, history.OwnRelease, history.Indeterminate)
				assert.Equal(t, "only 5 of 6 releases could be judged", f.Because)
			}
			c.Faults = []history.Fault{{Order: "p-3", Text: "stopped"}}
			judge(t, c, history.OwnRelease, history.OK)
		})
	}
}

// Every command of docs/contract.md that makes, renews or removes a lock, with the reply of success.
var lockCommands = []struct {
	cmd, reply string
	is         func(*history.Command) bool
}{
	{"set", "OK", (*history.Command).Acquires},
	{"setnx", "true", (*history.Command).Acquires},
	{"zk:create", "ok", (*history.Command).Acquires},
	{"sql:acquire", "2", (*history.Command).Acquires},
	{"eval:acquire…", "17", (*history.Command).Acquires},
	{"del", "1", (*history.Command).Releases},
	{"unlink", "1", (*history.Command).Releases},
	{"getdel", "6f7f3a", (*history.Command).Releases},
	{"delex", "1", (*history.Command).Releases},
	{"delifeq", "1", (*history.Command).Releases},
	{"zk:delete", "true", (*history.Command).Releases},
	{"sql:release", "1", (*history.Command).Releases},
	{"eval:release…", "1", (*history.Command).Releases},
	{"eval:renew…", "1", (*history.Command).Renews},
	{"sql:renew", "1", (*history.Command).Renews},
}

// refusals are error replies of servers, losses are errors of a network, and halfway are errors of a script that had
// begun.
var (
	refusals = []string{"NOSCRIPT No matching script. Please use EVAL.", "STALE a newer token has been seen",
		"READONLY You can't write against a read only replica.", "redis: transaction failed"}
	losses  = []string{"i/o timeout", "EOF", "read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection"}
	halfway = []string{"WRONGTYPE Operation against a key script: 6f7f3a, on @user_script:1.", "ERR user_script:7: nil"}
)

// fail gives a command this error in place of a reply.
func fail(cmd *history.Command, err string) {
	cmd.Reply, cmd.Err, cmd.Source = "", err, history.SourceOf(cmd.Cmd, err)
}

// Whatever commands an order uses to acquire, renew and release the lock, its late release is found, unless an earlier
// command may have made the key its own again.
func TestOwnReleaseByEveryCommandOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "| `cmd` | effect |")
	table, _, _ := strings.Cut(rest, "\n\n")
	var named []string
	for _, one := range regexp.MustCompile("`([a-z:]+…?)`").FindAllStringSubmatch(table, -1) {
		named = append(named, one[1])
	}
	for _, one := range lockCommands {
		cmd := history.Command{Node: "n", Cmd: strings.Replace(one.cmd, "…", "-x", 1), Key: "lock", Reply: one.reply}
		assert.True(t, one.is(&cmd) && cmd.Succeeded(), one.cmd)
		assert.Contains(t, named, one.cmd)
		c := lateRelease("del")
		before := cmd
		before.At, before.End = 13*ms, 14*ms
		switch mine := &c.Ops[0]; {
		case cmd.Releases():
			cmd.At, cmd.End = mine.Trace[1].At, mine.Trace[1].End
			mine.Trace[1] = cmd
			judge(t, c, history.OwnRelease, history.Broken)
			fail(&mine.Trace[1], losses[0])
			judge(t, c, history.OwnRelease, history.OK)
			assert.Equal(t, 1, coverage(c).LostReleases, one.cmd)
			for _, refusal := range refusals {
				fail(&mine.Trace[1], refusal)
				judge(t, c, history.OwnRelease, history.OK)
				assert.Zero(t, coverage(c).LostReleases, one.cmd)
			}
			continue
		case cmd.Acquires():
			for i := range 2 {
				cmd.At, cmd.End = c.Ops[i].Trace[0].At, c.Ops[i].Trace[0].End
				c.Ops[i].Trace[0] = cmd
			}
			fallthrough
		default:
			judge(t, c, history.OwnRelease, history.Broken)
			mine.Trace = append(mine.Trace, before)
			c.Ops[1].Trace[1].Reply = "0"
			last := &mine.Trace[2]
			judge(t, c, history.OwnRelease, history.OK)
			for _, refusal := range refusals {
				fail(last, refusal)
				judge(t, c, history.OwnRelease, history.Broken)
			}
			lost := losses
			if strings.HasPrefix(one.cmd, "eval") {
				lost = slices.Concat(losses, halfway)
			}
			for _, loss := range lost {
				fail(last, loss)
				judge(t, c, history.OwnRelease, history.Indeterminate)
			}
		}
	}
	assert.Len(t, lockCommands, len(named), "docs/contract.md names %v", named)
}

// An acquire that was sent again because the server did not know the script excuses no removal.
func TestOwnReleaseAfterAnUnknownScript(t *testing.T) {
	c := lateRelease("eval:release")
	for i := range c.Ops {
		first := c.Ops[i].Trace[0]
		first.Cmd = "eval:acquire"
		fail(&first, refusals[0])
		first.At, first.End = first.At-ms/2, first.At
		c.Ops[i].Trace[0].Cmd = "eval:acquire"
		c.Ops[i].Trace = append([]history.Command{first}, c.Ops[i].Trace...)
	}
	judge(t, c, history.OwnRelease, history.Broken)
	c = forge(5)
	c.Ops[0].Trace[0].Cmd, c.Ops[0].Trace[1].Cmd = "eval:acquire", "eval:release"
	judge(t, c, history.OwnRelease, history.OK)
	assert.Equal(t, 6, coverage(c).Judged)
}

// An ok needs nine of ten removals judged or, under a fault, a third.
func TestOwnReleaseCountsUnjudgedRemovals(t *testing.T) {
	c := forge(9)
	for i, want := range []history.Result{history.OK, history.OK, history.Indeterminate} {
		judge(t, c, history.OwnRelease, want)
		cover := coverage(c)
		assert.Equal(t, []int{10 - i, 10}, []int{cover.Judged, cover.Removals})
		c.Ops[i].Trace = c.Ops[i].Trace[1:] // its acquire is missing
	}
	c.Faults = []history.Fault{{Order: "p-3", Text: "stopped"}}
	for i := 3; i < 10; i++ {
		judge(t, c, history.OwnRelease, map[bool]history.Result{true: history.OK, false: history.Indeterminate}[i <= 6])
		c.Ops[i].Trace = c.Ops[i].Trace[1:]
	}
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

// A second permit beside the first takes nothing from it, so returning the first is right; a first permit acquired
// after it shows that it was gone.
func TestOwnReleaseOfPermits(t *testing.T) {
	for reply, want := range map[string]history.Result{"1": history.Broken, "2": history.OK} {
		c := lateRelease("eval:release")
		c.Ops[0].Trace[0].Cmd, c.Ops[0].Trace[0].Reply = "eval:acquire-permit", "1"
		c.Ops[1].Trace[0].Cmd, c.Ops[1].Trace[0].Reply = "eval:acquire-permit", reply
		judge(t, c, history.OwnRelease, want)
	}
}

// An order that never acquired the lock, and removes it, as was observed, removes that of the last order that did. If
// that one has released it, it is unknown whose.
func TestOwnReleaseByAStranger(t *testing.T) {
	for _, one := range []struct {
		freed history.Instant
		want  history.Result
	}{{0, history.Broken}, {13 * ms, history.Indeterminate}, {18 * ms, history.Broken}} {
		c := lateRelease("del")
		c.Kind, c.Ops[0].Trace = history.Trial, c.Ops[0].Trace[1:]
		c.Ops[1].Trace = c.Ops[1].Trace[:1]
		if one.freed > 0 {
			c.Ops[1].Trace = append(c.Ops[1].Trace,
				history.Command{Node: "n", Cmd: "del", Key: "lock", At: one.freed, End: one.freed + ms/2, Reply: "1"})
		}
		for i := range c.Ops {
			for j := range c.Ops[i].Trace {
				cmd := &c.Ops[i].Trace[j]
				cmd.Source, cmd.Effect = history.Looked, history.EffectAcquired
				if cmd.Cmd == "del" {
					cmd.Effect = history.EffectReleased
				}
			}
		}
		judge(t, c, history.OwnRelease, one.want)
	}
}

func TestOwnReleaseIsNotExcusedByFailedRenewal(t *testing.T) {
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
		"an acquisition that changed no row": func(c *history.Cell) {
			c.Ops[1].Trace[0].Reply, c.Ops[1].Trace[1].Reply = "0", "0"
		},
		"a release that changed no row": func(c *history.Cell) { c.Ops[0].Trace[1].Reply = "0" },
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

// passedOn has order 0 acquire the lock and pass it on to order 2 of the same instance, which releases it.
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

func TestOwnReleaseOfPassedLock(t *testing.T) {
	judge(t, passedOn(), history.OwnRelease, history.OK)
	c := passedOn()
	c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms // order 1 has held it since 12
	f := judge(t, c, history.OwnRelease, history.Broken)
	assert.Equal(t, "order 2 on a removed lock at +0.015 s although order 1 on b had taken it at +0.012 s", f.Because)

	for name, change := range map[string]func(c *history.Cell){
		"by an unknown order": func(c *history.Cell) { c.Ops[2].Lease.Token = "another" },
		"on another instance": func(c *history.Cell) { c.Ops[2].Instance = "b" },
		"without a token":     func(c *history.Cell) { c.Ops[0].Lease.Token, c.Ops[2].Lease.Token = "", "" },
		"and was acquired again in its name": func(c *history.Cell) {
			c.Ops[0].Done, c.Ops[1].Trace[1].Reply = 18*ms, "0"
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 13 * ms, End: 14 * ms, Reply: "true"})
		},
		"and was renewed more often than is kept": func(c *history.Cell) {
			for range 101 {
				c.Ops[0].Trace = append(c.Ops[0].Trace,
					history.Command{Node: "n", Cmd: "eval:renew", Key: "lock", At: 3 * ms, End: 4 * ms, Reply: "1"})
			}
		},
		"and was another lock, which its order held before": func(c *history.Cell) {
			c.Ops[2].Lease.AcquiredAt, c.Ops[2].Lease.ReleasedAt = 17*ms, 18*ms
		},
		"and may have been acquired again": func(c *history.Cell) {
			c.Ops[0].Trace = append(c.Ops[0].Trace,
				history.Command{Node: "n", Cmd: "set", Key: "lock", At: 7 * ms, End: 8 * ms, Source: history.ReplyLost})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := passedOn()
			c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms
			change(c)
			if name != "and was acquired again in its name" {
				f := judge(t, c, history.OwnRelease, history.Indeterminate)
				assert.Equal(t, "only 4 of 5 releases could be judged", f.Because)
			}
			c.Faults = []history.Fault{{Order: "p-3", Text: "stopped"}}
			judge(t, c, history.OwnRelease, history.OK)
		})
	}

	c = passedOn()
	c.Ops[2].Trace[0].At, c.Ops[2].Trace[0].End = 15*ms, 16*ms
	c.Ops[3].Trace = nil // it may have acquired the lock in any order's name
	judge(t, c, history.OwnRelease, history.Indeterminate)
}

// The last order of a batch releases the lock. It need not be the one that returns the lease.
func TestOwnReleaseOfSharedLease(t *testing.T) {
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
	c.Ops[0].Lease.AcquiredAt, c.Ops[0].Lease.ReleasedAt, c.Ops[0].Done = 17*ms, 18*ms, 19*ms // of another lock
	judge(t, c, history.OwnRelease, history.Indeterminate)
	c = late() // the other way round: the order with the lease releases a lock that another acquired
	c.Ops[0].Trace, c.Ops[2].Trace, c.Ops[0].Done = c.Ops[2].Trace, c.Ops[0].Trace, 17*ms
	judge(t, c, history.OwnRelease, history.Broken)
	c.Ops[0].Trace[0].At, c.Ops[0].Trace[0].End = 8*ms, 9*ms
	judge(t, c, history.OwnRelease, history.OK)
	c = late()
	c.Ops[2].SoldBy = "p-99" // its owner is unknown
	f := judge(t, c, history.OwnRelease, history.Indeterminate)
	assert.Equal(t, "order 2 on a names order 99 as its seller, which is not in the cell", f.Because)
}
