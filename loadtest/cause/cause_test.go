package cause

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// An order's own commands show a defect, whatever its outcome.
func TestDefectsOfSingleOrders(t *testing.T) {
	const asleep = "a waiter is never woken: Anna got no unit in the "
	const on = "it proceeds without the lock when its wait times out: "
	const early = "it releases the lock before it writes the stock: "
	for want, forged := range map[string]func(f *forgery){
		"it releases a lock that it never held: Anna's del removed lock:10000": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 90, tried(10), tried(60), del(80))
		},
		early + "Anna's set of the stock came 5ms after it had released the lock": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), release(25), writes(30))
		},
		// A release counts from when it was sent.
		early + "Anna's set of the stock came 6ms after it had released the lock": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), lost(release(24)), writes(30))
		},
		on + "Anna wrote the stock 20ms after it had found the lock taken": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, tried(10), read(20), writes(30))
		},
		"a renewal recreates a lock that was gone: Anna's eval recreated lock:10000 600ms after its acquire": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), renewal(610, history.EffectAcquired),
				writes(700), release(800))
		},
		"a renewal takes another order's lock: Anna's eval, 600ms after its acquire, took lock:10000 from Bert": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), takesOver(610, 300), writes(700), release(800))
			f.order("bert", atB, history.Sold, 100, 900, acquire(300), writes(850))
		},
		asleep + "4.469s after the lock was released, although it stayed free": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 5000, tried(10), tried(20))
			f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30), release(530))
		},
		// After a release a waiter has only the margin, not a lease besides.
		asleep + "2.069s after the lock was released, although it stayed free": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2600, tried(10), tried(20))
			f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30), release(530))
		},
		// Its waits may end by the customer's patience; the lock may be free since another order removed it.
		asleep + "4.2s after the lock was released, although it stayed free": func(f *forgery) {
			hungUp(5000, f.order("anna", atA, history.Unknown, 0, 0, tried(10), tried(20)))
			f.Ops[0].GaveUp = history.TimedOut
			f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30))
			f.order("clara", atA, history.Busy, 0, 900, acquire(1), del(799))
			f.also = []cause{removedBlindly}
		},
		asleep + "4.979s after the lock was released, although it stayed free": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 5000, acquire(10), release(20))
		},
		asleep + "4.47s after the lock was released, although it stayed free": func(f *forgery) {
			// It tries by a script that renews, too.
			f.order("anna", atA, history.Busy, 0, 5000, usually(tried(10), history.EffectAcquired|history.EffectRenewed))
			f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30), release(529))
		},
		"it sells without ever holding the lock: Anna's set of the stock came without an acquire": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, lost(tried(10)), read(20), writes(30))
		},
		"a renewal recreates a lock that was gone: Anna's eval recreated lock:10000 601ms after its acquire": func(
			f *forgery,
		) { // she did not see whose it was
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), renewal(611, history.EffectAcquired),
				writes(700))
			f.order("bert", atB, history.Sold, 100, 900, acquire(300), writes(850))
		},
		"a renewal recreates a lock that was gone: Anna's eval recreated lock:10000 602ms after its acquire": func(
			f *forgery,
		) { // orders of an instance may pass a lock on
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), takesOver(612, 300), writes(700))
			f.order("bert", atA, history.Sold, 100, 900, acquire(300), writes(850))
		},
		// On two connections: the server gets the release first, or the order sends it first.
		early + "Anna's eval freed the lock 20ms before its write of the stock, to which it had no reply yet": func(
			f *forgery,
		) {
			other := with(release(40), func(w *history.Carried) { w.Conn = 2 })
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), heldUntil(60, writes(30)), other)
		},
		early + "Anna's set of the stock came 2ms after it had released the lock": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), heldUntil(60, release(38)), writes(40))
		},
		"it answers before it writes the stock: Anna's set of the stock came 9ms after its answer": func(f *forgery) {
			f.order("bert", atB, history.Busy, 0, 90, tried(5))
			f.order("clara", atA, history.Busy, 0, 25, tried(6))
			f.order("anna", atA, history.Sold, 0, 21, acquire(10), writes(30), release(40))
			f.order("dora", atA, history.Busy, 35, 90, tried(45))
		},
		// Bert's lease has expired by the renewal: Anna takes nothing from him.
		"a renewal recreates a lock that was gone: Anna's eval recreated lock:10000 2.4s after its acquire": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Sold, 0, 2900, acquire(10), read(20), renewal(2410, history.EffectAcquired),
				writes(2700), release(2800))
			f.order("bert", atB, history.Unknown, 100, 0, acquire(300))
		},
		// Correct orders show no defect.
		"": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
			f.order("bert", atB, history.Sold, 5, 200, tried(15), acquire(60), read(70), writes(80), release(90))
			f.order("clara", atA, history.Busy, 100, 300, tried(110), tried(210))
			f.order("dora", atA, history.Busy, 310, 400, lost(acquire(320)), release(350))
			f.order("emil", atB, history.Sold, 410, 900, acquire(420), renewal(500, history.EffectRenewed), writes(600),
				release(700))
			f.order("fritz", atB, history.Sold, 910, 990, acquire(920), release(930), acquire(940), writes(950),
				release(960))
			f.order("gustav", atA, history.Busy, 1000, 7000, tried(1010)) // Heinz holds the lock
			f.order("heinz", atB, history.Sold, 1000, 6500, acquire(1005), leaves(6010, 8), release(6020))
			// The answer comes long after the release.
			f.order("heike", atA, history.Unknown, 6600, 8900, acquire(6610), leaves(6620, 7), release(6630))
			// The write and the release were pipelined, and the trial held the write.
			first := func(w *history.Carried) { w.Conn = 1 }
			f.order("karl", atB, history.Sold, 6640, 6710, acquire(6645), with(release(6651), first),
				with(heldUntil(6700, leaves(6650, 6)), first))
			// Ida's lease expires while she works, Jan sells, and the stock refuses her write.
			f.order("ida", atA, history.Busy, 9000, 19000, acquire(9010), command(18000, history.EffectRefused, "eval"))
			f.order("jan", atB, history.Sold, 9100, 12000, acquire(11500), leaves(11600, 7), release(11700))
			// A renewal finds the lock gone, and the order is refused after its work. It never waited for the lock.
			f.order("kurt", atA, history.Busy, 20000, 27000, acquire(20010), read(20020),
				renewal(22500, history.EffectTried))
			f.order("lena", atB, history.Sold, 20000, 24000, acquire(22100), leaves(22200, 6), release(22300))
			// The acquire without a reply may be repeated. So may that of a lock that its order has released.
			f.order("max", atA, history.Sold, 30000, 30090, lost(acquire(30010)), renewal(30020, history.EffectAcquired),
				leaves(30030, 5), release(30040))
			f.order("nina", atA, history.Sold, 30100, 30190, acquire(30110), release(30120),
				renewal(30130, history.EffectAcquired), leaves(30140, 4), release(30150))
			f.order("otto", atB, history.Sold, 30200, 30290, lost(acquire(30210)), leaves(30220, 3), release(30230))
			// Another order at the instance may have written for this one, and a refused one may put its unit back.
			f.order("paul", atA, history.Sold, 30300, 30321, acquire(30310), leaves(30330, 2), release(30340))
			f.order("quentin", atA, history.Busy, 30305, 30390, tried(30306))
			f.order("rosa", atB, history.Busy, 30400, 30421, acquire(30410), leaves(30430, 1), release(30440))
			// A customer who has just come, or hung up, has not waited in vain.
			f.order("sara", atA, history.Busy, 39000, 40000, tried(39010), tried(39990))
			hungUp(49000, f.order("tina", atA, history.Unknown, 41000, 0, tried(41010)))
		},
		// The instance releases its locks by their common value.
		" ": func(f *forgery) {
			f.Facts.Name = true
			f.order("anna", atA, history.Busy, 0, 90, tried(10), del(80))
		},
		"  ": func(f *forgery) {
			f.Facts.Locks = nil
			f.order("anna", atA, history.Sold, 0, 90, tried(10), read(20), writes(30))
		},
		// The lease was over, and it is unknown whether the order had heard of it.
		"     ": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 2200, lost(acquire(10)), read(20), writes(2100))
		},
		// The trial itself held the lock until then.
		"   ": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 5000, tried(10), tried(20))
			f.order("us", Us, history.NotSold, 0, 600, acquire(5), release(530))
		},
		// Its instance was killed after the write, or before the order sent anything.
		"    ": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 25, acquire(10), writes(20))
			f.order("bert", atA, history.Sold, 0, 25)
			f.order("fresh-a-1", atA, history.Sold, 0, 25, acquire(12))
			f.killed(30)
		},
	} {
		f := forge()
		forged(f)
		if seen := f.accused(); strings.TrimSpace(want) == "" {
			assert.Nil(t, seen)
		} else if assert.NotNil(t, seen, want) {
			assert.Equal(t, want, seen.Cause+": "+seen.Shown)
		}
	}
}

