package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// A command belongs to the order that alone was open at its instance, or whose token it names. What an instance sends
// while it may still work for a customer who has left belongs to none: it shows neither a claim nor a defect.
func TestCommandAttribution(t *testing.T) {
	for _, one := range []struct {
		what               string
		left, named        bool // Anna's customer has left at 90 ms; all orders of an instance have one value
		next               int  // when Bert comes, in ms
		commands           func(*forge.Forgery) observed
		anna, bert, nobody int
	}{
		{"each order's own, after its answer too", false, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Write(30), f.Del(60), f.Acquire(110), f.Write(130)}
		}, 3, 2, 0},
		{"a write after Anna's customer has left is no order's", true, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Tried(10), f.Acquire(110), f.Write(130), f.Del(140)}
		}, 1, 0, 3},
		{"a token identifies the order of a late release", true, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Write(130), f.Release(140), f.Del(150)}
		}, 2, 0, 2},
		{"a token that several orders may have taken shows nothing", true, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Tried(10), f.Acquire(110), f.Release(140)}
		}, 1, 0, 2},
		{"an instance's value is no token", true, true, 100, func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Release(140)}
		}, 1, 0, 1},
		{"the key of a script is no token", false, false, 100, func(f *forge.Forgery) observed {
			return observed{
				f.Command(10, history.EffectAcquired, "eval", "take", "2", forge.LockKey, "a channel of the lock", "9"),
				f.Command(130, history.EffectNothing, "get", forge.LockKey),
				f.Command(140, history.EffectNothing, "publish", "a channel of the lock", "free")}
		}, 1, 2, 0},
		{"a script's argument may be a token", false, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Command(10, history.EffectAcquired, "eval", "take", "1", forge.LockKey, "a token of its own"),
				f.Release(140)}
		}, 2, 0, 0},
		{"an instance is done after the release", true, false, 100, func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Release(60), f.Acquire(110), f.Write(130)}
		}, 2, 2, 0},
		{"an instance is done when its waiter polls no more", true, false, 2100, func(f *forge.Forgery) observed {
			return observed{f.Tried(10), f.Acquire(2110), f.Write(2130)}
		}, 1, 2, 0},
		{"an instance is not done while a reply is missing", true, false, 2100, func(f *forge.Forgery) observed {
			return observed{forge.Unheard(f.Tried(10)), f.Acquire(2110), f.Write(2130)}
		}, 1, 0, 2},
		{"an instance is not done while it holds the lock", true, false, 2100, func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Write(2130)}
		}, 1, 0, 1},
	} {
		f := forge.Begin()
		f.Passport.Name = one.named
		anna := f.Order("anna", atA, history.Sold, 0, 90)
		bert := f.Order("bert", atA, history.Sold, one.next, one.next+90)
		anna.Over = anna.Ended
		if one.left {
			anna.Ended, anna.Left, anna.Op.Outcome = time.Time{}, true, history.Unknown
		}
		byOrder := map[*shop.Order]observed{}
		record.Attribute(f.Bench, atA, one.commands(f), byOrder)
		got := []int{len(byOrder[anna]), len(byOrder[bert]), len(byOrder[nil])}
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, got, one.what)
	}
}

// Once the order that was sent last is over, commands are those of the order that is still open.
func TestAttributionToTheOpenOrder(t *testing.T) {
	f := forge.Begin()
	f.Passport.Background = sale.Shapes{}
	anna := f.Order("anna", atA, history.Sold, 0, 300)
	clara := f.Order("clara", atA, history.Sold, 100, 190)
	byOrder := map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{f.Acquire(110), f.Del(150), f.Read(200)}, byOrder)
	assert.Len(t, byOrder[clara], 2)
	assert.Len(t, byOrder[anna], 1)
}

