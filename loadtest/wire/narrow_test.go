package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A command that waited at a wire took effect when it was sent on, and not when the instance sent it. A script that the
// server did not know was sent twice, and took effect the second time.
func TestTheTimesOfACommandAreThoseOfItsWire(t *testing.T) {
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
	assert.Equal(t, log[1:], own, "the first was another order's")
}
