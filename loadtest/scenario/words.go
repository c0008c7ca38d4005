package scenario

import (
	"slices"

	"stockapi/loadtest/catalog"
)

// The vocabulary of the tables: see package catalog.
var (
	on         = catalog.On
	like       = catalog.Like
	skip       = catalog.Skip
	skipOthers = catalog.SkipOthers

	holds         = catalog.Holds
	soldTwice     = catalog.SoldTwice
	shared        = catalog.Shared
	oversold      = catalog.Oversold
	freed         = catalog.Freed
	oversoldFreed = catalog.OversoldFreed
	stuck         = catalog.Stuck
	overtaken     = catalog.Overtaken
	herded        = catalog.Herded
)

// Groups that several scenarios share.
var (
	// needNoFault are rungs that break under load alone.
	needNoFault = slices.Concat(
		skip("v0", "it guards nothing: load alone breaks it, as one-instance and two-instances show"),
		skip("v0.5", "its mutex does not reach other processes: two-instances breaks it without any fault"),
		skip("v11-two", "it admits two holders: two-instances breaks it without any fault"),
	)
	// takeNoLock are the rungs without a lock that could expire.
	takeNoLock = skip("v16 v17", "it has no lock, so there is nothing to expire or to release")
	// haveOneServer are the rungs that no fault of some of several nodes can affect.
	haveOneServer = skipOthers("its lock is not on several nodes")
)
