package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
)

var splitBrain = declare(catalog.Scenario{
	Name: "split-brain",
	Does: "a partition leaves the primary of the locks with one instance; on the other side a replica is promoted, " +
		"and both sides go on",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedLocks: true, OneLink: true},
	TTL:       longLease,
}, injectSplitBrain,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v7 v8 v9 v10 v11", oversold,
		"there are two primaries, neither knows of the other, and each grants the lock"),
	on("v5.7", holds, "the old primary reaches no replica that could confirm the lock, so it grants nothing"),
	on("v15 v15-write-only", shared,
		"two primaries grant the lock, but tokens come from the clock: the later grant has the higher one, and the "+
			"stock, of which there is only one, refuses the older"),
	needNoFault,
	noReplicas,
	takeNoLock,
)

// injectSplitBrain partitions the servers of the locks: the primary is on a's side, all others are on b's, and one of
// them is promoted. Then a acquires the lock, and b tries to.
func injectSplitBrain(f *play) {
	f.mayRefuse = f.rung.Replicated
	f.splitBrain(f.awaitPromotion, atOnce)
}

var splitBrainMinReplicas = declare(catalog.Scenario{
	Name:      "split-brain-min-replicas",
	Does:      "the same with min-replicas-to-write 1, after the old primary has not heard from its replicas for max-lag",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedLocks: true, OneLink: true, MinReplicas: true},
	TTL:       longLease,
}, injectSplitBrainMinReplicas,
	on("v5.5", holds, "the old primary has heard from no replica for longer than max-lag, and refuses every write"),
	on("v5.7", holds, "the old primary refuses the write before WAIT matters"),
	on("v7", holds, "the old primary refuses the write of a script too"),
	skip("v7-cached", splitForAll),
	skipOthers(splitForAll),
)

// injectSplitBrainMinReplicas does the same, but a arrives when the old primary counts no replica any more.
func injectSplitBrainMinReplicas(f *play) {
	f.mayRefuse = true
	f.splitBrain(f.awaitMinReplicas, atOnce)
}

var splitBrainInLag = declare(catalog.Scenario{
	Name:      "split-brain-in-lag",
	Does:      "the same, but the lock is taken on the old primary before max-lag has passed",
	Instances: 2,
	Topology:  catalog.Topology{ReplicatedLocks: true, OneLink: true, MinReplicas: true},
	TTL:       longLease,
}, injectSplitBrainInLag,
	on("v5.5 v7", oversold,
		"until max-lag has passed the old primary counts replicas that it does not reach, and the lease outlasts that"),
	on("v5.7", holds, "WAIT asks about this very lock, not whether a replica has answered recently"),
	skip("v7-cached", splitForAll),
	skipOthers(splitForAll),
)

// injectSplitBrainInLag does the same, but a arrives at once, while the old primary still counts its replicas.
func injectSplitBrainInLag(f *play) {
	f.mayRefuse = f.rung.Replicated
	f.splitBrain(atOnce, f.awaitMinReplicas)
}

// splitForAll is why few rungs take part in the scenarios with min-replicas-to-write.
const splitForAll = "an acquire is a write like any other: v5.5 and v7 stand for all of them"

// atOnce waits for nothing.
func atOnce() {}

// awaitPromotion waits until a replica is promoted.
func (f *play) awaitPromotion() { f.must(f.locks().AwaitPromotion(f.ctx)) }

// awaitMinReplicas waits until a replica is promoted, and until both primaries count the replicas that they have.
func (f *play) awaitMinReplicas() {
	f.awaitPromotion()
	f.must(f.locks().AwaitMinReplicas(f.ctx))
}

// splitBrain partitions the servers of the locks, and waits by the two functions before and after a's acquire.
func (f *play) splitBrain(before, after func()) {
	f.warmUp()
	begun := time.Now()
	f.must(f.locks().Partition(f.ctx))
	before()
	first := f.order(a, "anna", f.heldOrder())
	f.waitTaken(first)
	after()
	first.recordFaultOn(lockServer, begun, time.Now(), "on the side of the old primary")
	f.waitReady(b)
	f.sellBeside(first)
}