// The cause of a broken verdict is one of a closed list, unless it breaks by design.
func TestCausesOfBrokenCells(t *testing.T) {
	// overlap has Bert sell Anna's unit once her lease has expired; then follow more of her commands.
	overlap := func(f *forgery, then ...history.Command) {
		annas := append([]history.Command{acquire(10), read(20), writes(2100)}, then...)
		f.order("anna", atA, history.Sold, 0, 3000, annas...)
		f.order("bert", atB, history.Sold, 50, 2600, tried(100), acquire(2050), read(2060), writes(2070), release(2500))
	}
	// alike has both set the lock to the same value, with Bert at the given instance.
	alike := func(f *forgery, bert string) {
		f.order("anna", atA, history.Sold, 0, 3000, acquireBy(10, "x"), read(20), writes(30), names(release(2200), "x"))
		f.order("bert", bert, history.Sold, 50, 2600, acquireBy(2100, "x"), read(2110), leaves(2300, 8))
	}
	stuck := func(f *forgery, annas ...history.Command) {
		f.order("anna", atA, history.Unknown, 0, 0, append([]history.Command{acquire(10)}, annas...)...)
		f.order("fresh-b-1", atB, history.Busy, 900, 9000, tried(1010), tried(8000))
	}
	dead := func(f *forgery) {
		f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
		f.killed(20)
	}
	// crowd has both sell the same unit. The commands of a crowd are not recorded.
	crowd := func(f *forgery) {
		f.order("a-1", atA, history.Sold, 0, 60).Units = []int64{10}
		f.order("b-1", atB, history.Sold, 0, 60).Units = []int64{10}
	}
	fenced := func(f *forgery, annas, berts []history.Command) {
		f.Facts.Fence = true
		f.order("anna", atA, history.Sold, 0, 3000, append([]history.Command{acquire(10), read(20)}, annas...)...)
		f.order("bert", atB, history.Sold, 50, 3000, append([]history.Command{acquire(2050), read(2060)}, berts...)...)
	}
	reads := func(n, left int) history.Command {
		c := read(n)
		c.Reply = fmt.Sprintf("%q", fmt.Sprint(left))
		return c
	}
	for _, one := range []struct {
		fault, letters string
		want           cause
		design         string
		forged         func(*forgery)
	}{
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) { overlap(f) }},
		{"pause", "SE", cause{}, overtaken, func(f *forgery) {
			f.Facts.Every = 600 * time.Millisecond
			overlap(f)
		}},
		{"late", "E", cause{}, withFence, func(f *forgery) {
			f.Facts.Fence = true
			f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), leaves(2100, 8))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), read(2060), writes(2070), release(2500))
		}},
		{"late", "S", cause{}, inFlight, func(f *forgery) { // the write and the release were pipelined
			f.order("anna", atA, history.Sold, 0, 2500, acquire(10), read(20), heldUntil(2100, writes(30)), release(40))
			f.order("bert", atB, history.Sold, 50, 590, acquire(100), read(120), writes(200), release(300))
			f.Faults = []history.Fault{{Order: "10000-anna", Kind: history.FaultLate, Command: "write", At: ms(45),
				End: ms(2100)}}
		}},
		{"key-removed 1", "E", cause{}, withFence, func(f *forgery) { // the write looks for its lock
			f.order("anna", atA, history.Busy, 0, 700, acquire(10), read(20),
				usually(command(600, history.EffectNothing, "eval"), history.EffectWrote))
			f.order("bert", atB, history.Sold, 50, 590, acquire(100), read(120), writes(200), release(300))
		}},
		// No fault excuses a second holder before the lease expires.
		{"pause", "SE", unknown, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590, acquire(100), read(120), writes(200))
		}},
		{"crash 2", "SE", unknown, "", func(f *forgery) { overlap(f) }},
		{"pause", "SE", unknown, "", func(f *forgery) { // she has renewed it
			f.order("anna", atA, history.Sold, 0, 3000, acquire(10), renewal(1500, history.EffectRenewed), read(1510),
				writes(2100))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), read(2060), writes(2070), release(2500))
		}},
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) { // the server's clock may be a little ahead
			f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), writes(2100))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(1970), read(1980), writes(1990), release(2500))
		}},
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) { // Bert came before Anna's acquire too
			f.order("bert", atB, history.Sold, 0, 9, acquire(1), read(2), writes(3), release(5))
			f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), leaves(2100, 8))
			f.order("bert-2", atB, history.Sold, 50, 2600, acquire(2050), read(2060), leaves(2070, 8), release(2500))
		}},
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) { // and after her release
			f.order("anna", atA, history.Sold, 0, 50, acquire(10), read(20), writes(30), release(40))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(100), read(110), leaves(2300, 8))
			f.order("clara", atA, history.Sold, 60, 2700, acquire(2150), read(2160), leaves(2170, 8), release(2180))
		}},
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) { // it is not Anna who is paused
			f.order("clara", atA, history.Sold, 0, 3000, acquire(10), read(20), writes(2100))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), read(2060), writes(2070), release(2500))
		}},
		// A write that may have arrived, that only reads, or that another effect of its command did, is not refused.
		{"pause", "E", cause{}, unrenewed, func(f *forgery) {
			unknown := usually(command(2100, history.EffectNothing, "eval"), history.EffectWrote)
			unknown.End = history.Never
			f.order("anna", atA, history.Busy, 0, 3000, acquire(10), read(20), unknown)
			f.order("bert", atB, history.Sold, 50, 2090, acquire(2050), read(2060), writes(2070), release(2500))
		}},
		{"pause", "E", cause{}, unrenewed, func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 3000, acquire(10), read(20),
				usually(command(2100, history.EffectRead, "eval"), history.EffectWrote))
			f.order("bert", atB, history.Sold, 50, 2090, acquire(2050), read(2060), writes(2070), release(2500))
		}},
		{"pause", "SE", cause{}, unrenewed, func(f *forgery) {
			overlap(f, usually(command(2100, history.EffectTried, "exec"), history.EffectWrote))
		}},
		{"pause", "SER", removedBlindly, "", func(f *forgery) { overlap(f, del(2300)) }},
		{"pause", "SER", removedBlindly, "", func(f *forgery) { // nothing has removed the lock under its holder
			f.Facts.TTL = 0
			overlap(f, del(2300))
		}},
		{"pause", "SER", removedLater, "", func(f *forgery) { overlap(f, looks(2250), del(2300)) }},
		{"pause", "SER", comparedPart, "", func(f *forgery) { overlap(f, names(release(2300), "token of +0.010 s")) }},
		{"pause", "SER", oneObject, "", func(f *forgery) { overlap(f, names(release(2300), "token of +2.050 s")) }},
		{"pause", "SER", removedBlindly, "", func(f *forgery) { // it compares the lock with what it has just read of it
			reads := with(looks(2250), func(w *history.Carried) { w.Is = "token of +2.050 s" })
			overlap(f, reads, names(release(2300), "token of +2.050 s"))
		}},
		{"pause", "SER", oneObject, "", func(f *forgery) { // it had read its own
			reads := with(looks(30), func(w *history.Carried) { w.Is = "token of +0.010 s" })
			overlap(f, reads, names(release(2300), "token of +2.050 s"))
		}},
		{"delayed-release", "ER", oneForAll, "", func(f *forgery) { alike(f, atB) }},
		{"delayed-release", "ER", oneForAll, "", func(f *forgery) { alike(f, atA) }},
		{"delayed-release", "ER", oneForInstance, "", func(f *forgery) {
			f.Facts.Name = true
			alike(f, atA)
		}},
		{"delayed-release", "ER", oneForAll, "", func(f *forgery) { // both instances have it
			f.Facts.Name = true
			alike(f, atB)
		}},
		{"delayed-release", "ER", removedBlindly, "", func(f *forgery) {
			f.Facts.Name = true
			alike(f, atA)
			f.Ops[0].Trace[3] = del(2200)
		}},
		{"pause", "SER", removedBlindly, "", func(f *forgery) { // it looked before its acquire only, and renewed
			f.order("anna", atA, history.Sold, 0, 3000, looks(5), acquire(10), read(20),
				renewal(30, history.EffectRenewed), writes(2100), del(2300))
			f.order("bert", atB, history.Sold, 50, 2600, tried(100), acquire(2050), read(2060), writes(2070), release(2500))
		}},
		{"one-instance", "R", releasedTwice, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 300, acquire(10), read(20), writes(30), del(40), del(140))
			f.order("bert", atB, history.Sold, 50, 200, acquire(100), read(120), leaves(130, 8))
		}},
		// Clara removed Anna's lock, so that Bert acquired it.
		{"two-instances", "SER", releasedTwice, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 300, acquire(10), read(15), writes(100), inVain(110))
			f.order("bert", atB, history.Sold, 40, 90, acquire(50), read(60), writes(70))
			f.order("clara", atB, history.Busy, 0, 300, acquire(5), del(6), tried(20), del(30))
		}},
		{"crash 1", "L", noTTL, "", func(f *forgery) {
			f.Facts.TTL = 0
			stuck(f)
		}},
		{"key-removed 1", "SER", cause{}, removed, func(f *forgery) { // which excuses the release of another's, too
			f.Facts.TTL = 0
			overlap(f, del(2300))
			f.also = []cause{removedBlindly}
		}},
		// If the lock expires, no fault excuses the release of another order's.
		{"key-removed 1", "SER", removedBlindly, "", func(f *forgery) { overlap(f, del(2300)) }},
		{"server-restart", "SER", removedBlindly, "", func(f *forgery) { overlap(f, del(2300)) }},
		{"key-removed 1", "SER", removedBlindly, "", func(f *forgery) {
			f.Facts.TTL, f.Facts.InValue = 0, 5*time.Second
			overlap(f, del(2300))
		}},
		{"key-removed 1", "SERL", noTTL, "", func(f *forgery) {
			f.Facts.TTL = 0
			overlap(f, del(2300))
			f.order("fresh-b-1", atB, history.Busy, 3900, 19000, looks(4010), looks(18000)) // still held
			f.also = []cause{removedBlindly}
		}},
		{"crash 1", "", longLease, "", func(f *forgery) {
			dead(f)
			f.Facts.TTL, f.Facts.Takes = 2000*time.Second, 20*time.Millisecond
		}},
		{"crash 1", "", cause{}, "", func(f *forgery) { // longer than a trial waits, and not out of proportion
			dead(f)
			f.Facts.TTL, f.Facts.Takes = 2000*time.Second, 2*time.Second
		}},
		{"crash 3", "", cause{}, "", func(f *forgery) { // nobody died
			f.Facts.TTL, f.Facts.Takes = 2000*time.Second, 20*time.Millisecond
		}},
		{"crash 1", "L", ttlLater, "", func(f *forgery) {
			f.Facts.TTLLater = true
			stuck(f)
		}},
		{"request-lost 4", "L", renewalOutlives, "", func(f *forgery) {
			stuck(f, renewal(700, history.EffectRenewed), renewal(1400, history.EffectRenewed))
			f.Ops[0].Done, f.Ops[0].Outcome = ms(600), history.Busy
		}},
		{"crash 1", "L", waiterExtends, "", func(f *forgery) {
			f.Facts.Kind = "string"
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			f.order("fresh-b-1", atB, history.Busy, 900, 9000, tried(1010), command(1020, history.EffectRenewed, "expire"),
				tried(8000))
		}},
		{"crash 1", "L", unknown, "", func(f *forgery) { // it may hold the lock besides others
			f.Facts.Kind = "hash"
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			f.order("fresh-b-1", atB, history.Busy, 900, 9000, tried(1010), command(1020, history.EffectRenewed, "hset"),
				tried(8000))
		}},
		{"crash 1", "L", nobodyWakes, "", func(f *forgery) {
			f.Facts.Messages = true
			stuck(f)
		}},
		{"crash 1", "L", nobodyWakes, "", func(f *forgery) { // it blocks at the Redis
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010))
			hungUp(9000, &f.Ops[1])
		}},
		{"crash 3", "L", deadWaiter, "", func(f *forgery) {
			f.order("anna", atA, history.Unknown, 0, 0, tried(10))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), tried(8000))
			f.killed(20)
		}},
		{"crash 1", "L", deadWaiter, "", func(f *forgery) { // nor does the lock's end give up the place of its holder
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			inVain := usually(command(8000, history.EffectNothing, "eval"), history.EffectAcquired)
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), inVain)
			f.killed(20)
		}},
		{"reply-lost 1", "L", deadWaiter, "", func(f *forgery) { // nor does its order, which fails
			anna := f.order("anna", atA, history.NotSold, 0, 20, lost(acquire(10)))
			inVain := usually(command(8000, history.EffectNothing, "eval"), history.EffectAcquired)
			f.Faults = []history.Fault{{Order: anna.Order, Instance: atA, Kind: history.FaultLost, Command: "acquire",
				At: ms(10), End: ms(11)}}
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), inVain)
		}},
		{"reply-lost 4", "L", deadWaiter, "", func(f *forgery) { // which it may do once it has released the lock
			anna := f.order("anna", atA, history.Sold, 0, 50, acquire(10), read(20), writes(30), lost(release(40)))
			inVain := usually(command(8000, history.EffectNothing, "eval"), history.EffectAcquired)
			f.Faults = []history.Fault{{Order: anna.Order, Instance: atA, Kind: history.FaultLost, Command: "release",
				At: ms(40), End: ms(41)}}
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, inVain)
		}},
		{"crash 1", "L", unknown, "", func(f *forgery) { // the lock has not expired
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			inVain := usually(command(1010, history.EffectNothing, "eval"), history.EffectAcquired)
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, inVain, tried(8000))
			f.killed(20)
		}},
		{"crash 3", "L", unknown, "", func(f *forgery) { // no waiter has died
			f.order("anna", atA, history.Unknown, 0, 0, tried(10))
			f.order("bert", atB, history.Unknown, 0, 0, acquire(5))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), tried(8000))
		}},
		{"crash 3", "L", unknown, "", func(f *forgery) { // there is no lock to wait for, and none without a TTL
			f.Facts.Locks, f.Facts.TTL = nil, 0
			f.order("anna", atA, history.Unknown, 0, 0)
			f.order("fresh-b-1", atB, history.Unknown, 900, 0)
			f.killed(20)
		}},
		{"two-instances", "S", readEarly, "", func(f *forgery) {
			f.Facts.ReadsEarly = true
			crowd(f)
		}},
		{"two-instances", "S", wroteUnread, "", func(f *forgery) {
			f.Facts.ReadsNever = true
			crowd(f)
		}},
		{"two-instances", "S", tookLater, "", func(f *forgery) {
			f.Facts.Overwrites = true
			crowd(f)
		}},
		{"two-instances", "S", unknown, "", func(f *forgery) { // it decrements the stock
			f.Facts.ReadsNever, f.Facts.LockFree = true, true
			crowd(f)
		}},
		{"two-instances", "S", unknown, "", crowd},
		{"two-instances", "S", unknown, "", func(f *forgery) { // there is no lease
			f.Facts.TTL, f.Facts.Takes = 0, 5*time.Millisecond
			crowd(f)
		}},
		{"two-instances", "S", oneForInstance, "", func(f *forgery) {
			f.Facts.Name = true
			crowd(f)
		}},
		{"two-instances", "S", readEarly, "", func(f *forgery) {
			f.Facts.ReadsTwice = true
			crowd(f)
		}},
		{"two-instances", "S", releasedEarly, "", func(f *forgery) {
			f.Facts.Early = true
			crowd(f)
		}},
		{"two-instances", "S", tooFewKeys, "", func(f *forgery) {
			f.Facts.Locks = []string{lockKey, "lock 2", "lock 3"}
			crowd(f)
		}},
		{"two-instances", "S", readEarly, "", func(f *forgery) { // so a majority is no excuse
			f.Facts.Locks, f.Facts.ReadsEarly = []string{lockKey, "lock 2", "lock 3"}, true
			crowd(f)
		}},
		{"pause", "S", lockPerOrder, "", func(f *forgery) {
			f.Facts.Apart, f.Facts.Locks = "order", nil
			crowd(f)
		}},
		{"two-instances", "S", shortLease, "", func(f *forgery) {
			f.Facts.TTL, f.Facts.Takes = time.Millisecond, 5*time.Millisecond
			crowd(f)
		}},
		{"two-instances", "S", fenceLate, "", func(f *forgery) {
			f.Facts.Fence = true
			crowd(f)
		}},
		{"pause", "SE", tookLater, "", func(f *forgery) { // Bert's SET replaced Anna's
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590,
				with(acquire(100), func(w *history.Carried) { w.Was = "token of +0.010 s" }), read(120), writes(200))
		}},
		{"crash 2", "E", tookLater, "", func(f *forgery) { // nor were two units sold
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), leaves(500, 8))
			f.order("bert", atB, history.Sold, 50, 590,
				with(acquire(100), func(w *history.Carried) { w.Was = "token of +0.010 s" }), read(120), writes(200))
		}},
		{"pause", "SE", renewalTakes, "", func(f *forgery) { // of an order that never held it
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590, tried(60), takesOver(100, 10), read(120), writes(200))
		}},
		{"pause", "SE", replaced, "", func(f *forgery) { // the same command acquires and renews
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590, tried(60),
				usually(takesOver(100, 10), history.EffectRenewed|history.EffectAcquired), read(120), writes(200))
		}},
		{"crash 2", "E", unknown, "", func(f *forgery) { // the fence was not needed
			fenced(f, []history.Command{leaves(2100, 8)}, []history.Command{writes(2080)})
		}},
		{"crash 2", "SE", unknown, "", func(f *forgery) { // what Anna read early was still so under her lock
			f.order("anna", atA, history.Sold, 0, 3000, reads(5, 10), acquire(10), reads(20, 10), writes(2100))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), reads(2060, 10), writes(2070), release(2500))
		}},
		{"pause", "SE", fenceLate, "", func(f *forgery) {
			fenced(f, []history.Command{writes(2070)}, []history.Command{writes(2080)})
		}},
		{"pause", "SE", fenceUnchecked, "", func(f *forgery) {
			fenced(f, []history.Command{writes(2100)}, []history.Command{writes(2080)})
		}},
		{"pause", "SE", fenceBackwards, "", func(f *forgery) {
			compares := with(writes(2100), func(w *history.Carried) { w.Compared = true })
			fenced(f, []history.Command{compares}, []history.Command{writes(2080)})
		}},
		{"two-instances", "SE", tooFewKeys, "", func(f *forgery) {
			f.Facts.Locks = []string{lockKey, "lock 2", "lock 3"}
			key := func(c history.Command, name string) history.Command {
				c.Key = name
				return c
			}
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590, tried(90), key(acquire(100), "lock 2"), read(120), writes(200))
		}},
		{"two-instances", "SE", tooFewKeys, "", func(f *forgery) { // Bert's two keys of three are enough, Anna's is not
			f.Facts.Locks = []string{lockKey, "lock 2", "lock 3"}
			key := func(c history.Command, name string) history.Command {
				c.Key = name
				return c
			}
			f.order("anna", atA, history.Sold, 0, 600, acquire(10), read(20), writes(500))
			f.order("bert", atB, history.Sold, 50, 590, tried(90), key(acquire(100), "lock 2"), key(acquire(105), "lock 3"),
				read(120), writes(200))
		}},
		{"busy", "R", releasedUnheld, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), writes(800), release(850))
			f.order("bert", atB, history.Busy, 50, 600, tried(100), del(500))
		}},
		{"crash 1", "L", unknown, "", func(f *forgery) { stuck(f) }},
		{"crash 1", "L", unknown, "", func(f *forgery) { // its acquire explains other verdicts
			f.Facts.Overwrites = true
			stuck(f)
		}},
		{"crash 1", "L", unknown, "", func(f *forgery) { // the stock was right although there is no lock
			f.Facts.Locks = nil
			stuck(f)
		}},
		{"crash 1", "L", unknown, "", func(f *forgery) { // its lease is in its value
			f.Facts.TTL, f.Facts.InValue = 0, 5*time.Second
			stuck(f)
		}},
		{"two-instances", "S", lockPerOrder, "", func(f *forgery) {
			f.Facts.Apart, f.Facts.Locks = "order", nil
			crowd(f)
		}},
		{"two-instances", "S", lockPerInstance, "", func(f *forgery) {
			f.Facts.Apart, f.Facts.Locks = "instance", nil
			crowd(f)
		}},
		{"two-instances", "S", noLock, "", func(f *forgery) {
			f.Facts.Locks = nil
			crowd(f)
		}},
		{"two-instances", "S", noLock, "", func(f *forgery) { // it reads the stock, and then sends a DECR
			f.Facts.Locks, f.Facts.LockFree = nil, true
			crowd(f)
		}},
		{"late", "S", refusedTaken, "", func(f *forgery) { // a script takes the unit
			f.Facts.Locks, f.Facts.LockFree, f.Facts.ReadsNever = nil, true, true
			f.order("anna", atA, history.Busy, 0, 90, writes(60))
		}},
		{"crash 2", "", answeredEarly, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 25, acquire(10), read(20))
			f.killed(30)
		}},
		{"delayed-release 1", "S", readEarly, "", func(f *forgery) { // the read under the lock goes unused
			f.order("anna", atA, history.Sold, 0, 90, reads(5, 10), acquire(10), reads(20, 10), writes(30), release(40))
			f.order("bert", atB, history.Sold, 0, 90, reads(6, 10), acquire(50), reads(60, 9), writes(70), release(80))
		}},
		{"two-instances", "S", sharedWatch, "", func(f *forgery) {
			f.Facts.Locks, f.Facts.LockFree, f.Facts.Watches = nil, true, true
			crowd(f)
		}},
		{"reply-lost 3", "S", writtenAgain, "", func(f *forgery) {
			f.Facts.LockFree = true
			decr := func(n int) history.Command { return command(n, history.EffectWrote, "decr") }
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), decr(20), decr(40), release(60))
		}},
		{"reply-lost 3", "S", refusedTaken, "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 90, acquire(10), read(20), writes(30), release(60))
		}},
		// Of several broken verdicts, the stock is explained first, then the release, then what is stuck.
		{"reply-lost 3", "SER", refusedTaken, "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2500, acquire(10), read(20), writes(30), del(2300))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2250), read(2260), leaves(2270, 8))
			f.also = []cause{removedBlindly}
		}},
		{"reply-lost 4", "ERL", removedBlindly, "", func(f *forgery) {
			f.Facts.TTLLater = true
			f.order("anna", atA, history.Sold, 0, 2500, acquire(10), read(20), writes(30), del(2300))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2250), read(2260), leaves(2270, 8))
			f.order("clara", atA, history.Unknown, 2390, 0, acquire(2400))
			f.order("fresh-b-1", atB, history.Busy, 3000, 9000, tried(3010), tried(8900))
			f.also = []cause{ttlLater}
		}},
		{"two-instances", "", crashed, "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
			f.Faults = append(f.Faults, history.Fault{Instance: atA, Kind: history.FaultDied, Text: "ended"})
		}},
		{"slow-work", "", crashed, "", func(f *forgery) { // the other instance has lost its lock
			f.order("anna", atA, history.Busy, 0, 3000, acquire(10))
			f.order("bert", atB, history.Sold, 50, 2600, acquire(2050), read(2060), writes(2070), release(2500))
			f.Faults = append(f.Faults, history.Fault{Instance: atB, Kind: history.FaultDied, Text: "ended"})
		}},
		{"delayed-release", "", cause{}, "", func(f *forgery) { // no instance has ended
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
			f.Faults = append(f.Faults, history.Fault{Instance: atA, Text: "held"})
		}},
		{"cut-off", "", cause{}, "", func(f *forgery) { // it may have meant to
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
			f.Faults = append(f.Faults, history.Fault{Instance: atB, Kind: history.FaultDied, Text: "ended"},
				history.Fault{Kind: history.FaultCut})
		}},
		{"key-removed 1", "", cause{}, "", func(f *forgery) { // so may one that has lost its lock
			f.order("anna", atA, history.NotSold, 0, 0, acquire(10), read(20))
			f.order("bert", atB, history.Sold, 50, 200, acquire(100), read(110), writes(120), release(130))
			f.Faults = append(f.Faults, history.Fault{Instance: atA, Kind: history.FaultDied, Text: "ended"},
				history.Fault{Kind: history.FaultRestart})
		}},
	} {
		f := forge()
		one.forged(f)
		c := f.judge(one.fault)
		assert.Equal(t, one.letters, broken(c), "%s: %s %v", one.fault, one.want.what, c.Findings)
		if one.want.what == "" {
			assert.Nil(t, c.Defect, one.fault)
		} else if assert.NotNil(t, c.Defect, one.want.what) {
			assert.Equal(t, one.want.what, c.Defect.Cause)
			assert.Equal(t, one.want.remedy, c.Defect.Remedy)
			assert.NotEmpty(t, c.Defect.Shown, "a defect has something that shows it")
		}
		assert.Equal(t, one.design, c.Design)
	}
}

