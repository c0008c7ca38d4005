package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var soldOutRestock = declare(catalog.Scenario{
	Name:      "sold-out-restock",
	Does:      "an order finds the shop sold out; then the shop is restocked, and another order buys",
	Instances: 2,
}, injectSoldOutRestock,
	on("v1 v1.5 v2 v3 v4 v12-naive v12-session", holds, "the lock is released whether there was a sale or not"),
	on("v5", holds, "the timer is stopped whether there was a sale or not"),
	on("v5-as-printed", stuck, "without a sale nothing stops its timer, which rewrites the released key for ever"),
	on("v5.5 v6 v7 v8 v9 v9-nodes v10 v11 v12 v15 v15-write-only", holds,
		"the renewer is stopped whether there was a sale or not"),
	on("v13 v14", holds, "the node is deleted whether there was a sale or not"),
	on("v16 v17", holds, "it locks nothing"),
	needNoFault,
)

// injectSoldOutRestock orders from an empty stock, fills it, and orders again.
func injectSoldOutRestock(f *play) {
	url := f.cell.Instances[a].URL
	f.must(f.Client.SetStock(f.ctx, url, f.cell.Product, 0))
	begun := time.Now()
	first := f.order(a, "anna", client.Order{})
	first.waitAnswered()
	f.must(f.Client.SetStock(f.ctx, url, f.cell.Product, f.cell.Initial))
	first.recordFault(begun, "refused as sold out")
	// A timer that was left running acts after half a lease, which cannot be seen from outside: wait for a whole lease.
	f.sleepUntil(time.Now().Add(f.Load.TTL))
	f.order(b, "bert", client.Order{}).waitAnswered()
}
