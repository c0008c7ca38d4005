package scenario

import (
	"strconv"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

var redisDown = declare(catalog.Scenario{
	Name:      "redis-down",
	Does:      "all servers go away, each instance gets an order, and the servers come back",
	Instances: 2,
	Topology:  catalog.Topology{Links: true},
	Timeout:   300 * time.Millisecond,
}, injectRedisDown,
	on("v0 v0.5 v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v9 v9-nodes v10 v11 v12 v12-naive v15 "+
		"v15-write-only v16 v17", holds,
		"each order is clearly refused, and the clients reconnect by themselves"),
	on("v7 v8", holds, "each order is clearly refused, and the clients reconnect and resubscribe by themselves"),
	on("v11-two", holds, "each order is clearly refused, and afterwards there is only one at a time"),
	on("v12-session", holds, "each order is clearly refused, and the clients reconnect by themselves, in new sessions"),
	on("v13 v14", holds, "each order is clearly refused, and the clients reconnect by themselves, in a new session"),
)

// injectRedisDown cuts both instances off from all servers, sends an order to each, and heals the links.
func injectRedisDown(f *play) {
	f.warmUp()
	f.onAllLinks(append(f.lockServers(), stockServer), (*cluster.Link).Cut)
	for i, in := range f.cell.Instances {
		begun := time.Now()
		for f.Client.Ready(f.ctx, in.URL) && time.Since(begun) < barrierTimeout+f.slack() {
			continue // until it has noticed: the outcome of a command on a connection that is being closed would be unknown
		}
		o := f.order(i, strconv.Itoa(i+1), client.Order{})
		o.waitAnswered()
		o.recordFaultOn(network, begun, time.Now(), "without any server")
	}
	f.healAll()
}