// A stall of the machine voids a verdict. The commands may still show a defect: a lock that stays, or a waiter that
// sleeps, for longer than the stall explains.
func TestDefectsOnABusyMachine(t *testing.T) {
	const aBit, long = 200 * time.Millisecond, 1100 * time.Millisecond
	// dead kills Anna's instance while she holds the lock. A fresh order tries to acquire it at these moments, in vain.
	dead := func(f *forgery, moments ...int) *history.Op {
		f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
		f.killed(20)
		var tries []history.Command
		for _, ms := range moments {
			tries = append(tries, tried(ms))
		}
		fresh := f.order("fresh-b-1", atB, history.Unknown, 900, 0, tries...)
		hungUp(5400, fresh)
		return fresh
	}
	asleep := func(f *forgery, moments ...int) *history.Op {
		f.Facts.Messages = true
		return dead(f, moments...)
	}
	for _, one := range []struct {
		what, defect string
		stalled      time.Duration
		forged       func(*forgery)
	}{
		{"a key outlives its dead order", ttlLater.what, aBit,
			func(f *forgery) {
				f.Facts.TTLLater = true
				dead(f, 1010, 4300)
			}},
		{"a key may have stayed because of the stall", "", long, func(f *forgery) {
			f.Facts.TTLLater = true
			dead(f, 1010, 4300)
		}},
		{"a key is renewed after its order was answered", renewalOutlives.what, aBit, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), writes(30),
				renewal(1400, history.EffectRenewed), renewal(2800, history.EffectRenewed),
				renewal(4290, history.EffectRenewed))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010))
		}},
		{"a waiter prolongs the lock of a dead order", waiterExtends.what, aBit,
			func(f *forgery) {
				f.Facts.Kind = "string"
				fresh := dead(f, 1010)
				fresh.Trace = append(fresh.Trace, command(4300, history.EffectRenewed, "expire"))
			}},
		{"a waiter sleeps past an expiry", nobodyWakes.what, aBit, func(f *forgery) { asleep(f, 1010) }},
		{"a waiter polls", "", aBit, func(f *forgery) { asleep(f, 1010, 2100) }},
		{"a waiter may have slept because of the stall", "", long, func(f *forgery) { hungUp(4900, asleep(f, 1010)) }},
		{"an order that never tried the lock does not wait for it", "", aBit, func(f *forgery) { asleep(f) }},
		{"a lock that several may hold", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			dead(f, 1010, 4300)
			f.Ops[0].Trace[0].Effect |= history.Beside
		}},
		{"an order finds its own lock", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			f.order("clara", atB, history.Busy, 900, 960, lost(acquire(910)), tried(5300))
			hungUp(5400, f.order("fresh-b-1", atB, history.Unknown, 900, 0))
		}},
		{"an acquire came late", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			f.order("anna", atA, history.Busy, 0, 60, heldUntil(4000, acquire(10)))
			hungUp(5400, f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), tried(5300)))
		}},
		{"the trial itself held the lock", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			f.order("us", Us, history.NotSold, 0, 9, acquire(1), release(5))
			dead(f, 1010, 4300)
		}},
		{"the key is an unknown order's after the release", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), writes(30), release(40))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), tried(5300))
		}},
		{"the key may be an unknown order's", "", aBit, func(f *forgery) {
			f.Facts.TTLLater = true
			dead(f, 1010, 4300)
			f.Strays = []history.Command{acquire(2500)}
		}},
		{"a waiter sleeps while another order holds the lock", "", aBit, func(f *forgery) {
			asleep(f, 1010)
			f.order("bert", atB, history.Unknown, 900, 0, acquire(4000))
		}},
		{"a fresh order sells at last", "", long, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), writes(30),
				renewal(5300, history.EffectRenewed))
			f.order("bert", atB, history.Sold, 0, 60, acquire(15), read(20), writes(40))
			f.order("fresh-b-1", atB, history.Sold, 900, 5600, tried(5400), acquire(5500), leaves(5510, 8))
		}},
		{"the key is another's after the release", "", aBit, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), writes(30), release(40))
			f.order("bert", atB, history.Unknown, 100, 0, acquire(1000))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, tried(1010), tried(5300))
		}},
		{"a waiter may have been refused late because of the stall", "", long, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), writes(30), inVain(40))
			f.order("bert", atB, history.Sold, 0, 60, acquire(15), read(20), writes(40), release(50))
			f.order("clara", atA, history.Busy, 70, 3130, tried(80))
		}},
		{"an order's own commands show the defect", releasedEarly.what, long, func(f *forgery) {
			dead(f, 1010)
			f.order("clara", atB, history.Sold, 0, 90, acquire(10), read(20), release(25), writes(30))
		}},
		{"a renewal may have arrived after the other's lock expired", renewalMakes.what, long,
			func(f *forgery) {
				dead(f, 1010)
				f.order("clara", atB, history.Sold, 0, 2900, acquire(10), read(20),
					renewal(1900, history.EffectAcquired), writes(2700), release(2800))
			}},
	} {
		f := forge()
		f.Client.Longest = one.stalled
		one.forged(f)
		c := f.judge("crash 1")
		assert.Equal(t, history.Invalid, history.Worst(c.Findings), one.what)
		if one.defect == "" {
			assert.Nil(t, c.Defect, one.what)
		} else if assert.NotNil(t, c.Defect, one.what) {
			assert.Equal(t, one.defect, c.Defect.Cause, one.what)
			assert.NotEmpty(t, c.Defect.Shown)
		}
	}
}

