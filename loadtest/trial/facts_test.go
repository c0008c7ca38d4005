package trial

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A passport follows from the steps of a plain sale.
func TestPassportOfSale(t *testing.T) {
	one := func(shape string, effects ...history.Effect) sale.Step {
		s := sale.Step{Shape: forge.Shape(shape), Args: strings.Fields(shape)}
		for _, e := range effects {
			s.Effects = append(s.Effects, history.Command{Source: history.Looked, Effect: e})
		}
		return s
	}
	compared := func(sent string) sale.Step {
		s := one("delifeq lock", history.EffectReleased)
		s.Args, s.Effects[0].Wire = strings.Fields(sent), &history.Carried{Compared: true}
		return s
	}
	take := sale.Step{Shape: forge.Shape("set lock"), Args: []string{"SET", "lock", "token", "NX", "PX", "2000"},
		Effects: []history.Command{{Source: history.Looked, Effect: history.EffectAcquired}}}
	read, write := one("get stock", history.EffectRead), one("set stock", history.EffectWrote)
	free, atOnce := one("eval lock", history.EffectReleased), one("exec", history.EffectWrote, history.EffectReleased)
	beside := one("eval stock", history.EffectReleased) // of a lock in the stock's own hash
	watch, look, remove := one("watch lock"), one("get lock"), one("exec lock", history.EffectReleased)
	type steps []sale.Step
	for _, c := range []struct {
		what          string
		steps         steps
		release, rung string
		held          int    // the step before the write
		unread        string // early: the stock is read before the lock alone; never
		early         bool
		ahead         int // commands of its shape that precede it under the lock
	}{
		{"right", steps{take, read, write, free}, "a script", "v4", 1, "", false, 0},
		{"a read before the lock", steps{read, take, write, free}, "a script", "v4", 1,
			"early", false, 0},
		{"a read before the lock, and under it", steps{read, take, read, write, free}, "a script", "v4", 2, "", true, 0},
		{"two reads under the lock", steps{take, read, read, write, free}, "a script", "v4", 2, "", false, 1},
		{"a read before the lock, and two under it", steps{read, take, read, read, write, free}, "a script", "v4", 3, "",
			true, 1},
		{"no read", steps{take, write, free}, "a script", "v4", 0, "never", false, 0},
		{"the lock's other key after the read", steps{take, read, take, write, free}, "a script", "v4", 1, "", false, 0},
		{"released with the write", steps{take, read, watch, atOnce}, withWrite, "v4", 1, "", false, 0},
		{"a release of a field beside the stock", steps{take, read, write, beside}, "a script", "v4", 1, "", false, 0},
		{"another field after the release", steps{take, read, write, free, one("hincrby lock")}, "a script", "v4", 1, "",
			false, 0},
		{"DELIFEQ", steps{take, read, write, compared("delifeq lock token")}, "DELIFEQ", "v4", 1, "", false, 0},
		{"DELEX IFEQ", steps{take, read, write, compared("delex lock ifeq token")}, "DELEX IFEQ", "v4", 1, "", false, 0},
		{"SET IFEQ", steps{take, read, write, compared("set lock free ifeq token")}, "SET IFEQ", "v4", 1, "", false, 0},
		{"DELEX", steps{take, read, write, one("delex lock", history.EffectReleased)}, "DELEX", "v2", 1, "", false, 0},
		{"a release that watches", steps{take, read, write, watch, look, remove}, "WATCH, GET, EXEC", "v4",
			1, "", false, 0},
	} {
		p := &sale.Passport{Facts: history.Facts{Locks: []string{"lock"}, TTL: 2 * time.Second}, Steps: c.steps,
			Acquires: sale.Shapes{}, Releases: sale.Shapes{}, Renewals: sale.Shapes{}, Writes: sale.Shapes{}}
		for i := range p.Steps {
			classify(p, &p.Steps[i])
		}
		tellTaken(p)
		tellReleased(p)
		assert.Equal(t, "SET NX PX 2000", p.Acquire, c.what)
		assert.Equal(t, c.release, p.Release, c.what)
		assert.Equal(t, c.rung, p.Closest(), c.what)
		assert.Equal(t, &p.Steps[c.held], p.BeforeWrite(), c.what)
		tellReading(p)
		assert.Equal(t, c.unread == "early", p.ReadsEarly, c.what)
		assert.Equal(t, c.unread == "never", p.ReadsNever, c.what)
		assert.Equal(t, c.early, p.ComesEarly(p.BeforeWrite()), c.what)
		assert.Equal(t, c.ahead, p.AheadOf(p.BeforeWrite()), c.what)
	}
}

