package catalog

// itself is the reason why a lock breaks when its holder takes it again.
const itself = "it does not know its own holder: the order is refused by itself, or waits for itself, and every one " +
	"after it too"

// Something happens to the holder of the lock, or its work takes too long.

var crash = Scenario{
	Name:      "crash",
	Does:      "SIGKILL of the holder at work; v1.5 dies in its gap",
	Instances: 2,
	groups: all(
		on("v1", stuck, "its key has no TTL, and who would delete it is dead"),
		on("v1.5", stuck, "it died after SETNX and before EXPIRE: the key is as v1's"),
		on("v2", holds, "the key came with its TTL, which ends it"),
		on("v3 v4", holds, "the TTL ends the dead holder's lease"),
		on("v5 v5-as-printed v5.5 v9", holds, "the timer that renews died with the process"),
		on("v6 v9-nodes", holds, "the TTL ends the lease on every node"),
		on("v7 v8", holds, "the TTL ends the lease, and waiters wait no longer than that for a message"),
		on("v10", holds, "the next one that asks drops the dead writer, once its deadline has passed"),
		on("v11", holds, "the next one that asks drops the dead holder's permit, once its deadline has passed"),
		on("v12", holds, "the row expires by the database's clock, and the next one takes it over"),
		on("v12-naive", stuck, "its row does not expire, and who would delete it is dead"),
		on("v12-session", holds, "the connection ends with the process, and the lock with the connection"),
		on("v13 v14", holds, "the server hears nothing of the session any more, and ends it with its nodes"),
		on("v14-hasty", holds, "its wait ends and it takes itself for the holder: this time nobody else is"),
		on("v15 v15-write-only", holds, "the TTL ends the lease, and the next token is higher"),
		on("v16", holds, "a WATCH ends with its connection, and nothing was written"),
		on("v17", holds, "the script runs whole or not at all"),
		needNoFault,
	),
}

var slowWork = Scenario{
	Name:      "slow-work",
	Does:      "the work takes 2.5 leases, the process is well",
	Instances: 2,
	TTL:       renewedLease,
	groups: all(
		on("v1 v12-naive v12-session", holds, "without a TTL nothing expires: the others wait"),
		on("v1.5 v2", oversold, "the lease ends at work, and the next one reads the same stock"),
		on("v3", oversold, "a token says whose lock it is, not that it still is"),
		on("v4", oversold, "an atomic release comes after the harm"),
		on("v5 v5-as-printed v7 v10 v12 v15 v15-write-only", holds, "the lease is renewed for as long as the work takes"),
		on("v5.5 v9", holds, "after three renewals the work is cancelled before it writes, while the lease still lasts"),
		on("v6", holds, "the lease is renewed on the nodes for as long as the work takes"),
		on("v8", holds, "the lease is renewed for as long as the work takes, and the others wait in line"),
		like("v9-nodes", Variant{Of: "v9"}),
		on("v11", holds, "the permit is renewed for as long as the work takes"),
		on("v13 v14", holds, "there is no TTL: the session lasts for as long as the process is well"),
		on("v14-hasty", holds, "the others are made to wait for longer than the work takes, and the release wakes them"),
		on("v16", holds, "the slow one finds the stock written meanwhile, writes nothing, and begins again"),
		on("v17", holds, "its work comes before the script, in which nothing takes time"),
		needNoFault,
	),
}

var explicitLease = Scenario{
	Name:      "explicit-lease",
	Does:      "the work takes 2.5 leases, the process is well, and the order has asked not to renew its lease",
	Instances: 2,
	TTL:       renewedLease,
	groups: all(
		on("v5 v5-as-printed", oversold,
			"without its renewals it is v4: the lease ends at work, and the next one reads the same stock"),
		on("v5.5 v5.7 v7 v8 v9 v10 v12 v15 v15-write-only", holds,
			"the lease ends at work, and its holder counts it down: the work is cancelled before it writes"),
		on("v6", holds, "the lease ends on the nodes, and its holder counts it down: the work is cancelled before it writes"),
		like("v9-nodes", Variant{Of: "v9"}),
		on("v11", holds, "the permit ends at work, and its holder counts it down: the work is cancelled before it writes"),
		skip("v1.5 v2 v3 v4", "it never renews: slow-work is the same"),
		skip("v1 v12-naive v12-session v13 v14 v14-hasty", "its lock has no TTL, so there is nothing to renew"),
		needNoFault,
		takeNoLock,
	),
}