// Each kind of lock is excused for the verdicts that its correct rung breaks, under the faults that break them, and for
// no others.
func TestBreaksByDesign(t *testing.T) {
	const late = "a write in flight can outlive any lock; fence the write (v15)"
	const removed = "the trial removed the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)"
	const restarted = "the Redis lost the lock under its holder, and no lock protects a write that follows; " +
		"fence the write (v15)"
	const unrenewed = "a lease that is not renewed expires under its holder, as in v4; renew it (v5.5) or fence the " +
		"write (v15)"
	const renewed = "no lease protects a write that is sent after its expiry, as in v5.5; fence the write (v15)"
	const fenced = "the lock is lost, but the stock refuses the late write, as in v15"
	for _, one := range []struct {
		fault                      string
		unrenewed, renewed, fenced string // by the kind of the lock
	}{
		{"slow-work", unrenewed, "", fenced},
		{"pause", unrenewed, renewed, fenced},
		{"late", late, late, fenced},
		{"key-removed 1", removed, removed, fenced},
		{"renewals-lost", unrenewed, renewed, fenced},
		{"server-restart", restarted, restarted, fenced},
		{"cut-off", unrenewed, renewed, fenced},
		{"two-instances", "", "", ""}, {"busy", "", "", ""}, {"crash 1", "", "", ""}, {"hang-up 1", "", "", ""},
		{"delayed-release", "", "", ""}, {"check-delete-gap", "", "", ""}, {"late-acquire", "", "", ""},
		{"after-release", "", "", ""}, {"reply-lost 3", "", "", ""}, {"request-lost 3", "", "", ""},
	} {
		const fenceFails = ""
		for i, want := range []string{one.unrenewed, one.renewed, one.fenced, fenceFails} {
			f, letters, left := forge(), "SE", stock-1
			switch i {
			case 1:
				f.Facts.Every = 600 * time.Millisecond
			case 2:
				f.Facts.Fence, letters, left = true, "E", stock-2
			case 3:
				f.Facts.Fence = true
			}
			f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), leaves(2100, left))
			f.order("bert", atB, history.Sold, 50, 2600, tried(100), acquire(2050), read(2060), writes(2070), release(2500))
			c := f.judge(one.fault)
			assert.Equal(t, letters, broken(c), one.fault)
			assert.Equal(t, want, c.Design, "%s of kind %d", one.fault, i)
			assert.Equal(t, want == "", c.Defect != nil, "%s of kind %d: %v", one.fault, i, c.Defect)
		}
	}
}