// Clients send the options of a SET in any order.
func TestAcquireIsShownInOneOrder(t *testing.T) {
	for _, sent := range []string{"SET lock token NX PX 2000", "set lock token px 2000 nx"} {
		assert.Equal(t, "SET NX PX 2000", acquireText(strings.Fields(sent)))
	}
	assert.Equal(t, "SETNX", acquireText([]string{"setnx", "lock", "token"}))
	over := strings.Fields("set lock token px 2000 ifeq free")
	assert.Equal(t, "SET IFEQ PX 2000", acquireText(over))
	for sent, want := range map[string]bool{"set lock token": true, "set lock token ifeq free": false,
		"set lock token ifne token": true, "set lock token nx": false} {
		assert.Equal(t, want, overwrites(&sale.Passport{AcquireArgs: strings.Fields(sent)}), sent)
	}
}

// A lease that expires before the first look is known only from the command.
func TestTTLOfSet(t *testing.T) {
	assert.Equal(t, 2*time.Millisecond, ttlOf([]string{"SET", "lock", "token", "NX", "PX", "2"}))
	assert.Equal(t, 2*time.Second, ttlOf([]string{"set", "lock", "token", "ex", "2"}))
	assert.Zero(t, ttlOf([]string{"SET", "lock", "px"}))
	assert.Zero(t, ttlOf([]string{"SETNX", "lock", "token"}))
}

// A lock whose expiry is in its value has a lease.
func TestLeaseInValue(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{Locks: []string{"lock"}, Kind: "zset", InValue: 5 * time.Second,
		Patience: time.Second}, ReleaseVerbs: []string{"zrem"}}
	assert.Contains(t, p.String(), "; lease 5s, kept in its score; ")
	assert.Equal(t, "v2", p.Closest())
	assert.Equal(t, "the lease is in the lock's score, and the trial cannot expire it; "+aLongReply(p), aTTL(p))
	assert.Contains(t, aLongReply(p), "a lease lasts 5s")
	p.Patience = 0
	assert.Empty(t, aTTL(p), "the trial waits for it")
	p.Patience = time.Second
	assert.Empty(t, (&fault{}).aShortLease(p))
	p.Kind, p.InValue = "string", time.Hour
	assert.Contains(t, (&fault{}).aShortLease(p), "a lease lasts 1h0m0s")
	assert.Contains(t, p.String(), ", kept in its value; ")
}

// Locks of different customers are no defect: the trial has not shown that two of their orders compete.
func TestPassportOfLocksOfDifferentCustomers(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{PerCustomer: true, LockFree: true}}
	assert.Equal(t, "no lock that two orders share: orders of different customers do not compete: use a fixed customer "+
		"and --units 1; only the stock is judged; the write depends on the stock's current value; closest rung: v17",
		p.String())
	assert.Equal(t, "orders of different customers do not compete: use a fixed customer and --units 1", aLock(p))
	p.Lost = true
	lost := "the lock's key contains a value of the order: customers do not compete for it, and the stock is for all; " +
		"leave the customer out of the key"
	assert.Contains(t, p.String(), "no lock that two orders share: "+lost)
	assert.Equal(t, lost, aLock(p))
}

// A lease whose start is in the score lasts until a waiter acquires the lock. A TTL only cleans up.
func TestLeaseThatStartsInValue(t *testing.T) {
	for _, one := range []struct {
		what, score        string
		ttl, next          int
		wantTTL, wantValue time.Duration
	}{
		{"a start", "1699999999.9", 4000, 2040, 0, 2040 * time.Millisecond},
		{"a start without a TTL", "1699999999900", 0, 2040, 0, 2040 * time.Millisecond},
		{"acquired once the holder went on", "1699999999900", 4000, 2600, 4 * time.Second, 0},
		{"acquired when the TTL expired", "1699999999900", 2000, 1990, 2 * time.Second, 0},
		{"no time in the value: the lock was overwritten", "a token", 4000, 1500, 4 * time.Second, 0},
		{"a deadline", "1700000002000", 4000, 2040, 4 * time.Second, 0},
	} {
		f := forge.Begin()
		now := time.UnixMilli(1_700_000_000_000)
		f.Passport.TTL = time.Duration(one.ttl) * time.Millisecond
		f.Passport.Held = map[wire.Key]wire.KeyState{{Name: forge.LockKey}: {At: now, Kind: "string",
			Parts: map[string]string{"": one.score}}}
		learnStart(f.Bench, f.After(0), f.After(one.next), f.After(2500))
		assert.Equal(t, one.wantTTL, f.Passport.TTL, one.what)
		assert.Equal(t, one.wantValue, f.Passport.InValue, one.what)
	}
}

