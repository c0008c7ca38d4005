package scenario

import (
	"cmp"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var crash = declare(catalog.Scenario{
	Name:      "crash",
	Does:      "SIGKILL of the holder at work; v1.5 dies in its gap",
	Instances: 2,
	First:     true,
}, injectCrash,
	on("v1", stuck, "its key has no TTL, and its only deleter is dead"),
	on("v1.5", stuck, "it died between SETNX and EXPIRE, so the key has no TTL"),
	on("v2", holds, "SET created the key with a TTL, so it expires"),
	on("v3 v4", holds, "the TTL ends the dead holder's lease"),
	on("v5 v5-as-printed v5.5 v9", holds, "the renewal timer died with the process"),
	on("v6 v9-nodes", holds, "the TTL ends the lease on every node"),
	on("v7 v8", holds, "the TTL ends the lease, and no waiter waits longer than that for its message"),
	on("v10", holds, "the next acquire drops the dead writer once its deadline has passed"),
	on("v11", holds, "the next acquire drops the dead holder's permit once its deadline has passed"),
	on("v12", holds, "the row expires by the database's clock, and the next one takes it over"),
	on("v12-naive", stuck, "its row does not expire, and its only deleter is dead"),
	on("v12-session", holds, "the connection dies with the process, and the lock with the connection"),
	on("v13 v14", holds, "the server gets no more heartbeats, so it ends the session and deletes its nodes"),
	on("v14-hasty", holds, "its wait times out and it believes it holds the lock: this time there is no other holder"),
	on("v15 v15-write-only", holds, "the TTL ends the lease, and the next token is higher"),
	on("v16", holds, "a WATCH ends with its connection, and nothing was written"),
	on("v17", holds, "the script runs as a whole or not at all"),
	needNoFault,
)

// injectCrash kills a while it holds the lock.
func injectCrash(f *play) {
	point := cmp.Or(f.rung.Gap, "before:"+f.rung.Write)
	f.warmUp()
	first := f.order(a, "anna", client.Order{Fault: "hold@" + point})
	first.waitHeld()
	begun := time.Now()
	first.kill()
	first.note(begun, rig.KillFault(strings.Replace(point, ":", " ", 1)))
	f.probes = []int{b}
}
