package scenario

import "stockapi/loadtest/catalog"

var writeOnlyFence = declare(catalog.Scenario{
	Name:      "write-only-fence",
	Does:      "both orders have read; then the one with the older token, paused until then, writes first",
	Instances: 2,
	Stops:     true,
}, injectWriteOnlyFence,
	on("v15", shared, "the stock saw the newer token on read, so it refuses the write with the older one"),
	on("v15-write-only", oversold,
		"the stock sees the older token first, then the newer: each write carries the newest token so far"),
	skip("v18 v19", "its stock checks the token as v15's does"),
	skipOthers("its stock checks no fencing token"),
)

// injectWriteOnlyFence stops a between its read and its write, until b has read too. Then a writes, and after it b.
func injectWriteOnlyFence(f *play) {
	f.stopBeforeWrite("hold@before:"+f.rung.Write, (*inFlight).waitHeld, (*inFlight).finish)
}
