package cause

import (
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// A cause is an entry of the closed list: the defect, its remedy, and the code of the remedy.
type cause struct{ what, remedy, lines string }

const (
	compareAndDelete = "compare and delete in one script (v4)"
	ownToken         = "use a new random token for every acquire"
	extendOwn        = "extend the lock only if it still has your token, in one script"
	lockAround       = "hold the lock from the read to the write"
)

// The causes.
var (
	removedBlindly = cause{"it releases the lock without comparing its value", compareAndDelete, releaseLines}
	comparedPart   = cause{"its release compares only part of the value", "compare the whole token", releaseLines}
	removedLater   = cause{"it compares and deletes in two commands", compareAndDelete, releaseLines}
	tookLater      = cause{"it checks that the lock is free and takes it in two commands",
		"acquire it by SET key token NX PX ttl", acquireLines}
	noLock = cause{"no lock: it reads the stock and writes it in two steps",
		"hold a lock from the read to the write (v4), or take the unit in one atomic step (v17)", lockOrTake}
	oneForAll      = cause{"one value for all orders: any release passes the comparison", ownToken, ownLines}
	oneForInstance = cause{"one value for all orders of an instance", ownToken, ownLines}
	oneObject      = cause{"one lock object for all requests: a release uses the value of another acquire",
		"create a lock object for each request", ownLines}
	releasedTwice  = cause{"it releases the lock twice", "release once, and " + compareAndDelete, releaseLines}
	releasedEarly  = cause{"it releases the lock before it writes the stock", lockAround, saleLines}
	commitsLater   = cause{"it writes after it has released the lock", "commit first, then release", saleLines}
	releasedUnheld = cause{"it releases a lock that it never held",
		"release only after an acquire that succeeded", saleLines}
	soldUnlocked = cause{"it sells without ever holding the lock",
		"sell nothing when an acquire fails, or gets no reply", saleLines}
	wentOn   = cause{"it proceeds without the lock when its wait times out", "refuse the order instead", saleLines}
	noTTL    = cause{"the lock has no TTL", "acquire it by SET key token NX PX ttl", acquireLines}
	ttlLater = cause{"a second command sets the TTL",
		"set the lock and its TTL in one command: SET key token NX PX ttl", acquireLines}
	shortLease = cause{"the lease expires during a plain sale",
		"make it several times as long as a sale, or renew it (v5.5)", renewLines}
	longLease = cause{"the lease lasts thousands of times as long as a sale",
		"make it a few times as long as a sale: SET counts PX in ms, EX in seconds", acquireLines}
	renewalTakes    = cause{"a renewal takes another order's lock", extendOwn, renewLines}
	renewalMakes    = cause{"a renewal recreates a lock that was gone", extendOwn + ": never SET it", renewLines}
	renewalOutlives = cause{"the lock is renewed after its order has ended",
		"stop renewing before the release, on every path", stopLines}
	waiterExtends = cause{"a waiter extends the holder's lease",
		"set the TTL only in an acquire that succeeds", acquireLines}
	nobodyWakes = cause{"a waiter is never woken",
		"have waiters poll too: a message can get lost, and an expiry sends none", pollLines}
	deadWaiter = cause{"a dead waiter keeps its place in the queue",
		"give each place an expiry that its waiter renews", queueLines}
	lockPerOrder = cause{"each order has a lock of its own",
		"name the lock after the product, not after the order", acquireLines}
	lockPerInstance = cause{"each instance has a lock of its own",
		"name the lock after the product, not after the instance", acquireLines}
	tooFewKeys  = cause{"the lock is granted with too few of its keys", "require a majority of them", majorityLines}
	readEarly   = cause{"it reads the stock before it holds the lock", "read it again under the lock", saleLines}
	wroteUnread = cause{"it writes the stock without having read it under the lock",
		"read it under the lock, not from a cache", saleLines}
	sharedWatch = cause{"orders share one connection for WATCH, and cancel each other's",
		"use a connection of its own for each transaction", watchLines}
	writtenAgain = cause{"it retries the write when the reply is lost",
		"do not retry a decrement, or make it idempotent", onceLines}
	refusedTaken = cause{"it refuses an order whose unit it has taken",
		"put the unit back, or answer that it was sold", saleLines}
	answeredEarly  = cause{"it answers before it writes the stock", "answer after the write, or 202", saleLines}
	fenceUnchecked = cause{"the stock does not compare the fencing token",
		"refuse a token that is smaller than the newest, in the same step as the write", fencedWrite}
	fenceBackwards = cause{"the stock compares the fencing token the wrong way round",
		"refuse the smaller token, and compare as numbers", fencedWrite}
	fenceLate = cause{"the stock sees the fencing token only on the write",
		"send it with the read, too", fencedWrite}
	crashed = cause{"the shop crashes on its own", "handle the error that crashes it", handleLines}
	unknown = cause{"unknown cause", "", ""}
)

// defect returns a defect of that cause, with its evidence.
func (c cause) defect(shown string, args ...any) *history.Defect {
	d := &history.Defect{Cause: c.what, Remedy: c.remedy, Shown: fmt.Sprintf(shown, args...)}
	if c.lines != "" {
		d.Lines = strings.Split(c.lines, "\n")
	}
	return d
}
