package scenario

import "stockapi/loadtest/catalog"

var clockJump = declare(catalog.Scenario{
	Name:      "clock-jump",
	Does:      "the clock of the lock server, or of three nodes, jumps past the lease (simulated)",
	Instances: 2,
	Topology:  catalog.Topology{OwnLocks: true},
	TTL:       longLease,
	First:     true,
}, injectClockJump,
	on("v1 v12-naive v12-session", holds, "without a TTL no clock can expire it"),
	on("v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9", oversold,
		"the lease expires by a clock that the holder does not see"),
	on("v6", oversold, "three nodes agree that the lease has expired, and they are the majority"),
	on("v9-nodes", holds, "three nodes grant it again, but the other two do not"),
	on("v10 v11", oversold, "the deadline passes by a clock that the holder does not see"),
	on("v12", oversold, "the row expires by the database's clock, which the holder does not see"),
	on("v15 v15-write-only", shared, "the lease ends early, but the stock refuses the older token"),
	needNoFault,
	skip("v13 v14", "no settable clock ends a session: the server uses a monotonic one"),
	takeNoLock,
)

// injectClockJump expires the keys of the lock server, or of most of Redlock's nodes, early. The jump is simulated: the
// keys expire as if the clock were set forward.
func injectClockJump(f *play) {
	f.warmUp()
	jumping, text := f.lockServers(), "whose lock server's clock jumped (simulated: its keys ended early)"
	if len(jumping) > 1 {
		jumping, text = nodes(1, 3), "three of whose nodes' clocks jumped (simulated: their keys ended early)"
	}
	f.loseLock(text, func() {
		for _, name := range jumping {
			f.must(f.Targets.Servers[name].Expire(f.ctx))
		}
	})
}
