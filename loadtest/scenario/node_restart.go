package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var nodeRestart = declare(catalog.Scenario{
	Name:      "node-restart",
	Does:      "the lock server, or one of the nodes that granted, restarts empty while the lock is held",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true},
	TTL:       longLease,
}, injectNodeRestart,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
		"the server has forgotten the lock, and grants it again"),
	on("v6", oversold,
		"the node that has forgotten the lock votes again, and with two that were never asked it makes a majority"),
	on("v9-nodes", holds, "the node that has forgotten the lock grants it again, but the other four remember it"),
	on("v10", oversold, "the server has forgotten the writer, and lets the next one in"),
	on("v11", oversold, "the server has forgotten the permit, and grants it again"),
	on("v12 v12-naive", holds, "this server does not restart empty: the row was on disk before the lock was granted"),
	on("v12-session", shared,
		"its lock ends with the server, and is granted again; but its connection ends too: it notices at its next "+
			"check, at most 200 ms later, and cancels the work before it writes"),
	on("v13 v14", holds,
		"this server does not restart empty: the lock was on disk before it was granted, and the session goes on"),
	on("v15 v15-write-only", shared,
		"the server grants it again, but with a newer token, and the stock refuses the older"),
	skip("v14-hasty",
		"its lock outlasts the restart as v14's does, but the second order may get in when its wait ends: see hung-holder"),
	needNoFault,
	takeNoLock,
)

// injectNodeRestart restarts the lock server, or one of several nodes, while a holds the lock. If a majority is enough,
// two nodes are down when a arrives, and return together with the node that lost its data.
func injectNodeRestart(f *play) {
	f.warmUp()
	restarted, text := f.lockServers(), "whose lock server restarted empty"
	switch {
	case f.rung.OnSQL():
		text = "whose lock server restarted"
	case f.rung.Quorum:
		restarted, text = nodes(3, 5), "one of whose three nodes restarted empty"
		f.kill(nodes(4, 5))
	case f.rung.OnNodes():
		restarted, text = nodes(3, 3), "one of whose five nodes restarted empty"
	}
	f.loseLock(text, func() {
		f.kill(restarted)
		f.restart(restarted)
	})
}

var delayedRestart = declare(catalog.Scenario{
	Name:      "delayed-restart",
	Does:      "the same, but the node comes back only after the TTL",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true},
}, injectDelayedRestart,
	on("v6", holds, "the lease that the node has forgotten is over by the time it votes again"),
	skipOthers("its lock is not granted by a majority of nodes, one of which could vote twice"),
)

// injectDelayedRestart does the same, but the node returns only after every lease that it could have lost expired.
func injectDelayedRestart(f *play) {
	f.warmUp()
	f.kill(nodes(4, 5))
	first := f.order(a, "anna", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	begun := time.Now()
	f.kill(nodes(3, 3))
	second := f.order(b, "bert", client.Order{Wait: 8 * f.Load.TTL})
	first.finish()
	f.sleepUntil(begun.Add(f.Load.TTL))
	f.restart(nodes(3, 5))
	first.recordFaultOn(lockServer, begun, time.Now(), "one of whose three nodes restarted empty after %s",
		seconds(time.Since(begun)))
	second.waitAnswered()
}