// A background thread's command is no order's, whichever is open. It is kept if it changed a lock or the stock.
func TestBackgroundAttribution(t *testing.T) {
	free := func(f *forge.Forgery, ms int) record.Observation { // by the value that it names and removes
		c := f.Command(ms, history.EffectReleased, "eval", "script", "1", forge.LockKey, "the token of another instance")
		c.Effects[0].Wire = &history.Carried{Was: "another's", Named: []string{"another's"}}
		return c
	}
	renew := func(f *forge.Forgery, ms int) record.Observation {
		return f.Command(ms, history.EffectRenewed, "pexpire", forge.LockKey, "2000")
	}
	for _, one := range []struct {
		what               string
		background         string // a shape
		commands           func(*forge.Forgery) observed
		anna, bert, nobody int
	}{
		{"nothing before the first order is an order's", "", func(f *forge.Forgery) observed {
			return observed{f.Del(-20), f.Read(-10), f.Acquire(10)}
		}, 1, 0, 1},
		{"what it sends while no order is at work", "get", func(f *forge.Forgery) observed {
			return observed{f.Command(20, history.EffectNothing, "get", "alive"), f.Acquire(30)}
		}, 1, 0, 0},
		{"such a release", "del lock", func(f *forge.Forgery) observed { return observed{f.Del(20)} }, 0, 0, 1},
		{"a release that no sale sends, beside such threads", "scan", func(f *forge.Forgery) observed {
			return observed{f.Tried(110), f.Del(120)}
		}, 0, 1, 1},
		{"a release that sales send, beside such threads", "scan", func(f *forge.Forgery) observed {
			f.Passport.Releases[forge.Shape("del lock")] = true
			return observed{f.Tried(110), f.Del(120)}
		}, 0, 2, 0},
		{"without such threads a release is the order's", "", func(f *forge.Forgery) observed {
			return observed{f.Tried(110), f.Del(120)}
		}, 0, 2, 0},
		{"a release of another instance's lock by an order without one", "", func(f *forge.Forgery) observed {
			return observed{f.Tried(110), free(f, 120)}
		}, 0, 1, 1},
		{"a holder's release is its own", "", func(f *forge.Forgery) observed {
			return observed{f.Acquire(110), free(f, 120)}
		}, 0, 2, 0},
		{"a token says whose a release is", "scan", func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Tried(110), f.Release(120)}
		}, 2, 1, 0},
		{"a late renewal is the last holder's", "", func(f *forge.Forgery) observed {
			f.Passport.Renewals[forge.Shape("pexpire lock")] = true
			return observed{f.Acquire(10), f.Del(50), f.Tried(110), renew(f, 120)}
		}, 3, 1, 0},
		{"an EXPIRE that is no renewal is a waiter's", "", func(f *forge.Forgery) observed {
			return observed{f.Acquire(10), f.Del(50), f.Tried(110), renew(f, 120)}
		}, 2, 2, 0},
	} {
		f := forge.Begin()
		if f.Passport.Background = (sale.Shapes{}); one.background != "" {
			f.Passport.Background[forge.Shape(one.background)] = true
		}
		anna := f.Order("anna", atA, history.Sold, 0, 90)
		bert := f.Order("bert", atA, history.Sold, 100, 190)
		byOrder := map[*shop.Order]observed{}
		record.Attribute(f.Bench, atA, one.commands(f), byOrder)
		got := []int{len(byOrder[anna]), len(byOrder[bert]), len(byOrder[nil])}
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, got, one.what)
	}
}

// A release by the value of another order of its instance, which has not written yet, is sent by the order that owes
// one.
func TestReleaseBySharedValue(t *testing.T) {
	f := forge.Begin()
	anna := f.Order("anna", atA, history.Sold, 0, 90)
	bert := f.Order("bert", atA, history.Sold, 20, 200)
	berts := f.Command(60, history.EffectReleased, "eval", "script", "1", forge.LockKey, "a token of Bert's")
	again := f.Command(150, history.EffectNothing, "eval", "script", "1", forge.LockKey, "a token of Bert's")
	take := f.Command(50, history.EffectAcquired, "set", forge.LockKey, "a token of Bert's", "nx", "px", "2000")
	sent := func(more ...record.Observation) map[*shop.Order]observed {
		byOrder := map[*shop.Order]observed{}
		record.Attribute(f.Bench, atA, append(observed{f.Acquire(10), f.Write(15), take, berts}, more...), byOrder)
		return byOrder
	}
	byOrder := sent(f.Read(100), f.Leave(110, 8), again)
	assert.Len(t, byOrder[anna], 3, "it released Bert's lock")
	assert.Len(t, byOrder[bert], 4)
	assert.Len(t, sent()[bert], 2, "it wrote nothing: it may have been sold out")
	f.Passport.Early = true
	assert.Len(t, sent(f.Read(100), f.Leave(110, 8), again)[bert], 5, "it releases first")
}

// While another order of its instance waits, writes of the stock and releases are the holder's: a client may retry a
// write.
func TestHolderAttribution(t *testing.T) {
	f := forge.Begin()
	f.Passport.Name = true
	anna := f.Order("anna", atA, history.Sold, 0, 90)
	bert := f.Order("bert", atA, history.Sold, 20, 200)
	anna.Over = anna.Ended
	byOrder := map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{
		f.Acquire(10), f.Tried(30), f.Write(40), f.Write(50), f.Release(60), f.Acquire(100), f.Write(110), f.Release(120),
	}, byOrder)
	assert.Len(t, byOrder[anna], 4)
	assert.Len(t, byOrder[bert], 4)
}

