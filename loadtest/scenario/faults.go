package scenario

import "time"

// Why rungs have no part in a scenario.
const (
	unguarded = "it guards nothing: a crowd alone breaks it, as one-instance and two-instances show"
	inMemory  = "its mutex ends at the instance's border: two-instances breaks it without any fault"
	noLease   = "it has no lock, so there is nothing to expire or to release"
	noFence   = "it has no fencing tokens"
	inAFile   = "its lock is a row in a file on this machine: there is no server of its own to be harmed"
	elsewhere = "its lock lies in an SQL server that the run was given, and does not harm"
)

// renewedLease is the TTL where a renewal has to come in time for the expectation to be met: Redlock's are late on a
// machine that is busy, since a node has 50 ms to answer.
const renewedLease = time.Second

// itself is why a lock breaks when its holder takes it again.
const itself = "it does not know its own holder: the order is refused by itself, or waits for itself, and every one after it too"

// The fault scenarios. In each, who is inside is known before the next step is taken; see acts.go.
var (
	crash = Scenario{
		Name: "crash", Does: "SIGKILL of the holder at work; v1.5 dies in its gap", Instances: 2, play: playCrash,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory},
		Expect: []Expectation{
			{"v1", stuck, "its key has no TTL, and who would delete it is dead"},
			{"v1.5", stuck, "it died after SETNX and before EXPIRE: the key is as v1's"},
			{"v2", leaseHolds, "the key came with its TTL, which ends it"},
			{"v3", leaseHolds, "the TTL ends the dead holder's lease"},
			{"v4", leaseHolds, "the TTL ends the dead holder's lease"},
			{"v5", leaseHolds, "the timer that renews died with the process"},
			{"v5-as-printed", leaseHolds, "the timer that renews died with the process"},
			{"v5.5", leaseHolds, "the timer that renews died with the process"},
			{"v6", leaseHolds, "the TTL ends the lease on every node"},
			{"v7", leaseHolds, "the TTL ends the lease, and waiters wait no longer than that for a message"},
			{"v7-cached", leaseHolds, "as v7: the TTL ends the lease, and waiters wait no longer than that for a message"},
			{"v8", leaseHolds, "the TTL ends the lease, and waiters wait no longer than that for a message"},
			{"v12", leaseHolds, "the row expires by the database's clock, and the next one takes it over"},
			{"v12-session", leaseHolds, "the connection ends with the process, and the lock with the connection"},
			{"v15", fenceHolds, "the TTL ends the lease, and the next token is higher"},
			{"v15-write-only", fenceHolds, "the TTL ends the lease, and the next token is higher"},
			{"v16", lockFree, "a WATCH ends with its connection, and nothing was written"},
			{"v17", lockFree, "the script runs whole or not at all"},
		},
	}
	slowWork = Scenario{
		Name: "slow-work", Does: "the work takes 2.5 leases, the process is well", Instances: 2, play: playSlowWork,
		TTL:   renewedLease,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory},
		Expect: []Expectation{
			{"v1", leaseHolds, "without a TTL nothing expires: the others wait"},
			{"v1.5", oversold, "the lease ends at work, and the next one reads the same stock"},
			{"v2", oversold, "the lease ends at work, and the next one reads the same stock"},
			{"v3", oversold, "a token says whose lock it is, not that it still is"},
			{"v4", oversold, "an atomic release comes after the harm"},
			{"v5", leaseHolds, "the lease is renewed for as long as the work takes"},
			{"v5-as-printed", leaseHolds, "the lease is renewed for as long as the work takes"},
			{"v5.5", leaseHolds, "after three renewals the work is cancelled before it writes, while the lease still lasts"},
			{"v6", leaseHolds, "the lease is renewed on the nodes for as long as the work takes"},
			{"v7", leaseHolds, "the lease is renewed for as long as the work takes"},
			{"v7-cached", leaseHolds, "as v7: the lease is renewed for as long as the work takes"},
			{"v8", leaseHolds, "the lease is renewed for as long as the work takes, and the others wait in line"},
			{"v12", leaseHolds, "the lease is renewed for as long as the work takes"},
			{"v12-session", leaseHolds, "without a TTL nothing expires: the others wait"},
			{"v15", fenceHolds, "the lease is renewed for as long as the work takes"},
			{"v15-write-only", fenceHolds, "the lease is renewed for as long as the work takes"},
			{"v16", lockFree, "the slow one finds the stock written meanwhile, writes nothing, and begins again"},
			{"v17", lockFree, "its work comes before the script, in which nothing takes time"},
		},
	}
	lateRelease = Scenario{
		Name: "late-release", Does: "the first holder ends after its lease while a second is inside; a third tries", Instances: 2,
		play:  playLateRelease,
		TTL:   renewedLease,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory, "v16": noLease, "v17": noLease},
		Expect: []Expectation{
			{"v1", leaseHolds, "without a TTL there is no second holder"},
			{"v1.5", oversoldFreed, "its DEL removes whatever key is there, by now the second holder's, and the third gets in"},
			{"v2", oversoldFreed, "its DEL removes whatever key is there, by now the second holder's, and the third gets in"},
			{"v3", oversold, "the second got in by expiry, but the first sees another's token and deletes nothing"},
			{"v4", oversold, "the second got in by expiry, but the script finds another's token and deletes nothing"},
			{"v5", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v5-as-printed", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v5.5", leaseHolds, "the lease is renewed up to a bound that this work stays below"},
			{"v6", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v7", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v7-cached", leaseHolds, "as v7: the lease is renewed, so there is no second holder"},
			{"v8", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v12", leaseHolds, "the lease is renewed, so there is no second holder"},
			{"v12-session", leaseHolds, "without a TTL there is no second holder"},
			{"v15", fenceHolds, "the lease is renewed, so there is no second holder"},
			{"v15-write-only", fenceHolds, "the lease is renewed, so there is no second holder"},
		},
	}
	checkDeleteGap = Scenario{
		Name: "check-delete-gap", Does: "the lease ends just before the release is sent, and a second holder is inside", Instances: 2,
		play:  playCheckDeleteGap,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory, "v16": noLease, "v17": noLease},
		Expect: []Expectation{
			{"v1", leaseHolds, "without a TTL there is no second holder"},
			{"v1.5", freed, "DEL does not ask whose key it is"},
			{"v2", freed, "DEL does not ask whose key it is"},
			{"v3", freed, "it has asked, but between GET and DEL the key changed hands"},
			{"v4", leaseHolds, "asking and deleting are one script: there is no gap to wait in"},
			{"v5", leaseHolds, "the renewing has stopped by then, but the script compares"},
			{"v5-as-printed", leaseHolds, "the sale has stopped the timer, and the script compares"},
			{"v5.5", leaseHolds, "the script compares"},
			{"v6", leaseHolds, "the script compares, on every node"},
			{"v7", leaseHolds, "the script looks for its owner's field"},
			{"v7-cached", leaseHolds, "as v7: the script looks for its owner's field"},
			{"v8", leaseHolds, "asking and deleting are one script: there is no gap to wait in"},
			{"v12", leaseHolds, "the statement names the owner, and changes no row of another's"},
			{"v12-session", leaseHolds, "without a TTL there is no second holder"},
			{"v15", fenceHolds, "the script compares"},
			{"v15-write-only", fenceHolds, "the script compares"},
		},
	}
	pause = Scenario{
		Name: "pause", Does: "SIGSTOP at the last instant before the write, until a second has sold", Instances: 2, Stops: true,
		play:  playPause,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory},
		Expect: []Expectation{
			{"v1", leaseHolds, "nothing expires: the others wait, and give up"},
			{"v1.5", oversold, "a stopped process does not see its lease end"},
			{"v2", oversold, "a stopped process does not see its lease end"},
			{"v3", oversold, "a stopped process does not see its lease end"},
			{"v4", oversold, "a stopped process does not see its lease end"},
			{"v5", oversold, "the timer that renews is stopped with the process"},
			{"v5-as-printed", oversold, "the timer that renews is stopped with the process"},
			{"v5.5", oversold, "it was stopped after its last look at the lease, and what it had decided it then wrote"},
			{"v6", oversold, "five nodes agree that the lease has ended, and none of them is asked"},
			{"v7", oversold, "the timer that renews is stopped with the process"},
			{"v7-cached", oversold, "as v7: the timer that renews is stopped with the process"},
			{"v8", oversold, "the timer that renews is stopped with the process"},
			{"v12", oversold, "the database sees the lease end, and its holder does not"},
			{"v12-session", leaseHolds, "its connection is still there, and so is its lock: the others wait, and give up"},
			{"v15", fencedShared, "two believe to hold the lock, but the stock has seen a newer token and refuses the older"},
			{"v15-write-only", fencedShared, "the newer token has written, so the stock refuses the older"},
			{"v16", lockFree, "EXEC finds that the stock was written since the read, and it begins again"},
			{"v17", lockFree, "before the script nothing was read that could be out of date"},
		},
	}
	hungHolder = Scenario{
		Name: "hung-holder", Does: "the work does not end for as long as anybody is made to wait", Instances: 2, play: playHungHolder,
		TTL: renewedLease, Within: 3 * renewedLease,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory, "v16": noLease, "v17": noLease},
		Expect: []Expectation{
			{"v1", stuck, "nothing ends the lock but its holder"},
			{"v1.5", shared, "the lease ends and lets the next one in, beside the first"},
			{"v2", shared, "the lease ends and lets the next one in, beside the first"},
			{"v3", shared, "the lease ends and lets the next one in, beside the first"},
			{"v4", shared, "the lease ends and lets the next one in, beside the first"},
			{"v5", stuck, "it renews for ever: the process is well, and so is its timer"},
			{"v5-as-printed", stuck, "it renews for ever: the process is well, and so is its timer"},
			{"v5.5", leaseHolds, "after three renewals the work is cancelled and the lock released"},
			{"v6", stuck, "it renews for ever, on all nodes"},
			{"v7", stuck, "it renews for ever: the process is well, and so is its timer"},
			{"v7-cached", stuck, "as v7: it renews for ever: the process is well, and so is its timer"},
			{"v8", stuck, "it renews for ever: the process is well, and so is its timer"},
			{"v12", stuck, "it renews for ever"},
			{"v12-session", stuck, "nothing ends the lock but its holder"},
			{"v15", fencedStuck, "it renews for ever"},
			{"v15-write-only", fencedStuck, "it renews for ever"},
		},
	}
	soldOutRestock = Scenario{
		Name: "sold-out-restock", Does: "told that all is sold; then the shelf is filled, and somebody buys", Instances: 2,
		play:  playSoldOutRestock,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory},
		Expect: []Expectation{
			{"v1", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v1.5", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v2", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v3", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v4", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v5", leaseHolds, "the timer is stopped whether there was a sale or not"},
			{"v5-as-printed", stuck, "without a sale nobody stops its timer, which writes the released key again, for ever"},
			{"v5.5", leaseHolds, "the renewing is stopped whether there was a sale or not"},
			{"v6", leaseHolds, "the renewing is stopped whether there was a sale or not"},
			{"v7", leaseHolds, "the renewing is stopped whether there was a sale or not"},
			{"v7-cached", leaseHolds, "as v7: the renewing is stopped whether there was a sale or not"},
			{"v8", leaseHolds, "the renewing is stopped whether there was a sale or not"},
			{"v12", leaseHolds, "the renewing is stopped whether there was a sale or not"},
			{"v12-session", leaseHolds, "the lock is released whether there was a sale or not"},
			{"v15", fenceHolds, "the renewing is stopped whether there was a sale or not"},
			{"v15-write-only", fenceHolds, "the renewing is stopped whether there was a sale or not"},
			{"v16", lockFree, "it locks nothing"},
			{"v17", lockFree, "it locks nothing"},
		},
	}
	queueOrder = Scenario{
		Name: "queue-order", Does: "fifty come one after the other while the lock is held, over both instances", Instances: 2,
		Site: Site{OwnLocks: true}, TTL: longLease, play: playQueueOrder,
		Apart: apartFrom([]string{"v4", "v7", "v8"}, "it has no queue: v4, which polls, and v7, which is woken, stand for all of those"),
		Expect: []Expectation{
			{"v4", overtaken, "who waits asks again after a while, and whoever asks first when it is free gets it"},
			{"v7", overtaken, "a release wakes one waiter per instance, and the one that loses waits again behind the others"},
			{"v8", served, "who waits has a place in one queue for all instances, and the release calls the first"},
		},
	}
	nested = Scenario{
		Name: "nested", Does: "the business code takes the lock that its own order holds; later its caller comes again", Instances: 2,
		play:  playNested,
		Apart: map[string]string{"v0": unguarded, "v0.5": inMemory},
		Expect: []Expectation{
			{"v1", stuck, itself},
			{"v1.5", stuck, itself},
			{"v2", stuck, itself},
			{"v3", stuck, itself},
			{"v4", stuck, itself},
			{"v5", stuck, itself},
			{"v5-as-printed", stuck, itself},
			{"v5.5", stuck, itself},
			{"v6", stuck, itself},
			{"v7", leaseHolds, "the lock knows its owner, and counts"},
			{"v7-cached", oversold, "its caller has released, but the process remembers that it holds, and lets it in beside the next one"},
			{"v8", stuck, itself},
			{"v12", leaseHolds, "the row knows its owner, and counts"},
			{"v12-session", stuck, itself},
			{"v15", fencedStuck, itself},
			{"v15-write-only", fencedStuck, itself},
			{"v16", lockFree, "it locks nothing, so there is nothing to take again"},
			{"v17", lockFree, "it locks nothing, so there is nothing to take again"},
		},
	}
	writeOnlyFence = Scenario{
		Name: "write-only-fence", Does: "both have read when the one with the older token, paused till then, writes first", Instances: 2,
		Stops: true, play: playWriteOnlyFence,
		Apart: map[string]string{
			"v0": unguarded, "v0.5": inMemory, "v1": noFence, "v1.5": noFence, "v2": noFence, "v3": noFence, "v4": noFence,
			"v5": noFence, "v5-as-printed": noFence, "v5.5": noFence, "v6": noFence, "v7": noFence, "v7-cached": noFence, "v8": noFence, "v12": noFence, "v12-session": noFence, "v16": noFence, "v17": noFence,
		},
		Expect: []Expectation{
			{"v15", fencedShared, "the newer token was seen when its holder read, so the older one's write is refused"},
			{"v15-write-only", fencedSold, "the stock first sees the older token, then the newer: each write finds its own the newest yet"},
		},
	}
)
