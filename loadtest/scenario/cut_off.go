package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/rig"
)

var cutOff = declare(catalog.Scenario{
	Name:      "cut-off",
	Does:      "the holder is cut off from its lock server, but not from the stock: requests to the lock server are lost",
	Instances: 2,
	Topology:  catalog.Topology{Links: true},
	Timeout:   300 * time.Millisecond,
	First:     true,
}, injectCutOff,
	on("v1", stuck, "without a TTL no order gets in beside it, but its DEL is lost, so none ever will"),
	on("v12-naive", stuck, "without a TTL no order gets in beside it, but its DELETE is lost, so none ever will"),
	on("v1.5 v2 v3 v4", oversold, "the lease ends at work, cut off or not"),
	on("v5 v5-as-printed", oversold, "its renewals get no answer, and their results are not checked"),
	on("v5.5 v7 v8 v9 v9-nodes v10 v11 v12 v15 v15-write-only", holds,
		"without an answer to its renewals it cancels the work before the lease can have ended"),
	on("v6", holds, "without a majority for its renewals it cancels the work before the lease can have ended"),
	on("v12-session", holds,
		"without a TTL no order gets in beside it; its next check gets no answer, so it cancels the work, and its lock "+
			"ends when the server notices that the connection has ended"),
	on("v13 v14", holds, "without an answer it cancels the work before the server can have ended its session"),
	on("v16 v17", holds, "it needs no server but the stock's"),
	needNoFault,
)

// injectCutOff drops a's requests to its lock servers while its work outlasts its lease. Meanwhile b tries to sell.
func injectCutOff(f *play) {
	cut := func() { f.onLinks(a, f.lockServers(), (*cluster.Link).DropRequests) }
	f.slowWork(client.Order{}, cut, func(first *inFlight, begun time.Time) {
		first.note(begun, rig.CutFault("its lock", time.Since(begun), f.Load.TTL))
	})
	f.probes = []int{b}
	f.healAll()
}
