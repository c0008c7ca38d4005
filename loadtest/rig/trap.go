package rig

import "stockapi/loadtest/wire"

// A Trap catches one thing of an order: a command at the gate, the reply to one, or a request to its database or the
// reply to that. What comes later on the same connection waits behind it.
type Trap interface {
	// Caught is closed when the trap has caught something.
	Caught() <-chan struct{}
	// GoOn passes on what was caught, and removes the trap.
	GoOn()
	// Lose drops what was caught, closes its connection, and removes the trap.
	Lose()
}

// HasCaught reports whether a trap has caught something.
func HasCaught(t Trap) bool { return wire.IsClosed(t.Caught()) }