// Keys that are acquired at once come in any order. What differs is their values.
func TestValuesOfAcquires(t *testing.T) {
	of := func(pairs ...string) map[string]string {
		var steps []sale.Step
		for i := 0; i < len(pairs); i += 2 {
			steps = append(steps, sale.Step{Shape: forge.Shape("set lock"), Effects: []history.Command{{Source: history.Looked,
				Effect: history.EffectAcquired, Key: pairs[i], Wire: &history.Carried{Is: pairs[i+1]}}}})
		}
		return values(steps)
	}
	assert.Equal(t, of("red", "1", "blue", "2"), of("blue", "2", "red", "1"))
	assert.NotEqual(t, of("red", "1", "blue", "2"), of("red", "2", "blue", "1"))
}

// An order that comes in after a command has removed the lock shows no missing lock.
func TestRemovalWhileHeld(t *testing.T) {
	f := forge.Begin()
	byOrder := map[*shop.Order][]record.Observation{nil: {f.Del(50)}}
	assert.True(t, removedIn(byOrder, shop.Span{From: f.After(10), To: f.After(90)}))
	assert.False(t, removedIn(byOrder, shop.Span{From: f.After(60), To: f.After(90)}))
	none := map[*shop.Order][]record.Observation{nil: {f.Acquire(50)}}
	assert.False(t, removedIn(none, shop.Span{From: f.After(10), To: f.After(90)}))
}

// A lock's key may contain a value that the user has fixed for all orders.
func TestFixedValueInKey(t *testing.T) {
	for _, one := range []struct{ path, body, key, want string }{
		{"/decrease?product=10000&user=u7", "", "lock:user:u7", "u7"},
		{"/decrease?user=7", "", "lock:7:10000", "7"},
		{"/decrease?user=7", "", "lock:77:10000", ""},
		{"/decrease?product=10000", "", "lock:10000", ""},
		{"/buy", `{"sku": "10000", "by": {"id": "u-7"}, "n": 1}`, "lock:{u-7}", "u-7"},
		{"/buy", `{"sku": "10000", "n": 1}`, "lock:10000", ""},
		{"/buy?user=u{i}", "", "lock:u1", ""},
	} {
		order := shop.Request{Path: one.path, Body: one.body}
		assert.Equal(t, one.want, fixedValue(order, "10000", one.key), one)
	}
	p := &sale.Passport{Facts: history.Facts{Locks: []string{"lock:u7"}}, Fixed: "u7"}
	assert.Contains(t, p.String(), "; its key contains a value of the order, `u7`: orders with another do not compete")
}

// A key of an order's own is a lock only if the trial has seen that it protects too little.
func TestPassportOfKeysOfOrdersOwn(t *testing.T) {
	p := &sale.Passport{Own: "order"}
	assert.Equal(t, "no lock: each order has a key of its own, which keeps no order out; only the stock is judged; "+
		"closest rung: v0", p.String())
	p.Unseen, p.LockFree = true, true
	assert.Equal(t, "two orders share a lock, but the trial does not know its keys: only the stock is judged", p.String())
	assert.Equal(t, "two orders share a lock, but the trial does not know its keys", aLock(p))
	assert.Equal(t, "v4", p.Closest(), "its lease may expire")
}

// No cell waits for a lease of hours. Crowds and after-release wait for none.
func TestLongLeaseIsNotWaitedFor(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{TTL: 2000 * time.Second}}
	assert.Contains(t, (&fault{}).aShortLease(p), "a lease lasts 33m20s")
	assert.Empty(t, (&fault{line: "crowd-a"}).aShortLease(p))
	for _, f := range faultsFor(p) {
		if f.name == "after-release" {
			assert.Empty(t, f.aShortLease(p))
		}
	}
	assert.Empty(t, (&fault{}).aShortLease(&sale.Passport{Facts: history.Facts{TTL: 30 * time.Second}}))
}

// The period of renewals is that of one key: the keys of a majority are renewed together.
func TestPeriodOfRenewalsOfSeveralKeys(t *testing.T) {
	f := forge.Begin()
	var commands []record.Observation
	for _, ms := range []int{5, 1000, 1001, 2000} { // the first comes with the acquire
		for i, key := range []string{"lock:0", "lock:1", "lock:2"} {
			renewal := f.Command(ms+i, history.EffectRenewed, "eval", "renew", "1", key, "a token of its own")
			renewal.Effects[0].Key = key
			commands = append(commands, renewal)
		}
	}
	watchRenewals(f.Bench, &wire.Command{Seen: f.Read(5).Seen}, commands)
	assert.Equal(t, time.Second, f.Passport.Every)
}

