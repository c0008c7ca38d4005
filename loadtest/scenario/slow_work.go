package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/rig"
)

var slowWork = declare(catalog.Scenario{
	Name:      "slow-work",
	Does:      "the work takes 2.5 leases in a healthy process",
	Instances: 2,
	TTL:       renewedLease,
	First:     true,
}, injectSlowWork,
	on("v1 v12-naive v12-session", holds, "without a TTL nothing expires: the others wait"),
	on("v1.5 v2", oversold, "the lease expires during the work, and the next holder reads the same stock"),
	on("v3", oversold, "a token says whose lock it was, not that it still is"),
	on("v4", oversold, "an atomic release comes too late: the harm is done"),
	on("v5 v5-as-printed v7 v10 v12 v15 v15-write-only", holds, "the lease is renewed for as long as the work takes"),
	on("v5.5 v9", holds, "after three renewals the work is cancelled before it writes, while the lease still lasts"),
	on("v6", holds, "the lease is renewed on the nodes for as long as the work takes"),
	on("v8", holds, "the lease is renewed for as long as the work takes, and the others wait in line"),
	like("v9-nodes", catalog.Variant{Of: "v9"}),
	on("v11", holds, "the permit is renewed for as long as the work takes"),
	on("v13 v14", holds, "there is no TTL: the session lasts as long as the process is healthy"),
	on("v14-hasty", holds, "the others wait longer than the work takes, and the release wakes them"),
	on("v16", holds, "the slow order finds that the stock has changed, writes nothing and retries"),
	on("v17", holds, "its work comes before the script, which takes no time"),
	needNoFault,
)

// injectSlowWork sends to a an order whose work outlasts its lease; nothing fails. Meanwhile b tries to sell.
func injectSlowWork(f *play) {
	f.slowWork(client.Order{}, nil, func(first *inFlight, begun time.Time) {
		first.note(begun, rig.WorkFault(f.longWork(), f.Load.TTL))
	})
}

var explicitLease = declare(catalog.Scenario{
	Name:      "explicit-lease",
	Does:      "the work takes 2.5 leases in a healthy process, and the order has asked for no renewals",
	Instances: 2,
	TTL:       renewedLease,
}, injectExplicitLease,
	on("v5 v5-as-printed", oversold,
		"without its renewals it is v4: the lease expires during the work, and the next holder reads the same stock"),
	on("v5.5 v5.7 v7 v8 v9 v10 v12 v15 v15-write-only", holds,
		"the lease expires during the work, but its holder tracks it: the work is cancelled before it writes"),
	on("v6", holds,
		"the lease expires on the nodes, but its holder tracks it: the work is cancelled before it writes"),
	like("v9-nodes", catalog.Variant{Of: "v9"}),
	on("v11", holds,
		"the permit expires during the work, but its holder tracks it: the work is cancelled before it writes"),
	skip("v1.5 v2 v3 v4", "it never renews: slow-work is the same"),
	skip("v1 v12-naive v12-session v13 v14 v14-hasty", "its lock has no TTL, so there is nothing to renew"),
	needNoFault,
	takeNoLock,
)

// injectExplicitLease is injectSlowWork with an order whose lease is not renewed.
func injectExplicitLease(f *play) {
	f.slowWork(client.Order{NoRenew: true}, nil, func(first *inFlight, begun time.Time) {
		work := rig.WorkFault(f.longWork(), f.Load.TTL)
		work.Text += ", not renewed"
		first.note(begun, work)
	})
}

// longWork is work that outlasts a lease, and the bound of v5.5's renewals.
func (f *play) longWork() time.Duration { return f.Load.TTL * 5 / 2 }

// slowWork sends to a an order like with, whose work outlasts its lease, and calls fault, unless nil, when that work
// begins. Meanwhile b tries to sell. When a's order has ended, it calls record.
func (f *play) slowWork(with client.Order, fault func(), record func(first *inFlight, begun time.Time)) {
	f.warmUp()
	with.Fault, with.Work, with.Wait = "hold@"+f.rung.AfterRead(), f.longWork(), 4*f.Load.TTL
	first := f.order(a, "anna", with)
	first.waitHeld()
	begun := time.Now()
	if fault != nil {
		fault()
	}
	first.endHold()
	second := f.order(b, "bert", client.Order{Wait: 4 * f.Load.TTL})
	first.waitAnswered()
	record(first, begun)
	second.waitAnswered()
}
