package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A command that waited at a wire took effect when the wire sent it on, not when the instance sent it. A script that
// the server did not know took effect when it was resent.
func TestNarrowTakesTimesOfTheWire(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	lock := &schedule.Server{Index: 1, Name: "lock", Host: "lock:1"}
	seen := func(name string, came, sent, answered int) *Command {
		return &Command{Seen: Seen{Command: schedule.Command{Server: lock, Name: name},
			Came: at(came), Sent: at(sent), Answered: at(answered)}}
	}
	log := []*Command{
		seen("del", 100, 1000, 1010), seen("del", 60, 2000, 2010), seen("eval:release", 2500, 3000, 3001),
	}
	trace := func(cmd, node string, from, to int) history.Command {
		return history.Command{Cmd: cmd, Node: node, At: history.At(start, at(from)), End: history.At(start, at(to))}
	}
	op := history.Op{Trace: []history.Command{
		trace("del", "lock:1", 50, 2020), trace("del", "stock:1", 50, 2020), trace("get", "lock:1", 50, 2020),
		trace("eval:release", "lock:1", 2030, 2990), trace("eval:release", "lock:1", 2995, 3005),
	}}
	own := Narrow(&op, start, log)
	assert.Equal(t, []history.Command{
		trace("del", "lock:1", 2000, 2010), trace("del", "stock:1", 50, 2020), trace("get", "lock:1", 50, 2020),
		trace("eval:release", "lock:1", 2030, 2990), trace("eval:release", "lock:1", 3000, 3001),
	}, op.Trace)
	assert.Equal(t, log[1:], own, "the first is another order's")
}

// A late command is carried out after its order has given it up, and has a reply that the order never saw.
func TestNarrowAddsLateReplies(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for d, late := range map[schedule.Decision]bool{schedule.ComesLate: true, schedule.LostReply: false} {
		log := []*Command{{Seen: Seen{Command: schedule.Command{Server: &schedule.Server{Host: "redis:1"}, Name: "del"},
			Decision: d, Args: []string{"del", "lock"}, Came: at(100), Sent: at(900), Answered: at(901), Reply: "1"}}}
		sent := history.Command{Cmd: "del", Node: "redis:1", Key: "lock", Err: "i/o timeout", Source: history.ReplyLost,
			At: history.At(start, at(99)), End: history.At(start, at(600))}
		op := history.Op{Trace: []history.Command{sent}}
		Narrow(&op, start, log)
		want := sent
		if late {
			want.Err, want.Reply, want.Source = "", "1", history.Unseen
			want.At, want.End = history.At(start, at(900)), history.At(start, at(901))
		}
		assert.Equal(t, want, op.Trace[0])
	}
}

// Orders of an instance that try to acquire the lock at the same time send the same command. Only the acquire answered
// OK succeeded.
func TestNarrowMatchesSuccess(t *testing.T) {
	start := time.Now()
	stock := &schedule.Server{Host: "stock:1"}
	seen := func(came int, key, reply string) *Command {
		at := start.Add(time.Duration(came) * time.Millisecond)
		return &Command{Seen: Seen{Command: schedule.Command{Server: stock, Name: "set"},
			Args: []string{"set", key, "K", "NX"}, Came: at, Sent: at, Answered: at.Add(time.Millisecond), Reply: reply}}
	}
	log := []*Command{
		seen(10, "lock", "(nil)"), seen(11, "stock", "OK"), seen(14, "lock", "OK"), seen(12, "lock", "(nil)"),
	}
	for reply, want := range map[string]*Command{"true": log[2], "false": log[0]} {
		op := history.Op{Trace: []history.Command{{Cmd: "set", Node: "stock:1", Key: "lock", Reply: reply,
			At: history.At(start, start.Add(9*time.Millisecond)), End: history.At(start, start.Add(time.Second))}}}
		assert.Equal(t, []*Command{want}, Narrow(&op, start, log))
		assert.Equal(t, history.At(start, want.Sent), op.Trace[0].At)
	}
}