// Two orders that poll at one instance take a unit each: the one that was answered first had acquired the lock first,
// and reads of the stock are the holder's.
func TestAttributionToPollingOrders(t *testing.T) {
	f := forge.Begin()
	clara := f.Order("clara", atA, history.Sold, 0, 90)
	bert := f.Order("bert", atA, history.Sold, 20, 200)
	clara.Over, bert.Over = clara.Ended, bert.Ended
	byOrder := map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{f.Acquire(40), f.Tried(45), f.Read(50), f.Write(60), f.Release(70),
		f.Acquire(100), f.Read(110), f.Write(120), f.Release(130)}, byOrder)
	assert.Len(t, byOrder[clara], 4)
	assert.Len(t, byOrder[bert], 5, "the poll is not the holder's")
	clara.Over, bert.Over = clara.Over.Add(200*time.Millisecond), clara.Over
	byOrder = map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{f.Acquire(40), f.Write(60), f.Release(70), f.Acquire(100),
		f.Write(110)}, byOrder)
	assert.Len(t, byOrder[bert], 3, "which was answered first")
	assert.Len(t, byOrder[clara], 2)
}

// An order that acquires the lock while the other one at its instance is held is the holder afterwards.
func TestHolderAttributionWhileAnotherIsHeld(t *testing.T) {
	f := forge.Begin()
	f.Passport.Name = true
	anna := f.Order("anna", atA, history.Sold, 0, 300, f.Acquire(10))
	anna.Over, anna.Blocked = anna.Ended, shop.Span{From: f.After(30), To: f.After(90)}
	bert := f.Order("bert", atA, history.Sold, 40, 200)
	byOrder := map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{f.Acquire(10), f.Acquire(50), f.Write(100), f.Release(110)}, byOrder)
	assert.Len(t, byOrder[anna], 1)
	assert.Len(t, byOrder[bert], 3)
}

// While the others at an instance wait for a held reply, only one order can send commands, whatever value they name.
func TestOnlyFreeOrder(t *testing.T) {
	f := forge.Begin()
	anna := f.Order("anna", atA, history.Sold, 0, 90, f.Acquire(10), f.Write(30))
	bert := f.Order("bert", atA, history.Sold, 40, 200)
	bert.Blocked = shop.Span{From: f.After(50), To: f.After(80)}
	assert.Nil(t, record.OnlyFree(f.Bench, atA, f.After(45)), "both may have sent it")
	assert.Same(t, anna, record.OnlyFree(f.Bench, atA, f.After(60)))
	assert.Nil(t, record.OnlyFree(f.Bench, atB, f.After(60)))
	assert.Nil(t, record.OnlyFree(f.Bench, atA, f.After(85)))
}

// One that waits behind the holder, at the same instance, does not write the stock for the holder.
func TestEntryInQueueIsNoHolder(t *testing.T) {
	f := forge.Begin()
	anna := f.Order("anna", atA, history.Sold, 0, 90)
	bert := f.Order("bert", atA, history.Sold, 20, 200)
	byOrder := map[*shop.Order]observed{}
	beside := f.Command(30, history.EffectAcquired|history.Beside, "zadd", forge.LockKey, "1", "Bert's token")
	record.Attribute(f.Bench, atA, observed{f.Acquire(10), beside, f.Write(40)}, byOrder)
	assert.Len(t, byOrder[anna], 2)
	assert.Len(t, byOrder[bert], 1)
}

// A late command belongs to the order that ended as long before as orders do, whichever is at work.
func TestLateCommandsAreThoseOfEarlierOrders(t *testing.T) {
	f := forge.Begin()
	timed := f.Del(0)
	f.Passport.Late = map[sale.Kind]sale.LateCommand{sale.KindOf(&timed.Seen): {After: 200 * time.Millisecond, Only: true}}
	anna := f.Order("anna", atA, history.Sold, 0, 100)
	refused := f.Order("refused", atA, history.Busy, 50, 90)
	bert := f.Order("bert", atA, history.Sold, 250, 600)
	byOrder := map[*shop.Order]observed{}
	record.Attribute(f.Bench, atA, observed{f.Acquire(10), f.Release(95), f.Tried(60), f.Acquire(260), f.Del(305),
		f.Write(500), f.Release(590), f.Del(870), f.Del(3000)}, byOrder)
	came := map[*shop.Order][]time.Time{}
	for o, commands := range byOrder {
		for _, c := range commands {
			if c.Name == "del" {
				came[o] = append(came[o], c.Came)
			}
		}
	}
	assert.Equal(t, []time.Time{f.After(305)}, came[anna])
	assert.Empty(t, came[refused])
	assert.Equal(t, []time.Time{f.After(870)}, came[bert], "a timer is late on a busy machine")
	assert.Equal(t, []time.Time{f.After(3000)}, came[nil], "of an order of another cell")
}
