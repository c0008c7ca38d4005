package wire

import (
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Narrow replaces the times of an order's commands by those at which the wires sent them on and received the replies.
// The instance knows only when it sent a command, which may then have waited at a wire for seconds. Narrow returns the
// order's own commands in the log; of several candidates, the one closest after the instance's send. A late command
// also gets its reply, which its order never saw.
func Narrow(op *history.Op, start time.Time, log []*Command) (own []*Command) {
	for i := range op.Trace {
		one := &op.Trace[i]
		var best *Command
		for _, cmd := range log {
			if mayBe(one, cmd) && one.At <= history.At(start, cmd.Sent) &&
				(history.At(start, cmd.Answered) <= one.End || cameLate(one, cmd)) &&
				(best == nil || away(one, start, cmd) < away(one, start, best)) {
				best = cmd
			}
		}
		if best != nil {
			if cameLate(one, best) {
				seen := best.Traced()
				one.Reply, one.Err, one.Source = seen.Reply, seen.Err, seen.Source
			}
			one.At, one.End = history.At(start, best.Sent), history.At(start, best.Answered)
			own = append(own, best)
		}
	}
	return own
}

// cameLate reports whether a traced command may be this late one, which was carried out after its client had given up.
func cameLate(one *history.Command, cmd *Command) bool {
	return cmd.Decision == schedule.ComesLate && one.Lost()
}

// mayBe reports whether a traced command may be this one at the wire. Orders of an instance try to acquire the lock at
// the same time: a successful acquire matches only a successful one.
func mayBe(one *history.Command, cmd *Command) bool {
	seen := cmd.Traced()
	same := seen.Key == one.Key && (one.Lost() || seen.Succeeded() == one.Succeeded())
	return seen.Cmd == one.Cmd && seen.Node == one.Node && (same || !one.Acquires())
}

// away returns the time from the instance's send to the arrival of a command.
func away(one *history.Command, start time.Time, cmd *Command) history.Instant {
	return max(one.At-history.At(start, cmd.Came), history.At(start, cmd.Came)-one.At)
}
