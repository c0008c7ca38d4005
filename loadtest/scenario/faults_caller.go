package scenario

import (
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// injectNested lets a caller take its own lock again while it holds it. Later b holds the lock and the same caller
// comes again: it must not believe that it still holds the lock.
func injectNested(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "1", client.Order{Caller: 1, Nested: true})
	first.waitAnswered()
	first.recordFault(begun, "asking again for the lock that it holds")
	second := f.order(b, "2", client.Order{Fault: "hold@before:" + f.rung.Write})
	second.waitHeld()
	begun = time.Now()
	third := f.order(a, "3", client.Order{Caller: 1})
	third.waitAnswered()
	if third.op.Outcome == history.Sold {
		third.recordFault(begun, "by a caller that had held the lock before")
	}
	f.nested = true
	second.finish()
}

// injectSoldOutRestock sells from an empty shelf, fills the shelf, and buys again.
func injectSoldOutRestock(f *play) {
	url := f.cell.Instances[a].URL
	f.must(f.Client.SetStock(f.ctx, url, f.cell.Product, 0))
	begun := time.Now()
	first := f.order(a, "1", client.Order{})
	first.waitAnswered()
	f.must(f.Client.SetStock(f.ctx, url, f.cell.Product, f.cell.Initial))
	first.recordFault(begun, "told that all is sold")
	// A timer that was left running acts after half a lease, which cannot be seen from outside: wait for a whole lease.
	f.sleepUntil(time.Now().Add(f.Load.TTL))
	f.order(b, "2", client.Order{}).waitAnswered()
}
