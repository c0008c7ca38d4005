package scenario

import (
	"slices"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

var checkDeleteGap = declare(catalog.Scenario{
	Name: "check-delete-gap",
	Does: "the lease expires just before the release is sent, and a second order holds the lock; a third tries after a " +
		"release that reports no removal",
	Instances: 2,
	First:     true,
}, injectCheckDeleteGap,
	on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
	on("v1.5 v2", freed, "DEL deletes the key, whichever order holds it"),
	on("v3", freed, "it checked, but the key changed hands between GET and DEL"),
	on("v4 v8", holds, "the check and the delete are one script: there is no gap between them"),
	on("v5", holds, "it has stopped renewing by then, but the script compares the token"),
	on("v5-as-printed", holds, "the sale has stopped the timer, and the script compares the token"),
	on("v5.5 v15 v15-write-only", holds, "the script compares the token"),
	on("v6 v9-nodes", holds, "the script compares the token, on every node"),
	on("v7", holds, "the script removes only its owner's field"),
	on("v9", holds, "the script compares the token, on every key"),
	on("v10", holds, "an expired writer is dropped, and the script removes only its own token"),
	on("v11", holds, "an expired permit is dropped, and the script removes only its own token"),
	on("v12", holds, "the statement names the owner, and changes no other owner's row"),
	on("v13", holds, "the session lasts, and one transaction deletes both its nodes or neither"),
	on("v14", holds, "the session lasts, and it deletes only the node that it created"),
	on("v14-hasty", holds,
		"the second gets in when its wait times out, but the first deletes only the node that it created"),
	needNoFault,
	takeNoLock,
)

// injectCheckDeleteGap holds a between its sale and its release, past its lease, until b holds the lock. Then a
// releases. A release that reports no removal is not trusted: a third order, while b still holds the lock, checks at
// the server. It tries once, since b's lease may not be renewed.
func injectCheckDeleteGap(f *play) {
	first, second := f.holdPastLease("hold@before:release", "before its release")
	first.finish()
	if !first.removedLock() {
		f.order(a, "3", client.Order{Wait: time.Millisecond}).waitAnswered()
	}
	second.finish()
}

// removedLock reports whether an answered order's trace has a removal of a lock.
func (o *inFlight) removedLock() bool {
	return slices.ContainsFunc(o.Op.Trace, func(cmd history.Command) bool { return cmd.Releases() && cmd.Succeeded() })
}
