package rig

import (
	"fmt"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// Kill kills an instance. What it had sent, and was not carried out, never is. It must be dead before its connections
// close, or it could answer its caller.
func (r *Rig) Kill(e *End) {
	r.Gate.Change(func() { e.Dead = true })
	e.In.Kill()
	r.Gate.Retire(&e.Client)
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

// Held returns the fault of an order that was held there for that long.
func Held(lasted time.Duration, where string) history.Fault {
	return history.Fault{Text: fmt.Sprintf("held for %s %s", seconds(lasted), where)}
}

// ServerFault returns the fault of an order to whose lock server something happened.
func ServerFault(what string) history.Fault {
	return history.Fault{On: "locks", Text: "whose lock server " + what}
}

// seconds returns a duration as stories have it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