var lateRelease = Scenario{
	Name:      "late-release",
	Does:      "the first holder ends after its lease while a second is inside; a third tries",
	Instances: 2,
	TTL:       renewedLease,
	groups: all(
		on("v1 v12-naive v12-session", holds, "without a TTL there is no second holder"),
		on("v1.5 v2", oversoldFreed,
			"its DEL removes whatever key is there, by now the second holder's, and the third gets in"),
		on("v3", oversold, "the second got in by expiry, but the first sees another's token and deletes nothing"),
		on("v4", oversold, "the second got in by expiry, but the script finds another's token and deletes nothing"),
		on("v5 v5-as-printed v6 v7 v8 v10 v12 v15 v15-write-only", holds,
			"the lease is renewed, so there is no second holder"),
		on("v5.5 v9 v9-nodes", holds, "the lease is renewed up to a bound that this work stays below"),
		on("v11", holds, "the permit is renewed, so there is no second holder"),
		on("v13 v14", holds, "the session lasts, so there is no second holder"),
		on("v14-hasty", oversold, "each of the others waits for a time, and then takes itself for the holder"),
		needNoFault,
		takeNoLock,
	),
}

var checkDeleteGap = Scenario{
	Name:      "check-delete-gap",
	Does:      "the lease ends just before the release is sent, and a second holder is inside",
	Instances: 2,
	groups: all(
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
	),
}

var pause = Scenario{
	Name:      "pause",
	Does:      "SIGSTOP at the last instant before the write, until a second has sold",
	Instances: 2,
	Stops:     true,
	groups: all(
		on("v1 v12-naive", holds, "nothing expires: the others wait, and give up"),
		on("v1.5 v2 v3 v4", oversold, "a stopped process does not see its lease end"),
		on("v5 v5-as-printed v7 v8 v10 v11", oversold, "the timer that renews is stopped with the process"),
		on("v5.5 v9", oversold, "it was stopped after its last look at the lease, and what it had decided it then wrote"),
		on("v6 v9-nodes", oversold, "five nodes agree that the lease has ended, and none of them is asked"),
		on("v12", oversold, "the database sees the lease end, and its holder does not"),
		on("v12-session", holds, "its connection is still there, and so is its lock: the others wait, and give up"),
		on("v13 v14", oversold,
			"a stopped process says nothing to the server, which ends its session; it draws a token, and nobody checks it"),
		on("v15", shared, "two believe to hold the lock, but the stock has seen a newer token and refuses the older"),
		on("v15-write-only", shared, "the newer token has written, so the stock refuses the older"),
		on("v16", holds, "EXEC finds that the stock was written since the read, and it begins again"),
		on("v17", holds, "before the script nothing was read that could be out of date"),
		needNoFault,
	),
}

var pauseAtWork = Scenario{
	Name:      "pause-at-work",
	Does:      "SIGSTOP in the middle of the work, until a second has sold and the work is due to end",
	Instances: 2,
	Stops:     true,
	groups: all(
		on("v1 v12-naive", holds, "nothing expires: the others wait, and give up"),
		on("v1.5 v2 v3 v4", oversold, "it has no way to see that its lease has ended, and does not look"),
		on("v5 v5-as-printed", oversold,
			"the timer that renews is stopped with the process, and nobody looks at what it finds when it goes on"),
		on("v5.5 v7 v8 v9 v10 v11", holds,
			"when it goes on, its clock says that the lease has ended: the last look before the write sees that"),
		on("v6", holds, "when it goes on, its clock says that the lease has ended, whatever the nodes say"),
		on("v9-nodes", holds, "as v6: when it goes on, its clock says that the lease has ended"),
		on("v12", holds, "it counts its lease by its own clock as well as by the database's, and that has run on meanwhile"),
		on("v12-session", holds, "its connection is still there, and so is its lock: the others wait, and give up"),
		on("v13 v14", holds,
			"its clock says that the server has heard nothing for as long as a session lasts: the last look sees that"),
		on("v15 v15-write-only", holds, "it looks at its clock before it writes, so the stock need not refuse it; it would"),
		on("v16", holds, "EXEC finds that the stock was written since the read, and it begins again"),
		on("v17", holds, "its work comes before the script, and nothing was read that could be out of date"),
		needNoFault,
	),
}

