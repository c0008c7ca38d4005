package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var pause = declare(catalog.Scenario{
	Name:      "pause",
	Does:      "SIGSTOP at the last instant before the write, until a second order has sold",
	Instances: 2,
	Stops:     true,
	First:     true,
}, injectPause,
	on("v1 v12-naive", holds, "nothing expires: the others wait, and give up"),
	on("v1.5 v2 v3 v4", oversold, "a stopped process does not see its lease expire"),
	on("v5 v5-as-printed v7 v8 v10 v11", oversold, "the renewal timer is stopped with the process"),
	on("v5.5 v9", oversold, "it was stopped after its last check of the lease, and wrote what it had decided before"),
	on("v6 v9-nodes", oversold, "five nodes agree that the lease has expired, but the write does not ask them"),
	on("v12", oversold, "the database sees the lease expire; its holder does not"),
	on("v12-session", holds, "its connection is still open, so it still has its lock: the others wait, and give up"),
	on("v13 v14", oversold,
		"a stopped process sends no heartbeats, so the server ends its session; its fencing token is never checked"),
	on("v15", shared,
		"two orders believe they hold the lock, but the stock has seen the newer token and refuses the older"),
	on("v15-write-only", shared, "the newer token has written, so the stock refuses the older"),
	on("v16", holds, "EXEC finds that the stock has changed since the read, and the order retries"),
	on("v17", holds, "it read nothing before the script, so nothing it knows can be stale"),
	needNoFault,
)

// injectPause stops a at the last moment before its write. Then b sells, and a is resumed.
func injectPause(f *play) {
	f.stopBeforeWrite("", (*inFlight).waitAnswered, func(*inFlight) {})
}

// stopBeforeWrite stops a before its write and sends a second order to b. When reached returns for that order, a is
// resumed. After a has ended it calls after.
func (f *play) stopBeforeWrite(fault string, reached, after func(second *inFlight)) {
	f.warmUp()
	first := f.order(a, "anna", client.Order{Fault: "hold@before:" + f.rung.Write, Wait: f.secondWait()})
	begun := first.stopHeld()
	second := f.order(b, "bert", client.Order{Fault: fault, Wait: f.secondWait()})
	reached(second)
	first.resume()
	first.note(begun, rig.StopFault(time.Since(begun), "before "+f.rung.Write, f.Load.TTL))
	first.waitAnswered()
	after(second)
}
