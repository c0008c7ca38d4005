package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
)

var lateReply = declare(catalog.Scenario{
	Name:      "late-reply",
	Does:      "the reply to the acquire arrives after the lease has expired, while a second order holds the lock",
	Instances: 2,
	Topology:  catalog.Topology{Links: true, OwnLocks: true},
	Timeout:   4 * time.Second,
}, injectLateReply,
	on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
	on("v1.5", holds, "it sends no EXPIRE before it has the reply to its SETNX, so nothing has expired"),
	on("v2 v3 v4 v5 v5-as-printed", oversold,
		"it counts a whole lease from the reply, and by then the lease has expired"),
	on("v5.5 v7 v8 v9 v9-nodes v10 v12 v15 v15-write-only", holds,
		"it counts its lease from the request, so when the reply arrives it knows that the lease is over"),
	on("v6", holds, "a node that answers that late counts as one that did not answer"),
	on("v11", holds, "it counts its permit from the request, so when the reply arrives it knows that the permit is over"),
	on("v13 v14", holds,
		"it counts its session from the request, so when the reply arrives it knows that the session may be over"),
	needNoFault,
	takeNoLock,
)

// injectLateReply delays the reply to a's acquire until b holds the lock or has given up.
func injectLateReply(f *play) {
	first, begun := f.acquireUnanswered((*cluster.Link).DelayResponses)
	second := f.order(b, "bert", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	second.waitHeldOrAnswered()
	first.recordFaultOn(network, begun, time.Now(), "whose acquire was replied to after %s, under a lease of %s",
		seconds(time.Since(begun)), seconds(f.Load.TTL))
	f.healAll()
	first.waitAnswered()
	second.finish()
}
