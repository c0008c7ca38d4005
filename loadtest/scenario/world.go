package scenario

import (
	"context"

	"stockapi/loadtest/history"
)

// World is what the faults of one cell can be brought upon.
type World struct {
	// Processes are the instances, by number.
	Processes []Process
	// Wires are those of each instance, by the name of the server at the other end.
	Wires []map[string]Wire
	// Servers are the cell's own, by name, and Pairs those that are replicated.
	Servers map[string]Server
	Pairs   map[string]Pair
	// Behind names, for the address of each wire, that of the server behind it.
	Behind map[string]string
}

// The names of servers. Redlock's are "node 1" to "node 5".
const (
	stockServer = "stock"
	lockServer  = "locks"
)

// network is what a fault on wires is brought upon.
const network = "network"

// Process is an instance, seen from outside.
type Process interface {
	// Doom says that the instance is going to die; the channel is closed when it has.
	Doom() <-chan struct{}
	// Stop makes the process stand still, Stopped reports whether it does, and Continue lets it go on.
	Stop() error
	Stopped() (bool, error)
	Continue() error
}

// Wire is the connection of one instance to one server.
type Wire interface {
	// Cut closes it, and has new connections refused.
	Cut() error
	// LoseCommands and LoseReplies let vanish what goes one way; HoldReplies keeps replies back.
	LoseCommands() error
	LoseReplies() error
	HoldReplies() error
	// Mend undoes all of this. Replies that were kept back arrive.
	Mend() error
}

// Server is one lock server of the cell's own.
type Server interface {
	// Keys counts the keys that it holds.
	Keys(ctx context.Context) (int64, error)
	// Queued counts those who wait in line at it.
	Queued(ctx context.Context) (int64, error)
	// Kill ends it at once; Restart starts it again at the same address, empty.
	Kill()
	Restart(ctx context.Context) error
	// Expire ends all keys that have a TTL.
	Expire(ctx context.Context) error
}

// Pair is a primary and its replica.
type Pair interface {
	// Sever keeps from the replica whatever is written from now on.
	Sever(ctx context.Context) error
	// FailOver kills the primary and waits until the replica has taken its place.
	FailOver(ctx context.Context) error
}

// unwire names the servers in an op's trace by their own addresses: what two instances did to one key over two wires,
// they did to one key.
func (w *World) unwire(op *history.Op) {
	if w == nil {
		return
	}
	for i := range op.Trace {
		if server := w.Behind[op.Trace[i].Node]; server != "" {
			op.Trace[i].Node = server
		}
	}
}
