package rig

import (
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// Kill kills an instance, and discards its waiting commands. It must be dead before its connections close, or it could
// still answer its caller. The error is that of [cluster.Foreign.Kill].
func (r *Rig) Kill(e *End) error {
	r.Gate.Change(func() { e.Dead = true })
	defer r.Gate.Retire(&e.Client)
	return e.kill()
}

func (e *End) kill() error {
	if e.foreign != nil {
		return e.foreign.Kill()
	}
	e.In.Kill()
	return nil
}

// CutOff cuts an instance off from its servers; the rig's plan must be Apart. Commands already sent may still arrive.
func (r *Rig) CutOff(e *End) {
	r.setDown(e, true)
	for _, w := range e.Wires {
		w.BreakClients()
	}
}

// Rejoin reconnects an instance to its servers.
func (r *Rig) Rejoin(e *End) { r.setDown(e, false) }

func (r *Rig) setDown(e *End, down bool) {
	r.Gate.Change(func() {
		for _, w := range e.Wires {
			w.Server.Down = down
		}
	})
}

// TakeDown makes a server unreachable for all instances.
func (r *Rig) TakeDown(s *wire.Store) {
	r.Gate.Change(func() { s.Down = true })
	for _, e := range r.Ends {
		for _, w := range e.Wires {
			if w.Server == s.Server {
				w.CloseIdle()
			}
		}
	}
}

// BringBack makes a server reachable again.
func (r *Rig) BringBack(s *wire.Store) { r.Gate.Change(func() { s.Down = false }) }

// StepFault returns the fault that a step of a trace is to the order of its client.
func StepFault(s schedule.Step, command string) history.Fault {
	f := history.Fault{Text: s.Fault(command)}
	if s.Kind == schedule.CrashBefore || s.Kind == schedule.CrashAfter {
		f.Kind = history.FaultKill
	}
	return f
}

// StopFault returns the fault of an order whose process was stopped for that long, and where, if known.
func StopFault(lasted time.Duration, where string, lease time.Duration) history.Fault {
	return history.Fault{Kind: history.FaultStop, Text: during("stopped", lasted, where, lease)}
}

// KillFault returns the fault of an order whose process was killed, and where, if known.
func KillFault(where string) history.Fault {
	return history.Fault{Kind: history.FaultKill, Text: strings.TrimSpace("killed " + where)}
}

// HoldFault returns the fault of an order that was held for that long, and where.
func HoldFault(lasted time.Duration, where string, lease time.Duration) history.Fault {
	return history.Fault{Text: during("held", lasted, where, lease)}
}

// CutFault returns the fault of an order whose instance could not reach those servers for that long.
func CutFault(from string, lasted, lease time.Duration) history.Fault {
	return history.Fault{On: "network", Text: during("cut off from "+from, lasted, "", lease)}
}

// WorkFault returns the fault of an order with long work.
func WorkFault(work, lease time.Duration) history.Fault {
	return history.Fault{Text: "working " + Seconds(work) + under(lease)}
}

// during formats a fault with its duration and its place.
func during(what string, lasted time.Duration, where string, lease time.Duration) string {
	return strings.TrimSpace(what+" for "+Seconds(lasted)+" "+where) + under(lease)
}

// under names the lease, unless it is 0: then it is irrelevant.
func under(lease time.Duration) string {
	if lease == 0 {
		return ""
	}
	return " under a lease of " + Seconds(lease)
}

// ServerFault returns the fault of an order whose lock server failed in that way.
func ServerFault(what string) history.Fault {
	return history.Fault{On: "locks", Text: "whose lock server " + what}
}

// HeldFault returns the fault of an order whose command or request of that name, such as its write, or the reply to it,
// was held for that long.
func HeldFault(name string, reply bool, lasted time.Duration) history.Fault {
	return ofCommand(history.FaultHeld, name, fmt.Sprintf("%s held for %s", its(name, reply), Shortly(lasted)))
}

// LateFault returns the fault of an order whose command of that name was in flight for that long.
func LateFault(name string, lasted time.Duration) history.Fault {
	return ofCommand(history.FaultLate, name, fmt.Sprintf("%s in flight for %s", its(name, false), Shortly(lasted)))
}

// LostFault returns the fault of an order whose command of that name, or the reply to it, was lost.
func LostFault(name string, reply bool) history.Fault {
	return ofCommand(history.FaultLost, name, its(name, reply)+" lost")
}

// LostRenewalsFault returns the fault of an order whose renewals were lost for that long.
func LostRenewalsFault(lasted time.Duration) history.Fault {
	return ofCommand(history.FaultLost, schedule.Renewal, "its renewals lost for "+Shortly(lasted))
}

// RefusedFault returns the fault of an order of which a server has refused a command with that error.
func RefusedFault(number int, code string) history.Fault {
	return history.Fault{Text: fmt.Sprintf("command %d answered %s", number, code)}
}

// HangUpFault returns the fault of an order whose client hung up while it did that.
func HangUpFault(doing string) history.Fault { return history.Fault{Text: "hung up while it " + doing} }

// PartitionFault returns the fault of an order whose instance was cut off from the only Redis for that long.
func PartitionFault(lasted time.Duration) history.Fault {
	return history.Fault{Kind: history.FaultCut, Text: "cut off from the Redis for " + Shortly(lasted)}
}

// RestartFault returns the fault of an order whose Redis has restarted, and lost what it kept.
func RestartFault() history.Fault {
	return history.Fault{Kind: history.FaultRestart, Text: "the Redis restarted"}
}

// TakenFault returns the fault of an order that came while the trial itself kept the lock.
func TakenFault() history.Fault { return history.Fault{Text: "refused the lock, which the trial kept"} }

// LockFault returns the fault of an order whose lock was removed.
func LockFault() history.Fault { return history.Fault{Text: "its lock removed"} }

// MessageFault returns the fault of an order that waited for a message, which was lost.
func MessageFault() history.Fault { return history.Fault{Text: "its message lost"} }

// DiedFault returns the fault of an instance that has exited on its own.
func DiedFault(lastWords string) history.Fault {
	return history.Fault{Kind: history.FaultDied, Text: "exited, " + lastWords}
}

// ofCommand returns a fault of an order's command.
func ofCommand(kind history.FaultKind, command, text string) history.Fault {
	return history.Fault{Kind: kind, Command: command, Text: text}
}

// its names a command of an order, or the reply to it.
func its(name string, reply bool) string {
	if reply {
		return "the reply to its " + name
	}
	return "its " + name
}

// Shortly formats a duration for the stories of a trial.
func Shortly(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// Seconds formats a duration for stories.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
