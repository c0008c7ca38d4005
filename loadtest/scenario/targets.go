package scenario

import (
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// FaultTargets are the servers and links of one cell, and its instances by number, for faults to act on.
type FaultTargets struct {
	*cluster.Site
	Processes []*cluster.Instance
	// Behind maps the address of each link to the address of the server behind it.
	Behind map[string]string
}

// The names of servers. Redlock's are "node 1" to "node 5".
const (
	stockServer = "stock"
	lockServer  = "locks"
)

// network is the name in a history of the target of faults on links.
const network = "network"

// nameServers replaces the addresses of links in an op's trace by those of the servers behind them: two instances reach
// one key over two links.
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