var hungHolder = Scenario{
	Name:      "hung-holder",
	Does:      "the work does not end for as long as anybody is made to wait",
	Instances: 2,
	TTL:       renewedLease,
	Within:    3 * renewedLease,
	groups: all(
		on("v1 v12-naive v12-session", stuck, "nothing ends the lock but its holder"),
		on("v1.5 v2 v3 v4", shared, "the lease ends and lets the next one in, beside the first"),
		on("v5 v5-as-printed v7 v8 v10 v11", stuck, "it renews for ever: the process is well, and so is its timer"),
		on("v5.5 v9", holds, "after three renewals the work is cancelled and the lock released"),
		on("v6", stuck, "it renews for ever, on all nodes"),
		like("v9-nodes", Variant{Of: "v9"}),
		on("v12 v15 v15-write-only", stuck, "it renews for ever"),
		on("v13 v14", stuck, "its session lasts for as long as its process"),
		on("v14-hasty", shared, "the fresh request waits for a time, and then takes itself for the holder, beside the first"),
		needNoFault,
		takeNoLock,
	),
}

var soldOutRestock = Scenario{
	Name:      "sold-out-restock",
	Does:      "told that all is sold; then the shelf is filled, and somebody buys",
	Instances: 2,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v12-naive v12-session", holds, "the lock is released whether there was a sale or not"),
		on("v5", holds, "the timer is stopped whether there was a sale or not"),
		on("v5-as-printed", stuck, "without a sale nobody stops its timer, which writes the released key again, for ever"),
		on("v5.5 v6 v7 v8 v9 v9-nodes v10 v11 v12 v15 v15-write-only", holds,
			"the renewing is stopped whether there was a sale or not"),
		on("v13 v14", holds, "the node is removed whether there was a sale or not"),
		on("v16 v17", holds, "it locks nothing"),
		needNoFault,
	),
}

var writeOnlyFence = Scenario{
	Name:      "write-only-fence",
	Does:      "both have read when the one with the older token, paused till then, writes first",
	Instances: 2,
	Stops:     true,
	groups: all(
		on("v15", shared, "the newer token was seen when its holder read, so the older one's write is refused"),
		on("v15-write-only", oversold,
			"the stock first sees the older token, then the newer: each write finds its own the newest yet"),
		skipOthers("its stock looks at no fencing token"),
	),
}

var nested = Scenario{
	Name:      "nested",
	Does:      "the business code takes the lock that its own order holds; later its caller comes again",
	Instances: 2,
	groups: all(
		on("v1 v1.5 v2 v3 v4 v5 v5-as-printed v5.5 v6 v9 v9-naive v9-nodes v10 v11 v12-naive v12-session v13 v14 v15 "+
			"v15-write-only", stuck, itself),
		on("v7", holds, "the lock knows its owner, and counts"),
		on("v8", holds, "the lock knows its owner, counts, and lets it in past the queue"),
		on("v14-hasty", oversold,
			"it waits for its own node, for a time, and gets in; its caller, who comes again, gets in by the same way, beside "+
				"the next one"),
		on("v7-cached", oversold,
			"its caller has released, but the process remembers that it holds, and lets it in beside the next one"),
		on("v12", holds, "the row knows its owner, and counts"),
		on("v16 v17", holds, "it locks nothing, so there is nothing to take again"),
		needNoFault,
	),
}
