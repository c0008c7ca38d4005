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
	soldInVain = cause{"it answers that it sold although the sale failed",
		"answer an error unless the write succeeded", saleLines}
	answeredEarly  = cause{"it answers before it writes the stock", "answer after the write, or 202", saleLines}
	fenceUnchecked = cause{"the stock does not compare the fencing token",
		"refuse a token that is smaller than the newest, in the same step as the write", fencedWrite}
	fenceBackwards = cause{"the stock compares the fencing token the wrong way round",
		"refuse the smaller token, and compare as numbers", fencedWrite}
	fenceLate = cause{"the stock sees the fencing token only on the write",
		"send it with the read, too", fencedWrite}
	replaced      = cause{"it overwrites a living holder's lock", "acquire it by SET key token NX PX ttl", acquireLines}
	keptByRefused = cause{"a refused order keeps what it took", "release on every path, by the key that was taken",
		saleLines}
	renewalStops = cause{"it stops renewing while its order works", "renew until the release, from a thread of its own",
		renewLines}
	ttlRemoves    = cause{"the TTL that is given removes the lock", "check its unit: seconds or milliseconds", renewLines}
	removedByNone = cause{"a command outside any order removes a lock that is held",
		"remove only locks without a living holder: compare and delete in one script (v4)", releaseLines}
	unprotected = cause{"it writes to the database outside its lock", lockAround, saleLines}
	crashed     = cause{"the shop crashes on its own", "handle the error that crashes it", handleLines}
	unknown     = cause{"unknown cause", "", ""}
)

// A row of the table is a state in which no correct order is, at a step of its course or at its end, and its cause. Of
// the rows that apply to one moment the first counts.
type row struct {
	cause
	explains string               // the letters of the verdicts that it may break
	of       func(*moment) string // what shows it, "" if the moment does not
	kind
}

// A kind says how a row counts.
type kind uint8

const (
	explaining kind = iota // only if a verdict is broken that it explains
	between                // only for a unit that its order and another sold, or a lock that both held
	accusing               // by itself
	ending                 // only for the order whose lock it ends, before another order took that
	remarked               // else as a remark
	stray                  // for a command outside any order
)

// rows are the table.
var rows = []row{
	{releasedUnheld, "SER", releasesUnheld, accusing},
	{releasedTwice, "SER", givesTooMuch, accusing},
	{releasedEarly, "SE", writesAfterRelease, accusing},
	{releasedEarly, "SE", releasesBeforeReply, accusing},
	{wentOn, "SE", sellsRefused, accusing},
	{soldUnlocked, "SE", sellsUnlocked, accusing},
	{renewalTakes, "SE", renewalTakesAnothers, accusing},
	{renewalMakes, "SEL", renewalRecreates, accusing},
	{answeredEarly, "S", writesAfterAnswer, accusing},
	{answeredEarly, "S", diesAfterAnswer, accusing},
	{soldInVain, "S", sellsInVain, accusing},
	{nobodyWakes, "L", staysAsleep, accusing},

	{writtenAgain, "S", takesTwice, explaining},
	{refusedTaken, "S", refusesTaken, explaining},
	{refusedTaken, "S", refusesRecorded, explaining},
	{unprotected, "S", sendsUnprotected, explaining},
	{commitsLater, "S", commitsAfterRelease, explaining},

	{removedBlindly, "SER", removes((*theft).namesRead), ending},
	{oneObject, "SER", removes((*theft).namesIt), ending},
	{oneForInstance, "SER", removes((*theft).isOfInstance), ending},
	{oneForAll, "SER", removes((*theft).passesComparison), ending},
	{comparedPart, "SER", removes((*theft).comparesPart), ending},
	{releasedTwice, "SER", removes((*theft).isAgain), ending},
	{removedLater, "SER", removes((*theft).isLater), ending},
	{removedBlindly, "SER", removes((*theft).isBlind), ending},
	{removedByNone, "SE", strayRemoves, stray},
	{ttlRemoves, "SE", renewalRemoves, between},

	{renewalTakes, "SE", renewalReplaces, ending},
	{replaced, "SE", replacesKnown, ending},
	{tookLater, "SE", replacesUnseen, ending},
	{tooFewKeys, "SE", sellsWithFewKeys, between},
	{fenceBackwards, "S", writesBackwards, between},
	{fenceUnchecked, "S", writesUnchecked, between},
	{fenceLate, "S", writesBeforeNewer, between},
	{readEarly, "S", sellsOtherRead, between},
	{readEarly, "S", sellsByEarlyRead, between},
	{wroteUnread, "S", sellsUnread, between},
	{shortLease, "SE", sellsAfterExpiry, between},
	{renewalStops, "SE", stopsRenewing, between},
	{oneForInstance, "SE", sellsUnderAnothers, between},

	{deadWaiter, "L", diesWaiting, explaining},
	{waiterExtends, "L", extendsAnothers, remarked},
	{renewalOutlives, "L", renewsAfterEnd, remarked},
	{keptByRefused, "L", keepsWhatItTook, remarked},
	{ttlLater, "L", staysBeforeTTL, explaining},
	{noTTL, "L", staysWithoutTTL, explaining},
	{deadWaiter, "L", staysInLine, explaining},
	{nobodyWakes, "L", unwoken, explaining},

	{cause{}, "", leftBehind, remarked},
	{cause{}, "", findsItsOwn, remarked},
	{cause{}, "", sleptOn, remarked},
	{cause{}, "", sellsNothing, remarked},
	{cause{}, "", answersLate, remarked},
	{cause{}, "", acceptsFirst, remarked},
}

// A plainSale is a cause that plain sales show, and the verdicts that it breaks.
type plainSale struct {
	cause
	explains string
	is       func(*history.Facts) bool
}

// always are those that explain any cell. The others count where no command was observed, as in a crowd.
var always = plainSales[:3]

var plainSales = []plainSale{
	{lockPerOrder, "SERL", func(f *history.Facts) bool { return f.Apart == "order" }},
	{lockPerInstance, "SERL", func(f *history.Facts) bool { return f.Apart != "" }},
	{noLock, "S", func(f *history.Facts) bool { return !f.HasLock() && !f.IsAtomic() && !f.Watches }},
	{sharedWatch, "S", func(f *history.Facts) bool { return !f.HasLock() && f.Watches }},
	{releasedEarly, "SERL", func(f *history.Facts) bool { return f.Early }},
	{fenceLate, "S", func(f *history.Facts) bool { return f.Fence }},
	{readEarly, "S", func(f *history.Facts) bool { return f.ReadsEarly }},
	{wroteUnread, "S", func(f *history.Facts) bool { return f.ReadsNever && !f.LockFree }},
	{shortLease, "SE", (*history.Facts).ExpiresInASale},
	{tookLater, "SE", func(f *history.Facts) bool { return f.Overwrites }},
	{oneForInstance, "SE", func(f *history.Facts) bool { return f.Name }},
	{tooFewKeys, "SE", func(f *history.Facts) bool { return len(f.Locks) > 1 }},
	{readEarly, "S", func(f *history.Facts) bool { return f.ReadsTwice }},
}

// defect returns a defect of that cause, with its evidence.
func (c cause) defect(shown string, args ...any) *history.Defect {
	d := &history.Defect{Cause: c.what, Remedy: c.remedy, Shown: fmt.Sprintf(shown, args...)}
	if c.lines != "" {
		d.Lines = strings.Split(c.lines, "\n")
	}
	return d
}