// The error with which a Redis refuses a command depends on what the command does.
func TestErrorsOfRedis(t *testing.T) {
	p := &sale.Passport{Acquires: forge.Shapes("set lock"), Writes: forge.Shapes("set stock")}
	for shape, code := range map[string]string{
		"set lock": "READONLY", "set stock": "OOM", "get stock": "LOADING", "eval lock": "LOADING",
	} {
		assert.Equal(t, code, codeOf(refusal(p, &sale.Step{Shape: forge.Shape(shape)})), shape)
	}
}

// Why an order did not acquire the lock although the lease of its holder should have expired.
func TestReasonWhyLockIsKept(t *testing.T) {
	p := &sale.Passport{}
	assert.Equal(t, "orders of one instance may queue behind each other, or their commands on one connection",
		whyKept(p, true))
	assert.Equal(t, "it outlived its lease", whyKept(p, false))
	for _, atSame := range []bool{true, false} {
		assert.Equal(t, cause.Asleep, whyKept(&sale.Passport{Facts: history.Facts{Messages: true}}, atSame))
		renewed := &sale.Passport{Facts: history.Facts{Every: time.Second, Messages: true}}
		assert.Equal(t, "it is renewed until then", whyKept(renewed, atSame))
	}
}

// Waiters are woken if something happened between each try and the next.
func TestWakersOfWaiters(t *testing.T) {
	f := forge.Begin()
	at := func(ms ...int) (all []time.Time) {
		for _, one := range ms {
			all = append(all, f.After(one))
		}
		return all
	}
	assert.True(t, wokenBetween(at(0, 1000, 2000), at(990, 1990)))
	assert.False(t, wokenBetween(at(0, 50, 100, 150), at(120)), "they poll")
	assert.False(t, wokenBetween(at(0), at(10)))
}

// An acquire that succeeds has a reply by which it is known, unless each has another, such as a token.
func TestRepliesOfAcquires(t *testing.T) {
	of := func(replies ...string) (steps []sale.Step) {
		for i, reply := range replies {
			effects := []history.Command{{Source: history.Looked, Effect: history.EffectAcquired, Reply: reply}}
			if reply == "0" {
				effects[0].Effect = history.EffectTried
			}
			shape := forge.Shape([]string{"set lock", "eval lock", "incr lock"}[i])
			steps = append(steps, sale.Step{Shape: shape, Effects: effects})
		}
		return steps
	}
	assert.Equal(t, map[sale.Shape]string{forge.Shape("set lock"): "OK", forge.Shape("eval lock"): "", forge.Shape("incr lock"): "1"},
		granted([][]sale.Step{of("OK", "token 1", "1"), of("OK", "token 2", "0"), of("OK", "token 3", "1")}))
}

// A lease may end at a time that stands beside its lock, unless the lock outlives that while another order waits.
func TestEndBesideTheLock(t *testing.T) {
	ends := wire.Lock{Key: wire.Key{Name: "ends"}, Parts: []string{"10000"}}
	for _, one := range []struct {
		what         string
		ttl          time.Duration
		bertUntil    int // he may give up before the lease is over
		reaped, took int // 0: not
		lease        time.Duration
	}{
		{"a reaper removes it", 0, 3100, 2050, 0, 2 * time.Second},
		{"a waiter takes it", 0, 3100, 0, 2050, 2 * time.Second},
		{"nobody waits for so long", 0, 1000, 0, 0, 2 * time.Second},
		{"nothing ends it", 0, 3100, 0, 0, 0},
		{"it is taken after its release", 0, 3100, 0, 3050, 0},
		{"it has a TTL", time.Second, 3100, 2050, 0, 0},
	} {
		f := forge.Begin()
		f.Cell.Start = time.UnixMilli(1_700_000_000_000)
		p := f.Passport
		p.TTL = one.ttl
		p.Held = map[wire.Key]wire.KeyState{ends.Key: {At: f.After(1), Kind: "zset",
			Parts: map[string]string{"10000": strconv.FormatInt(f.After(2000).UnixMilli(), 10)}}}
		keepEnd(p, ends, f.After(0))
		bert := f.Order("bert", shop.AtB, history.Refused, 10, one.bertUntil)
		byOrder := map[*shop.Order][]record.Observation{}
		if one.reaped > 0 {
			byOrder[nil] = append(byOrder[nil], f.Del(one.reaped))
		}
		if one.took > 0 {
			byOrder[bert] = append(byOrder[bert], f.Acquire(one.took))
		}
		checkEnd(f.Bench, bert, byOrder, shop.Span{From: f.After(5), To: f.After(3000)})
		assert.Equal(t, one.lease, p.InValue, one.what)
		assert.Equal(t, one.lease > 0, p.Where() == "`ends`", one.what)
	}
}
