package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

var nested = declare(catalog.Scenario{
	Name:      "nested",
	Does:      "the business code takes the lock that its own order already holds; later the same caller orders again",
	Instances: 2,
}, injectNested,
	on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v9 v9-naive v9-nodes v10 v11 v12-naive v12-session v13 v14 v15 "+
		"v15-write-only", stuck, itself),
	on("v7", holds, "the lock knows its owner, and counts"),
	on("v8", holds, "the lock knows its owner, counts, and lets it in past the queue"),
	on("v14-hasty", oversold,
		"it waits for its own node until it times out, and gets in; its caller's next order gets in the same way, beside "+
			"the next holder"),
	on("v7-cached", oversold,
		"its caller has released the lock, but the process still remembers holding it, and lets it in beside the next one"),
	on("v12", holds, "the row knows its owner, and counts"),
	on("v16 v17", holds, "it locks nothing, so there is nothing to take again"),
	needNoFault,
)

// injectNested has a caller acquire its own lock again while it holds it. Later, while b holds the lock, the same
// caller orders again: it must not believe that it still holds the lock.
func injectNested(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "anna", client.Order{Caller: 1, Nested: true})
	first.waitAnswered()
	first.recordFault(begun, "acquiring again the lock that it holds")
	second := f.order(b, "bert", client.Order{Fault: "hold@before:" + f.rung.Write})
	second.waitHeld()
	begun = time.Now()
	third := f.order(a, "3", client.Order{Caller: 1})
	third.waitAnswered()
	if third.Op.Outcome == history.Sold {
		third.recordFault(begun, "by a caller that had held the lock before")
	}
	f.nested = true
	second.finish()
}

// itself is the reason why a lock breaks when its holder acquires it again.
const itself = "it does not recognize its own holder: its own lock refuses the order or keeps it waiting, and every " +
	"later order too"