// A client may send a write again that got no reply. If the late one, or the new one, overwrites another order's, the
// stock does not balance, although no unit was sold twice. A write before the other order's is no reason for that.
func TestWriteThatWasSentAgain(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 60, acquire(10), read(20), heldUntil(2100, writes(30)), writes(40), release(50))
	f.order("bert", atB, history.Sold, 70, 200, acquire(80), read(90), leaves(100, stock-2), release(110))
	c := f.judge("late")
	assert.Equal(t, "S", broken(c))
	assert.Equal(t, inFlight, c.Design)
	assert.Nil(t, c.Defect)

	for _, of := range []struct {
		again, left int
		design      string
	}{{3000, stock - 2, unrenewed}, {1500, stock - 3, ""}} {
		f := forge()
		f.order("anna", atA, history.Sold, 0, 3100, acquire(10), read(20), writes(30), writes(of.again), inVain(3050))
		f.order("bert", atB, history.Sold, 70, 2400, acquire(2100), read(2110), leaves(2120, of.left), release(2130))
		f.Faults = []history.Fault{{Order: f.Ops[0].Order, Instance: atA, Kind: history.FaultLost,
			Command: history.CommandWrite, At: ms(30), End: ms(31)}}
		c := f.judge("reply-lost 3")
		assert.Contains(t, broken(c), "S", of)
		assert.Equal(t, of.design, c.Design, of)
		assert.Equal(t, of.design == "", c.Defect != nil, of)
	}
}

