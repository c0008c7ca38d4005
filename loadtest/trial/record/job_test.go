package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// passed returns a command of an instance, sent at one moment and answered at another.
func passed(f *forge.Forgery, at, ms, answered int, reply string, args ...string) *wire.Command {
	return &wire.Command{Seen: wire.Seen{Command: schedule.Command{Client: &schedule.Client{Index: at}, Name: args[0]},
		Args: args, Sent: f.After(ms), Answered: f.After(answered), Reply: reply, State: wire.Done}}
}

// A job of the other instance is told from the key of its queue, and from a signal between waiters.
func TestJobOfOtherInstance(t *testing.T) {
	const job, text = `{"order":"4711"}`, `["jobs" "{\"order\":\"4711\"}"]`
	long := job + "a job that is longer than the text of a reply can be"
	for _, c := range []struct {
		what     string
		put      []string
		took     []string
		reply    string
		notShown bool // neither a key, nor that a job sold
	}{
		{"a list", []string{"RPUSH", "jobs", job}, []string{"BLPOP", "jobs", "1"}, text, false},
		{"a list within a script", []string{"EVAL", "script", "0", job}, []string{"BLPOP", "jobs", "1"}, text, false},
		{"a stream", []string{"XADD", "jobs", "*", "job", long},
			[]string{"XREADGROUP", "GROUP", "g", "b", "STREAMS", "jobs", ">"},
			`[["jobs" [["1-0" ["job" "{\"order\":\"4711\"}a job that is longer than the text of a r…"]]]]]`, false},
		{"a message", []string{"PUBLISH", "jobs", job}, []string{"message", "jobs", job}, "", false},
		{"nothing there", []string{"RPUSH", "jobs", job}, []string{"LPOP", "jobs"}, "(nil)", true},
		{"another order", []string{"RPUSH", "jobs", job}, []string{"BLPOP", "jobs:b", "1"}, `["jobs:b" "{}"]`, true},
		{"a signal", []string{"RPUSH", "signal", "1"}, []string{"BLPOP", "signal", "1"}, `["signal" "1"]`, true},
		{"the lock", []string{"RPUSH", forge.LockKey, "token-4711"}, []string{"LPOP", forge.LockKey}, `"token-4711"`, true},
		{"a look", []string{"RPUSH", "queue", "anna-4711"}, []string{"LINDEX", "queue", "0"}, `"anna-4711"`, true},
	} {
		f := forge.Begin()
		f.Pair.Rig.Gate = wire.NewGate(nil)
		f.Order("anna", shop.AtA, history.Sold, 10, 40)
		f.Order("bert", shop.AtB, history.Sold, 11, 60)
		took := passed(f, shop.AtB, 1, 13, c.reply, c.took...)
		if took.Name == "message" {
			took.Message, took.Answered, took.Delivered = true, f.After(-100), f.After(13)
		}
		f.Block(passed(f, shop.AtA, 12, 12, "1", c.put...), took)
		writes := []record.Written{f.Wrote(20, shop.AtB, 10, 9, false), f.Wrote(50, shop.AtB, 9, 8, false)}
		want := "the other instance sold: it took the order from `jobs`, and wrote ProductStock_10000; a trial needs an "
		if c.notShown {
			assert.Empty(t, record.JobInCell(f.Bench, writes), c.what)
		} else {
			assert.Contains(t, record.JobInCell(f.Bench, writes), want, c.what)
		}
		writes = append(writes, f.Wrote(30, shop.AtA, 10, 9, false))
		assert.Empty(t, record.JobInCell(f.Bench, writes), c.what+", and its own instance wrote")
	}
}

// A write by an instance without an order is a job's, even of a queue outside the Redis, unless the order wrote, too.
func TestWriteWithoutOrder(t *testing.T) {
	for _, c := range []struct {
		what    string
		outcome history.Outcome
		writes  []int // the instances
		job     bool
	}{
		{"it sold", history.Sold, []int{shop.AtB}, true},
		{"it was killed", history.Unknown, []int{shop.AtB}, true},
		{"refused", history.Busy, []int{shop.AtB}, false},
		{"it wrote", history.Sold, []int{shop.AtA, shop.AtB}, false},
		{"none wrote", history.Sold, nil, false},
	} {
		f := forge.Begin()
		f.Pair.Rig.Gate = wire.NewGate(nil)
		f.Order("anna", shop.AtA, c.outcome, 10, 40)
		var writes []record.Written
		for _, at := range c.writes {
			writes = append(writes, f.Wrote(20, at, 10, 9, false))
		}
		assert.Equal(t, c.job, record.JobInCell(f.Bench, writes) != "", c.what)
	}
}
