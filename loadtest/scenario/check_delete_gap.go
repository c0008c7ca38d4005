package scenario

import (
	"strings"

	"stockapi/loadtest/catalog"
)

var checkDeleteGap = declare(catalog.Scenario{
	Name:      "check-delete-gap",
	Does:      "the lease ends just before the release is sent, and a second holder is inside",
	Instances: 2,
	First:     true,
}, injectCheckDeleteGap,
	on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
	on("v1.5 v2", freed, "DEL does not ask whose key it is"),
	on("v3", freed, "it has asked, but between GET and DEL the key changed hands"),
	on("v4 v8", holds, "asking and deleting are one script: there is no gap to wait in"),
	on("v5", holds, "the renewing has stopped by then, but the script compares"),
	on("v5-as-printed", holds, "the sale has stopped the timer, and the script compares"),
	on("v5.5 v15 v15-write-only", holds, "the script compares"),
	on("v6 v9-nodes", holds, "the script compares, on every node"),
	on("v7", holds, "the script looks for its owner's field"),
	on("v9", holds, "the script compares, on every key"),
	on("v10", holds, "a writer that has expired is dropped, and the script removes its own token and no other"),
	on("v11", holds, "an expired permit is dropped, and the script removes its own token and no other"),
	on("v12", holds, "the statement names the owner, and changes no row of another's"),
	on("v13", holds, "the session lasts, and both its nodes go in one transaction, or none"),
	on("v14", holds, "the session lasts, and what it removes is a node of its own name"),
	on("v14-hasty", holds, "the second gets in when its wait ends, but what the first removes is a node of its own name"),
	needNoFault,
	takeNoLock,
)

// injectCheckDeleteGap holds a between its sale and its release, past its lease, until b holds the lock. Then a
// releases.
func injectCheckDeleteGap(f *play) {
	first, second := f.holdPastLease(pointsBeforeRelease, "before its release")
	first.finish()
	second.finish()
}

// pointsBeforeRelease names every command that releases a lock of any rung: a release script that has become a GET and
// a DEL has to be found too.
var pointsBeforeRelease = "hold@before:" + strings.Join(catalog.Releases(), ",hold@before:")