func TestCorrectOrdersHaveNoDefect(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
	f.order("bert", atB, history.Sold, 5, 200, tried(15), acquire(60), read(70), leaves(80, 8), release(90))
	c := f.judge("pause")
	assert.Empty(t, broken(c))
	assert.Nil(t, c.Defect)
	assert.Empty(t, c.Design)
	assert.Empty(t, c.Remarks)
}

func TestRemarksOnLocksAndWaiters(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Busy, 0, 90, lost(acquire(10)))
	f.order("bert", atB, history.Sold, 5, 3040, tried(15), acquire(3000), read(3010), writes(3020), release(3030))
	f.order("clara", atA, history.Sold, 3005, 5030, tried(3006), acquire(5000), leaves(5010, 8), release(5020))
	c := f.judge("reply-lost 1")
	assert.Nil(t, c.Defect)
	assert.Equal(t, []string{
		"the lock stayed until its TTL although its order was refused: an acquire without a reply is not undone",
		"Clara slept for 1.969s while the lock was free",
	}, c.Remarks)
	f = forge()
	f.Facts.Kind = "string"
	f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), writes(30), release(40))
	f.order("bert", atB, history.Busy, 15, 90, tried(16), command(20, history.EffectRenewed, "pexpire"))
	assert.Equal(t, []string{"Bert's pexpire extended Anna's lock"},
		f.judge("two-instances").Remarks)
	f.Ops[1].Instance = atA
	assert.Equal(t, []string{"Bert's pexpire extended Anna's lock"}, f.judge("two-instances").Remarks)
	f.Facts.Name = true
	assert.Empty(t, f.judge("two-instances").Remarks, "the value is the instance's")
	f.Ops[1].Instance = atB
	assert.Equal(t, []string{"Bert's pexpire extended Anna's lock"}, f.judge("two-instances").Remarks)
	f = forge()
	f.Facts.Kind = "string"
	f.order("clara", atA, history.Unknown, 100, 190, acquire(110)) // its key was removed, and Dora renews her own
	f.order("dora", atB, history.Busy, 120, 190, acquire(130), command(140, history.EffectRenewed, "pexpire"),
		release(150))
	assert.Empty(t, f.judge("two-instances").Remarks)
	f = forge() // the instance renews Anna's lock while Bert waits there
	f.Facts.Kind, f.Facts.Token, f.Facts.Name = "string", false, true
	f.order("anna", atA, history.Sold, 0, 3000, acquire(10), read(20), writes(30), release(2500))
	f.order("bert", atA, history.Busy, 100, 2000, tried(110), renewal(700, history.EffectRenewed))
	assert.Empty(t, f.judge("delayed-release").Remarks)
	f = forge()
	f.order("anna", atA, history.Sold, 0, 3000, lost(acquire(10)), tried(20), tried(1900), acquire(2020),
		read(2030), writes(2040), release(2050))
	f.order("bert", atB, history.Sold, 3100, 3200, lost(acquire(3110)), acquire(3120), leaves(3130, 8),
		release(3140))
	assert.Equal(t, []string{"a retried acquire found the key of its first attempt, and waited for that to expire"},
		f.judge("reply-lost 1").Remarks)
}

func TestRemarksOnAnswers(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 8000, acquire(10), read(20), writes(30), release(40))
	f.Ops[0].Trace[1].Reply = "10"
	empty := f.order("bert", atB, history.Busy, 9000, 9100, acquire(9010), read(9020), release(9030))
	empty.Trace[1].Reply = "9"
	assert.Equal(t, []string{
		"Anna was answered 7.969s after its write", "Bert held the lock, found stock and sold nothing",
	}, f.judge("reply-lost 4").Remarks)

	f = forge() // the trial held Anna's release, and no stock was left for Bert
	f.order("anna", atA, history.Sold, 0, 8000, acquire(10), read(20), writes(30), heldUntil(7900, release(40)))
	f.order("bert", atB, history.Busy, 9000, 9100, acquire(9010), read(9020), release(9030)).Trace[1].Reply = "0"
	f.Faults = []history.Fault{{Instance: atA, At: ms(41), End: ms(7890)}}
	assert.Empty(t, f.judge("delayed-release").Remarks)

	f = forge()
	f.order("anna", atA, history.Sold, 0, 20, acquire(10), read(12), writes(30), release(40)).Status = 202
	c := f.judge("late")
	assert.Nil(t, c.Defect)
	assert.Equal(t, []string{"Anna was answered 202 before its unit was taken"}, c.Remarks)
	f.Ops[0].Status, f.Ops[0].Units = 200, nil
	assert.Equal(t, answeredEarly.what, f.judge("late").Defect.Cause)
}

