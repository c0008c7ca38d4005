package explore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
)

// A late command is in flight when its client gives it up. It may arrive at any later step, on the connection that it
// was sent on, and its reply goes nowhere.
type late struct {
	conn     *conn
	requests [][]string
	sent     time.Time
}

// delay keeps back a request of a late command.
func (c *conn) delay(args []string) bool {
	cmd := c.client.delayed.Load()
	if cmd == nil || cmd.server != c.server {
		return false
	}
	if cmd.late == nil {
		cmd.late = &late{conn: c, sent: time.Now()}
	}
	cmd.late.requests = append(cmd.late.requests, args)
	return true
}

// endDelay ends the effect of [conn.delay] once the requests of one command are kept back.
func (c *conn) endDelay() {
	if cmd := c.client.delayed.Load(); cmd != nil && cmd.late != nil && cmd.late.conn == c {
		c.client.delayed.Store(nil)
	}
}

// errArrival means that a server has refused a late command.
var errArrival = errors.New("the server refused a late command")

// arrive carries out a command that was kept back.
func (cmd *command) arrive() {
	c := cmd.late.conn
	replies := &bytes.Buffer{}
	c.mu.Lock()
	c.late = replies
	c.mu.Unlock()
	for _, args := range cmd.late.requests {
		c.server.carryOut(c.peer, args)
	}
	for line := range strings.SplitSeq(replies.String(), "\r\n") {
		if strings.HasPrefix(line, "-") || line == "*-1" { // an error, or an aborted transaction
			cmd.err = fmt.Errorf("%w: %s", errArrival, line)
		}
	}
}

// isUnknownScript reports whether the server will refuse a command because it does not know the script.
func (cmd *command) isUnknownScript() bool {
	if cmd.whole || len(cmd.args) < 2 || fmt.Sprint(cmd.args[0]) != "evalsha" {
		return false
	}
	return !cmd.server.knows(fmt.Sprint(cmd.args[1]))
}

// arrivals lists the late commands that may arrive now.
func (w *world) arrivals() (list []choice) {
	nth := map[int]int{}
	for _, cmd := range w.late {
		who := cmd.client.Index
		list = append(list, newChoice(schedule.Step{Kind: schedule.Arrive, Who: who, Nth: nth[who]}, cmd))
		nth[who]++
	}
	return list
}

// arrive lets a late command arrive. A server that is down does not get it.
func (w *world) arrive(cmd *command) {
	w.forgetLate(func(other *command) bool { return other == cmd })
	if !cmd.server.Down {
		cmd.arrive()
	}
}

// loseLate loses the commands that have been in flight for too long.
func (w *world) loseLate() {
	w.forgetLate(func(cmd *command) bool { return time.Since(cmd.late.sent) >= longestWay })
}

func (w *world) forgetLate(which func(*command) bool) {
	var left []*command
	for _, cmd := range w.late {
		if !which(cmd) {
			left = append(left, cmd)
		}
	}
	w.late = left
}

// isSwept reports whether a command arrived in time for a sweep, which ends some time after its client has given it up.
func (cmd *command) isSwept() bool { return cmd.late == nil || time.Since(cmd.late.sent) <= sweepReach }
