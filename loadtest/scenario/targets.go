package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/history"
)

// FaultTargets are the processes, links and servers of one cell that faults act on: those of a cluster.Site, by what
// faults can do to them. Which of them a cell has, its scenario's [catalog.Topology] and its rung say.
type FaultTargets struct {
	// Processes are the instances, by number.
	Processes []Process
	// Links are those of each instance, by the name of the server at the other end.
	Links []map[string]Link
	// Servers are the cell's own, by name. Pairs are those that are replicated, by the same names.
	Servers map[string]Server
	Pairs   map[string]Pair
	// Ensemble are the servers of a ZooKeeper of several, if the cell has one.
	Ensemble []Member
	// Behind maps the address of each link to the address of the server behind it.
	Behind map[string]string
}

// The names of servers. Redlock's are "node 1" to "node 5".
const (
	stockServer = "stock"
	lockServer  = "locks"
)

// network is the target of faults on links, as a history names it.
const network = "network"

// A Process is an instance, seen from outside.
type Process interface {
	// ExpectExit announces that the instance is going to exit. The channel is closed when it has exited.
	ExpectExit() <-chan struct{}
	// Kill kills the process.
	Kill()
	// Stop stops the process, Stopped reports whether it has stopped, and Continue continues it.
	Stop() error
	Stopped() (bool, error)
	Continue() error
}

// A Link is the network path from one instance to one server.
type Link interface {
	// Cut closes the connections and refuses new ones.
	Cut() error
	// DropRequests and DropResponses drop what goes one way. DelayResponses delays the responses until Heal.
	DropRequests() error
	DropResponses() error
	DelayResponses() error
	// DelayRequests delays the requests by that much.
	DelayRequests(by time.Duration) error
	// Heal removes all faults from the link. What was delayed arrives.
	Heal() error
}

// A Server is one lock server of the cell's own.
type Server interface {
	// Keys counts its keys.
	Keys(ctx context.Context) (int64, error)
	// Queued counts the waiters that queue at it.
	Queued(ctx context.Context) (int64, error)
	// Kill kills it. Restart restarts it at the same address, empty.
	Kill()
	Restart(ctx context.Context) error
	// Expire ends all keys that have a TTL.
	Expire(ctx context.Context) error
}

// A Member is one server of an ensemble.
type Member interface {
	Server
	// Leads reports whether it leads the others. It fails if it does not serve, as without a majority.
	Leads(ctx context.Context) (bool, error)
}

// A Pair is a primary and its replicas, of which a Sentinel promotes one.
type Pair interface {
	// PauseReplication keeps all later writes from the replicas, PauseReplicationToNext from the next to be promoted.
	PauseReplication(ctx context.Context) error
	PauseReplicationToNext(ctx context.Context) error
	// DelayPromotion keeps the Sentinel from promoting a replica until the primary has been gone for so long.
	DelayPromotion(ctx context.Context, d time.Duration) error
	// KillPrimary kills the primary. Partition cuts it off from the replicas, the Sentinel and their clients.
	KillPrimary()
	Partition(ctx context.Context) error
	// AwaitPromotion waits until a replica has taken the primary's place. FailOver kills the primary first.
	AwaitPromotion(ctx context.Context) error
	FailOver(ctx context.Context) error
	// AwaitMinReplicas waits until the primary that was cut off counts no replica, and the promoted one counts one.
	AwaitMinReplicas(ctx context.Context) error
}

// nameServers replaces the addresses of links in an op's trace by those of the servers behind them: what two instances
// did to one key over two links, they did to one key.
func (t *FaultTargets) nameServers(op *history.Op) {
	if t == nil {
		return
	}
	for i := range op.Trace {
		if server := t.Behind[op.Trace[i].Node]; server != "" {
			op.Trace[i].Node = server
		}
	}
}
