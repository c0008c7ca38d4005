package scenario

import "stockapi/loadtest/catalog"

var writeOnlyFence = declare(catalog.Scenario{
	Name:      "write-only-fence",
	Does:      "both have read when the one with the older token, paused till then, writes first",
	Instances: 2,
	Stops:     true,
}, injectWriteOnlyFence,
	on("v15", shared, "the newer token was seen when its holder read, so the older one's write is refused"),
	on("v15-write-only", oversold,
		"the stock first sees the older token, then the newer: each write finds its own the newest yet"),
	skipOthers("its stock looks at no fencing token"),
)

// injectWriteOnlyFence stops a between its read and its write, until b has read too. Then a writes, and after it b.
func injectWriteOnlyFence(f *play) {
	f.stopBeforeWrite("hold@before:"+f.rung.Write, (*inFlight).waitHeld, (*inFlight).finish)
}
