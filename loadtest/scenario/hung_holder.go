package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var hungHolder = declare(catalog.Scenario{
	Name:      "hung-holder",
	Does:      "the work takes longer than any order waits",
	Instances: 2,
	TTL:       renewedLease,
	Within:    3 * renewedLease,
	First:     true,
}, injectHungHolder,
	on("v1 v12-naive v12-session", stuck, "only its holder ends the lock"),
	on("v1.5 v2 v3 v4", shared, "the lease expires, and the next order acquires the lock beside the first"),
	on("v5 v5-as-printed v7 v8 v10 v11", stuck, "it renews for ever: the process is healthy, and so is its timer"),
	on("v5.5 v9", holds, "after three renewals the work is cancelled and the lock released"),
	on("v6", stuck, "it renews for ever, on all nodes"),
	like("v9-nodes", catalog.Variant{Of: "v9"}),
	on("v12 v15 v15-write-only", stuck, "it renews for ever"),
	on("v13 v14", stuck, "its session lasts for as long as its process"),
	on("v14-hasty", shared, "the fresh request's wait times out, and it believes it holds the lock, beside the first"),
	needNoFault,
	takeNoLock,
)

// injectHungHolder sends to a an order whose work takes longer than any order waits. The fresh requests arrive during
// it.
func injectHungHolder(f *play) {
	f.warmUp()
	first := f.order(a, "anna", client.Order{Fault: "hold@" + f.rung.AfterRead(), Work: f.endlessWork()})
	first.waitHeld()
	begun := time.Now()
	first.endHold()
	first.recordFault(begun, "working endlessly under a lease of %s", seconds(f.Load.TTL))
	f.probes = []int{b}
}

// endlessWork is work that outlasts the last fresh request.
func (f *play) endlessWork() time.Duration { return f.cell.Limit + 1200*time.Millisecond }