// Each remark has its conditions.
func TestConditionsOfRemarks(t *testing.T) {
	const left = "the lock stayed until its TTL although its order was refused: an acquire without a reply is not undone"
	const met = "a retried acquire found the key of its first attempt, and waited for that to expire"
	const nothing = "Anna held the lock, found stock and sold nothing"
	finds := func(n int, reply string) history.Command {
		c := read(n)
		c.Reply = reply
		return c
	}
	plain := func(f *forgery) {
		f.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(30), release(40))
	}
	// waits has Bert take the lock a while after Anna's release, and Anna's order as its own.
	waits := func(f *forgery, trace ...history.Command) {
		plain(f)
		f.order("bert", atB, history.Sold, 5, 2100, append(trace, acquire(2000), leaves(2010, 8), release(2020))...)
	}
	// refused refuses Anna, who has found stock; she sends no more than these commands.
	refused := func(f *forgery, trace ...history.Command) *history.Op {
		return f.order("anna", atA, history.Busy, 0, 90, trace...)
	}
	undone := func(f *forgery) *history.Op { return refused(f, lost(acquire(10))) }
	for _, one := range []struct {
		what, fault, want string
		forged            func(*forgery)
	}{
		{"an instance ended, as it lost its Redis", "cut-off", "b ended", func(f *forgery) {
			plain(f)
			f.Faults = []history.Fault{{Instance: atB, Kind: history.FaultDied, Text: "ended"}, {Kind: history.FaultCut}}
		}},
		{"a long lease", "crash 1", "a crash blocks all orders for 2m0s", func(f *forgery) {
			f.Facts.TTL = 2 * time.Minute
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			f.killed(20)
		}},
		{"a long lease without a crash", "crash 2", "", func(f *forgery) { f.Facts.TTL = 2 * time.Minute }},
		{"a lease of a minute", "crash 1", "", func(f *forgery) {
			f.Facts.TTL = time.Minute
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10))
			f.killed(20)
		}},

		{"a renewal in time", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), writes(30), renewal(280, history.EffectRenewed))
		}},
		{"a late renewal", "busy", "Anna's lock was renewed 201ms after its answer", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), writes(30), renewal(291, history.EffectRenewed))
		}},
		{"another late command", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), writes(30), looks(291))
		}},
		{"a renewal of an order without an answer", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Unknown, 0, 0, acquire(10), writes(30), renewal(291, history.EffectRenewed))
		}},

		{"a waiter sleeps", "busy", "Bert slept for 1.959s while the lock was free",
			func(f *forgery) { waits(f, tried(15)) }},
		{"a waiter polls", "busy", "", func(f *forgery) { waits(f, tried(15), tried(1000)) }},
		{"a waiter hears late", "busy", "", func(f *forgery) {
			waits(f, with(tried(15), func(w *history.Carried) { w.Heard = ms(1000) }))
		}},
		{"an order that works before it tries the lock", "busy", "", func(f *forgery) { waits(f, looks(15)) }},
		{"a waiter that came later", "busy", "", func(f *forgery) {
			waits(f, tried(45))
			f.Ops[1].Sent = ms(44)
		}},
		{"the first order to hold the lock", "busy", "", func(f *forgery) {
			f.order("bert", atB, history.Sold, 0, 2100, tried(15), acquire(2000), writes(2010), release(2020))
		}},

		{"an order sells nothing", "busy", nothing,
			func(f *forgery) { refused(f, acquire(10), finds(20, "10"), release(40)) }},
		{"and has no answer", "busy", "", func(f *forgery) {
			hungUp(90, refused(f, acquire(10), finds(20, "10"), release(40)))
		}},
		{"and its outcome is unknown", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Unknown, 0, 90, acquire(10), finds(20, "10"), release(40)).Units = []int64{0}
		}},
		{"and it sold after all", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, acquire(10), finds(20, "10"), release(40)).Units = []int64{10}
			f.Left = new(int64(9))
		}},
		{"and a fault hit it", "busy", "", func(f *forgery) {
			refused(f, acquire(10), finds(20, "10"), release(40))
			f.Faults = []history.Fault{{Order: "10000-anna"}}
		}},
		{"and a fault hit its instance meanwhile", "busy", "", func(f *forgery) {
			refused(f, acquire(10), finds(20, "10"), release(40))
			f.Faults = []history.Fault{{Instance: atA, At: ms(50), End: ms(60)}}
		}},
		{"and faults hit other orders", "busy", nothing, func(f *forgery) {
			refused(f, acquire(10), finds(20, "10"), release(40)).Sent = ms(5)
			f.Faults = []history.Fault{{Instance: atB, At: ms(50), End: ms(60)}, {Instance: atA, At: ms(1), End: ms(2)},
				{Instance: atA, At: ms(95), End: ms(99)}}
		}},
		{"and the stock refused its write", "busy", "", func(f *forgery) {
			refused(f, acquire(10), finds(20, "10"), command(30, history.EffectRefused, "eval"), release(40))
		}},
		{"and a command failed", "busy", "", func(f *forgery) {
			failed := looks(30)
			failed.Err = "OOM command not allowed when used memory > 'maxmemory'."
			refused(f, acquire(10), finds(20, "10"), failed, release(40))
		}},
		{"and a reply was lost", "busy", "", func(f *forgery) {
			refused(f, acquire(10), finds(20, "10"), lost(looks(30)), release(40))
		}},
		{"and it never held the lock", "busy", "", func(f *forgery) { refused(f, tried(10), finds(20, "10")) }},
		{"and it found no number", "busy", "", func(f *forgery) { refused(f, acquire(10), finds(20, "many"), release(40)) }},

		{"an answer in time", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 5030, acquire(10), writes(30), release(40))
		}},
		{"a late answer", "busy", "Anna was answered 5s after its write", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 5031, acquire(10), writes(30), release(40))
		}},
		{"a late answer to a write without a reply", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 5031, acquire(10), lost(writes(30)), release(40))
		}},
		{"a late answer to an order that wrote nothing", "busy", "", func(f *forgery) { // the waiter got its turn, in vain
			f.order("anna", atA, history.Busy, 0, 9000, acquire(8900), finds(8910, "0"), release(8920))
		}},
		{"a late answer, besides a fault", "busy", "Anna was answered 5.1s after its write", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 6131, acquire(10), writes(30), release(40))
			f.Faults = []history.Fault{{At: ms(1000), End: ms(2000)}}
		}},
		{"a fault before the write, and one after the answer", "busy", "Anna was answered 5s after its write",
			func(f *forgery) {
				f.order("anna", atA, history.Sold, 0, 6031, acquire(10), writes(1030), release(1040))
				f.Faults = []history.Fault{{At: ms(20), End: ms(1000)}, {At: ms(6040), End: ms(9000)}}
			}},
		{"a fault from before the write until after the answer", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 7031, acquire(10), writes(1030), release(1040))
			f.Faults = []history.Fault{{At: ms(20), End: ms(9000)}}
		}},
		{"no answer", "busy", "Anna took its unit, and was never answered", func(f *forgery) {
			hungUp(9000, f.order("anna", atA, history.Unknown, 0, 0, acquire(10), writes(30), release(40)))
			f.Ops[0].GaveUp = history.TimedOut
		}},
		{"no answer of an instance that was killed", "crash 3", "", func(f *forgery) {
			hungUp(9000, f.order("anna", atA, history.Unknown, 0, 0, acquire(10), writes(30), release(40)))
			f.Ops[0].GaveUp = history.TimedOut
			f.killed(50)
		}},
		{"no answer to a customer who hung up", "hang-up 2", "", func(f *forgery) {
			hungUp(9000, f.order("anna", atA, history.Unknown, 0, 0, acquire(10), writes(30), release(40)))
		}},

		{"a 202 after the write", "busy", "", func(f *forgery) {
			plain(f)
			f.Ops[0].Status = 202
		}},
		{"a 202 before the release", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 35, acquire(10), writes(30), release(40)).Status = 202
		}},

		{"a 200 before a write that may be another order's", "busy", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 21, acquire(10), writes(30), release(40))
			f.order("bert", atA, history.Busy, 0, 90)
		}},

		{"a lost reply to an acquire in vain", "reply-lost 1", "", func(f *forgery) { refused(f, lost(tried(10))) }},
		{"a retry succeeds, and its order is refused", "reply-lost 1", "Anna was refused, and kept the lock",
			func(f *forgery) { refused(f, lost(acquire(10)), acquire(20)) }},
		{"a retry after other commands", "reply-lost 1", "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2040, lost(acquire(10)), read(20), acquire(2020), release(2030))
		}},
		{"a retry late in the cell", "reply-lost 1", "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 990, 2040, lost(acquire(1000)), tried(1010), acquire(2020), release(2030))
		}},
		{"an acquire is not undone", "reply-lost 1", left, func(f *forgery) { undone(f) }},
		{"a lock without a TTL", "reply-lost 1", "", func(f *forgery) {
			undone(f)
			f.Facts.TTL = 0
		}},
		{"an acquire without a TTL", "reply-lost 1", "", func(f *forgery) { undone(f).Trace[0].Effect |= history.Endless }},
		{"its order sold", "reply-lost 1", "", func(f *forgery) {
			undone(f).Outcome = history.Sold
			f.Ops[0].Units, f.Left = []int64{10}, new(int64(9))
		}},
		{"its customer gave up", "reply-lost 1", "", func(f *forgery) { hungUp(90, undone(f)) }},
		{"its instance was killed", "reply-lost 1", "", func(f *forgery) {
			undone(f)
			f.killed(50)
		}},
		{"it is undone", "reply-lost 1", "", func(f *forgery) { refused(f, lost(acquire(10)), release(20)) }},
		{"a retry waits for its own key", "reply-lost 1", met, func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2040, lost(acquire(10)), tried(20), acquire(2020), release(2030))
		}},
		{"a retry finds it gone", "reply-lost 1", "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2040, lost(acquire(10)), acquire(2020), release(2030))
		}},
		{"a retry does not wait for long", "reply-lost 1", "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 1520, lost(acquire(10)), tried(20), acquire(1500), release(1510))
		}},
		{"a retry after it was undone", "reply-lost 1", "", func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 2040, lost(acquire(10)), release(15), tried(20), acquire(2020), release(2030))
		}},
	} {
		f := forge()
		one.forged(f)
		c := f.judge(one.fault)
		assert.Equal(t, one.want, strings.Join(c.Remarks, "; "), one.what)
	}
}

// The kind of a lock is that of the correct rung.
func TestFamily(t *testing.T) {
	locks := []string{lockKey}
	for _, one := range []struct {
		facts history.Facts
		want  string
	}{
		{history.Facts{}, "v0"},
		{history.Facts{LockFree: true}, "v17"},
		{history.Facts{Apart: "order", LockFree: true}, "v4"},
		{history.Facts{Apart: "order"}, "v4"},
		{history.Facts{Locks: locks, LockFree: true}, "v4"},
		{history.Facts{Locks: locks, Every: time.Second}, "v5.5"},
		{history.Facts{Locks: locks, Every: time.Second, Fence: true}, "v15"},
	} {
		assert.Equal(t, one.want, Family(&one.facts), "%+v", one.facts)
	}
	assert.Empty(t, inconclusive(&history.Cell{Scenario: "crash 1"}), "a cell without facts")
}

