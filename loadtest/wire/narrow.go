package wire

import (
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Narrow narrows the times of an order's commands to those at which the wires sent them on and had the reply. The
// instance knows only when it sent a command itself, which then may have waited at a wire for seconds. Narrow returns
// those commands of the log that were the order's own. Of several that it may have been, one is that which came next
// after the instance had sent it. A command that came late gets its reply, of which the order was told nothing.
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

// cameLate reports whether a command of a trace may be one that was carried out when its client had given it up.
func cameLate(one *history.Command, cmd *Command) bool {
	return cmd.Decision == schedule.ComesLate && one.Lost()
}

// mayBe reports whether a command of a trace may be that one at a wire. Many orders of an instance ask for the lock at
// the same time, and the one that got it is not any of those that did not.
func mayBe(one *history.Command, cmd *Command) bool {
	seen := cmd.Traced()
	same := seen.Key == one.Key && (one.Lost() || seen.Succeeded() == one.Succeeded())
	return seen.Cmd == one.Cmd && seen.Node == one.Node && (same || !one.Acquires())
}

// away returns how far the time at which a command came is from that at which an instance sent one.
func away(one *history.Command, start time.Time, cmd *Command) history.Instant {
	return max(one.At-history.At(start, cmd.Came), history.At(start, cmd.Came)-one.At)
}
