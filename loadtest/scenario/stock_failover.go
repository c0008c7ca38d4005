package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var stockFailover = declare(catalog.Scenario{
	Name:      "stock-failover",
	Does:      "the primary of the stock dies before it has replicated a sale; the locks are elsewhere, and unaffected",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedStock: true},
	TTL:       longLease,
}, injectStockFailover,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v7 v8 v9 v9-nodes v10 v11 v12 v12-naive v12-session v13 "+
		"v14", soldTwice,
		"the lock did its job, but the stock itself went back to before the sale"),
	on("v15 v15-write-only", soldTwice, "the newest token seen goes back with the stock"),
	on("v16", soldTwice, "what WATCH watches has gone back to before the sale"),
	on("v17", soldTwice, "a script runs as a whole or not at all, but the whole of it can be lost"),
	needNoFault,
)

// injectStockFailover kills the primary of the stock before its replica has a's sale. The locks are on another server,
// which stays up.
func injectStockFailover(f *play) {
	f.warmUp()
	pair := f.Targets.Pairs[stockServer]
	f.must(pair.PauseReplication(f.ctx))
	first := f.order(a, "anna", client.Order{})
	first.waitAnswered()
	begun := time.Now()
	f.must(pair.FailOver(f.ctx))
	first.recordFaultOn(stockServer, begun, time.Now(), "whose sale died with the stock's primary")
	f.order(b, "bert", client.Order{}).waitAnswered()
}