// An order that sells without an acquire, while no order at its instance holds the lock, sells without a lock.
func TestSalesWithoutALock(t *testing.T) {
	unlocked := func(f *forgery) *history.Op {
		return f.order("bert", atB, history.Sold, 100, 300, read(120), leaves(130, 8))
	}
	f := forge()
	unlocked(f)
	assert.Equal(t, soldUnlocked.what, f.judge("request-lost 1").Defect.Cause)
	f = forge()
	f.order("anna", atA, history.Sold, 0, 200, acquire(10), read(20), writes(30), release(190))
	unlocked(f)
	assert.Equal(t, soldUnlocked.what, f.judge("request-lost 1").Defect.Cause)
	f = forge() // Bert's instance holds the lock, and passes it on
	f.order("anna", atB, history.Sold, 0, 200, acquire(10), read(20), writes(30))
	handed := unlocked(f)
	handed.Trace = append(handed.Trace, release(190))
	assert.Nil(t, f.judge("one-instance").Defect)
}

// An order whose acquire has no reply waits for its client, not for the lock.
func TestWaitForReplyIsNoWaitForLock(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Busy, 0, 5000, lost(tried(10)))
	f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30), release(530))
	assert.Nil(t, f.accused())
	f.Ops[0].Trace[0].Wire.Heard = ms(11)
	assert.NotNil(t, f.accused())
	f.Ops[0].Trace = append(f.Ops[0].Trace, with(tried(20), func(w *history.Carried) { w.Heard = ms(6000) }))
	assert.Nil(t, f.accused(), "its reply queued behind a held one")
}

// Commands that several orders may have sent prove no defect: a lock that one of them took is not known to be free, nor
// one that they removed to be held.
func TestStraysShowNoDefect(t *testing.T) {
	for _, one := range []struct {
		forged func(*forgery)
		stray  history.Command
	}{
		{func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 5000, tried(10), tried(20))
			f.order("bert", atB, history.Sold, 0, 600, acquire(5), read(20), writes(30), release(530))
		}, acquire(600)},
		{func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 900, acquire(10), read(20), usually(takesOver(610, 300), 0), writes(700),
				release(800))
			f.order("bert", atB, history.Sold, 100, 900, acquire(300), writes(850))
		}, del(500)},
		{func(f *forgery) {
			f.order("bert", atB, history.Sold, 100, 300, read(120), leaves(130, 9))
		}, acquire(110)},
	} {
		f := forge()
		one.forged(f)
		assert.NotNil(t, f.accused())
		f.Strays = []history.Command{one.stray}
		assert.Nil(t, f.accused())
	}
}

// If a request after the release was held, and two sales took one unit, the shop commits after it releases. It is no
// late commit if the lock was lost too, or the request came before the release.
func TestCommitAfterRelease(t *testing.T) {
	cell := func(released, bert int) *history.Cell {
		f := forge()
		f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{}, new(int64(stock-1))
		f.order("anna", atA, history.Sold, 0, 900, acquire(10), release(released))
		f.order("bert", atB, history.Sold, 100, 700, acquire(bert), release(600))
		f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(800),
			Text: "its request 4 of 4 held for 0.75s"}}
		return f.judge("after-release")
	}
	if d := cell(40, 300).Defect; assert.NotNil(t, d) {
		assert.Equal(t, "it writes after it has released the lock", d.Cause)
		assert.Equal(t, "its request 4 of 4 held for 0.75s; 2 sold, but the stock went from 10 to 9, by count", d.Shown)
	}
	again := cell(40, 300) // as a line of the user's own
	again.Line = "a>db4.b>end.a>end"
	again.Defect = nil
	f := &forgery{Cell: again}
	if d := f.judge(again.Line).Defect; assert.NotNil(t, d) {
		assert.Equal(t, "it writes after it has released the lock", d.Cause)
	}
	for what, change := range map[string]func(*forgery){
		"the fault came before the release": func(f *forgery) { f.Faults[0].At = ms(35) },
		"there was no fault":                func(f *forgery) { f.Faults = nil },
		"Anna did not come":                 func(f *forgery) { f.Ops[0].Order = "10000-clara" },
		"its writes are observed":           func(f *forgery) { f.Facts.Elsewhere = false },
		"the two held the lock at once": func(f *forgery) {
			f.Ops[1].Due, f.Ops[1].Sent, f.Ops[1].Latency = ms(25), ms(25), 675*time.Millisecond
			f.Ops[1].Trace[0] = acquire(30)
		},
		"she found nothing to be released": func(f *forgery) { f.Ops[0].Trace[1] = looks(40) },
	} {
		f := &forgery{Cell: cell(40, 300)}
		f.Defect = nil
		change(f)
		d := f.judge("after-release").Defect
		if assert.NotNil(t, d, what) {
			assert.NotEqual(t, commitsLater.what, d.Cause, what)
		}
	}
	f = forge() // the lease was over before the release
	f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{}, new(int64(stock-1))
	f.order("anna", atA, history.Sold, 0, 3000, acquire(10),
		inVain(2500))
	f.order("bert", atB, history.Sold, 100, 2900, acquire(2050), release(2600))
	f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(2450)}}
	assert.Equal(t, unrenewed, f.judge("pause").Design)
	d := cell(850, 300).Defect // the request came before the release, while both held the lock
	assert.NotNil(t, d)
	assert.NotEqual(t, "it writes after it has released the lock", d.Cause)
}

// One bug is one defect: a crowd, whose commands are not observed, has the cause of another cell of the shop that
// breaks the same verdict.
func TestCrowdHasTheCauseOfAnotherCell(t *testing.T) {
	held := forge()
	held.order("anna", atA, history.Sold, 0, 90, acquire(10), read(20), writes(80), release(85))
	held.order("bert", atB, history.Sold, 0, 60, tried(30), read(40), writes(50))
	crowd := forge()
	for _, name := range []string{"a-1", "a-2"} {
		crowd.order(name, atA, history.Sold, 0, 90).Units = []int64{stock}
	}
	shown := held.judge("slow-work").Defect
	assert.Equal(t, wentOn.what, shown.Cause)
	assert.Equal(t, "S", broken(crowd.judge("one-instance")))
	OfCrowds([]*history.Cell{crowd.Cell, held.Cell})
	assert.Equal(t, shown.Cause, crowd.Defect.Cause)
	assert.Contains(t, crowd.Defect.Shown, "; as in slow-work")
}

// A stock in a database shows by its sales that an order was refused whose unit was taken, also where losing the lock
// breaks the stock by design.
func TestRefusedSaleOfAStockElsewhere(t *testing.T) {
	cell := func(fault string) *history.Cell {
		f := forge()
		f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{Sales: new(int64(2))}, new(int64(stock-2))
		f.order("anna", atA, history.Busy, 0, 2900, acquire(10), looks(2800)).Status = 409
		f.order("bert", atB, history.Sold, 100, 2300, tried(110), acquire(2020), release(2200))
		f.Faults = []history.Fault{{Order: "10000-anna", Instance: atA, At: ms(50), End: ms(2700),
			Text: "its request 4 of 4 held for 2.65s"}}
		return f.judge(fault)
	}
	c := cell("late")
	assert.Equal(t, "2 recorded as sold, but 1 according to the answers, by count", c.Finding(history.Stock).Because)
	for _, fault := range []string{"late", "after-release"} {
		if d := cell(fault).Defect; assert.NotNil(t, d, fault) {
			assert.Equal(t, refusedTaken.what, d.Cause, fault)
		}
	}
}

// What a sale sends to its database before its acquire, or after its release, is not protected by the lock. The cell
// has the numbers of these requests, and of the one at which its instance was killed.
func TestRequestsOutsideTheLock(t *testing.T) {
	for number, want := range map[int]string{0: "", 3: "1 to 4, before", 7: "", 10: "9 to 13, after"} {
		f := forge()
		f.Facts.Elsewhere, f.Count, f.Left = true, &history.Count{Sales: new(int64(0))}, new(int64(stock-1))
		f.Facts.Requests = &history.Requests{Before: []int{1, 2, 3, 4}, Under: []int{5, 6, 7, 8},
			After: []int{9, 10, 11, 12, 13}}
		f.order("anna", atA, history.Unknown, 0, 0, acquire(10), release(40))
		f.Requests = []history.Request{{Order: "10000-anna", Number: number, Came: ms(45)},
			{Order: "10000-anna", Number: 5, Came: ms(60)}}
		f.killed(50)
		f.Faults[0].Order = "10000-anna"
		if d := f.judge("crash 2").Defect; assert.NotNil(t, d, number) {
			assert.Equal(t, want != "", unprotected.what == d.Cause, number)
			assert.Contains(t, d.Shown, want)
		}
	}
}
