package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var oppositeOrder = declare(catalog.Scenario{
	Name:      "opposite-order",
	Does:      "two orders lock two products in opposite order and wait up to 3 s; a fresh request has 1 s to get through",
	Instances: 2,
	TTL:       3 * time.Second,
	Within:    time.Second,
}, injectOppositeOrder,
	on("v9", holds, "it takes both or none, in the same order as all others, and holds none while it waits"),
	on("v9-naive", stuck,
		"each holds the lock that the other waits for, and no order gets either until their waits are over"),
	skipOthers("an order is for one product, and takes one lock"),
)

// injectOppositeOrder sends an order of two products to a, and one of the same products in the opposite order to b.
// Both are held until each has sent its first acquire; then each holds one lock and wants the other. The fresh
// requests, for the first product, arrive while both are in flight.
func injectOppositeOrder(f *play) {
	f.warmUp()
	one, two := f.cell.Product, f.secondProduct()
	f.must(f.Client.SetStock(f.ctx, f.cell.Instances[a].URL, two, f.cell.Initial))
	with := func(items ...string) client.Order {
		return client.Order{Items: items, Fault: "hold@after:" + f.rung.Acquire, Wait: f.Load.TTL}
	}
	begun := time.Now()
	first, second := f.order(a, "anna", with(one, two)), f.order(b, "bert", with(two, one))
	for _, o := range []*inFlight{first, second} {
		o.waitHeld()
	}
	for _, o := range []*inFlight{first, second} {
		o.endHold()
	}
	first.recordFault(begun, "acquiring two locks while order 2 on %s acquires the same in the opposite order",
		f.cell.Instances[b].Name)
}

// secondProduct names a second product of the cell. clear removes it.
func (f *play) secondProduct() string {
	f.second = f.cell.Product + "-beside"
	return f.second
}

// clear removes the second product from the backend.
func (f *play) clear(ctx context.Context) {
	if f.second != "" {
		_ = f.Client.Forget(ctx, f.cell.Instances[b].URL, f.second)
	}
}
