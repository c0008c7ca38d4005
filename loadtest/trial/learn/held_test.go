package learn

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A lease that expires before the first look is known only from the command.
func TestTTLOfSet(t *testing.T) {
	assert.Equal(t, 2*time.Millisecond, ttlOf([]string{"SET", "lock", "token", "NX", "PX", "2"}))
	assert.Equal(t, 2*time.Second, ttlOf([]string{"set", "lock", "token", "ex", "2"}))
	assert.Zero(t, ttlOf([]string{"SET", "lock", "px"}))
	assert.Zero(t, ttlOf([]string{"SETNX", "lock", "token"}))
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

// An order that comes in after a command has removed the lock shows no missing lock.
func TestRemovalWhileHeld(t *testing.T) {
	f := forge.Begin()
	byOrder := map[*shop.Order][]record.Observation{nil: {f.Del(50)}}
	assert.True(t, removedIn(byOrder, shop.Span{From: f.After(10), To: f.After(90)}))
	assert.False(t, removedIn(byOrder, shop.Span{From: f.After(60), To: f.After(90)}))
	none := map[*shop.Order][]record.Observation{nil: {f.Acquire(50)}}
	assert.False(t, removedIn(none, shop.Span{From: f.After(10), To: f.After(90)}))
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

// An acquire that a client sends again, since its reply is held, prolongs a lock that is reentrant: that is no renewal.
func TestAcquireSentAgainIsNoRenewal(t *testing.T) {
	f := forge.Begin()
	acquire := []string{"eval", "acquire", "1", forge.LockKey, "a token of its own"}
	held := f.Command(5, history.EffectAcquired, acquire...)
	commands := []record.Observation{held, f.Command(4600, history.EffectRenewed, acquire...)}
	watchRenewals(f.Bench, &wire.Command{Seen: held.Seen}, commands)
	assert.Zero(t, f.Passport.Every)
}

// Nor is the release that follows: a lock that was taken twice stays, and is prolonged.
func TestReleaseOfLockTakenTwiceIsNoRenewal(t *testing.T) {
	f := forge.Begin()
	release := f.Command(4600, history.EffectRenewed, "eval", "release", "1", forge.LockKey, "a token of its own")
	release.Stepped = true
	watchRenewals(f.Bench, &wire.Command{Seen: f.Read(5).Seen}, []record.Observation{release})
	assert.Zero(t, f.Passport.Every)
	assert.Empty(t, f.Passport.Renewals)
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

// What an instance sends while its only order waits for a held reply is sent in the background, unless it renews the
// lock, or sales send it as often.
func TestBackgroundCommands(t *testing.T) {
	f := forge.Begin()
	p := f.Passport
	// a reaper's command may come during a sale
	p.Steps = []sale.Step{{Shape: forge.Shape("incr")}, {Shape: forge.Shape("zrangebyscore")}}
	commands := []record.Observation{f.Unseen(5, "keys", "*"),
		f.Command(10, history.EffectRenewed, "pexpire", forge.LockKey), f.Unseen(20, "incr", "orders"),
		f.Unseen(30, "scan", "0"), f.Unseen(35, "ttl", forge.LockKey), f.Write(40),
		f.Unseen(50, "zrangebyscore", "ends"), f.Unseen(60, "zrangebyscore", "ends"), f.Unseen(99, "exists", "alive")}
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, forge.Shapes("scan", "ttl lock", "zrangebyscore"), p.Background)
	p.Background, p.Every = nil, time.Second
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, forge.Shapes("scan", "zrangebyscore"), p.Background, "a renewal may read the lock first")
}

// The end of an order shows how long its client waits for a reply, unless it was answered before the reply was held.
func TestPatienceOfAClient(t *testing.T) {
	for _, answered := range []bool{true, false} {
		f := forge.Begin()
		f.Pair.Rig.Gate = wire.NewGate(nil)
		f.Passport.TTL = 100 * time.Millisecond
		var anna *shop.Order
		if answered {
			anna = f.Order("anna", shop.AtA, history.Sold, 0, 90)
		} else {
			anna = &shop.Order{InFlight: rig.NewInFlight("anna", shop.AtA)}
			anna.Send(t.Context(), func(context.Context) history.Op {
				time.Sleep(50 * time.Millisecond)
				return history.Op{}
			})
		}
		watchPatience(f.Bench, anna, &wire.Command{}, time.Now())
		assert.Equal(t, answered, f.Passport.Patience == 0)
	}
}
