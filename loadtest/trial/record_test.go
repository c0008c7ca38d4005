package trial

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// lockKey is the lock of forged records; stockKey is the stock.
const lockKey, stockKey = "lock:10000", "ProductStock_10000"

// A forgery is a cell of forged orders and commands: no process is started.
type forgery struct {
	*bench
	record map[*shop.Order][]observation
}

// forge begins a forgery at a shop whose lock is a leased key with a token.
func forge() *forgery {
	p := &sale.Passport{Facts: history.Facts{Locks: []string{lockKey}, TTL: 2 * time.Second, Token: true,
		Release: "a script"},
		Keys:   []wire.Lock{{Key: wire.Key{Name: lockKey}, Parts: []string{""}}},
		Writes: shapesOf("set stock"), Acquires: shapesOf("set lock"), Releases: sale.Shapes{}, Renewals: sale.Shapes{}}
	s := &shop.Shop{Options: shop.Options{Argv: []string{"shop"}, Product: "10000",
		Stock: []string{"SET", "ProductStock_{product}", "{n}"}}}
	b := &bench{passport: p, pair: &shop.Pair{Shop: s, Rig: &rig.Rig{}},
		cell: &history.Cell{Start: time.Unix(1000, 0)}}
	for i := range 2 {
		b.pair.Ends = append(b.pair.Ends, &rig.End{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}})
	}
	return &forgery{b, map[*shop.Order][]observation{}}
}

// shapeOf returns the shape of a text such as set lock, or set IFEQ lock.
func shapeOf(text string) (s sale.Shape) {
	s.Verb, text, _ = strings.Cut(text, " ")
	for word := range strings.FieldsSeq(text) {
		if strings.ToUpper(word) == word {
			s.Condition = word
		} else {
			s.On = sale.Role(word)
		}
	}
	return s
}

func shapesOf(texts ...string) sale.Shapes {
	all := sale.Shapes{}
	for _, text := range texts {
		all[shapeOf(text)] = true
	}
	return all
}

// after returns a moment of the cell.
func (f *forgery) after(ms int) time.Time {
	return f.cell.Start.Add(time.Duration(ms) * time.Millisecond)
}

// order adds an order that lasted from one moment to another.
func (f *forgery) order(
	name string, at int, outcome history.Outcome, from, to int, commands ...observation,
) *shop.Order {
	o := f.pair.Shop.NewOrder(name, at, history.Buy)
	o.Op.Outcome = outcome
	o.Send(context.Background(), func(context.Context) history.Op { return o.Op })
	<-o.Done()
	o.Sent = f.after(from)
	if to > 0 {
		o.Ended, o.Over = f.after(to), f.after(to)
	}
	f.orders = append(f.orders, o)
	f.record[o] = commands
	return o
}

// command returns a command that arrived at the proxy at a moment, and whose reply was delivered a millisecond later.
func (f *forgery) command(ms int, effect history.Effect, args ...string) observation {
	c := f.unseen(ms, args...)
	key := lockKey
	if len(args) > 1 && args[0] != "eval" {
		key = args[1]
	}
	c.effects = []history.Command{{Cmd: args[0], Key: key, Source: history.Looked, Effect: effect,
		At: history.At(f.cell.Start, c.Sent), End: history.At(f.cell.Start, c.Answered)}}
	return c
}

// unseen returns a command whose effects were not observed.
func (f *forgery) unseen(ms int, args ...string) observation {
	return observation{Seen: wire.Seen{Command: schedule.Command{Name: args[0]}, Args: args,
		Came: f.after(ms), Sent: f.after(ms), Answered: f.after(ms + 1), Delivered: f.after(ms + 1)}}
}

func (f *forgery) acquire(ms int) observation {
	return f.command(ms, history.EffectAcquired, "set", lockKey, "a token of its own", "nx", "px", "2000")
}

func (f *forgery) tried(ms int) observation {
	return f.command(ms, history.EffectTried, "set", lockKey, "another token", "nx", "px", "2000")
}
func (f *forgery) read(ms int) observation { return f.command(ms, history.EffectRead, "get", stockKey) }

// write returns a write that leaves 9 units of ten.
func (f *forgery) write(ms int) observation { return f.leave(ms, 9) }

func (f *forgery) leave(ms, left int) observation {
	return f.command(ms, history.EffectWrote, "set", stockKey, strconv.Itoa(left))
}

func (f *forgery) release(ms int) observation {
	return f.command(ms, history.EffectReleased, "eval", "script", "1", lockKey, "a token of its own")
}
func (f *forgery) del(ms int) observation {
	return f.command(ms, history.EffectReleased, "del", lockKey)
}

// without makes the reply of a command undelivered.
func without(reply observation) observation {
	reply.Delivered = time.Time{}
	return reply
}

// wrote returns the ledger's record of a write.
func (f *forgery) wrote(ms, at int, before, after int64, counts bool) written {
	return written{wire.StockWrite{At: f.after(ms), Before: before, After: after, Counts: counts}, at}
}

// Commands are in the order of their execution: one that blocked was executed when it was answered, and one without an
// answer when it was sent.
func TestTimeOfExecution(t *testing.T) {
	f := forge()
	first, second, lost := f.del(10), f.del(20), f.del(30)
	first.Sent, first.Answered, lost.Answered = f.after(25), f.after(26), time.Time{}
	assert.Equal(t, []observation{second, first, lost}, asExecuted([]observation{first, second, lost}))
}

// The writes that the Redis executed decide which units were sold, whatever the answers.
func TestUnitsAreThoseTaken(t *testing.T) {
	for _, one := range []struct {
		what   string
		writes func(*forgery) []written
		want   []int64
	}{
		{"one write", func(f *forgery) []written { return []written{f.wrote(10, 0, 10, 9, false)} }, []int64{10}},
		{"a SET that was sent twice takes one unit", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, false), f.wrote(10, 0, 9, 9, false)}
		}, []int64{10}},
		{"a DECR that was sent twice takes two", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 8, true)}
		}, []int64{10, 9}},
		{"an INCR puts the unit back", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 10, true)}
		}, nil},
		{"an INCR puts one of two back", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 8, true), f.wrote(10, 0, 8, 9, true)}
		}, []int64{10}},
		{"an INCR without a unit taken puts nothing back", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 9, 10, true)}
		}, nil},
		{"a SET of more puts the unit back", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, false), f.wrote(10, 0, 9, 10, false)}
		}, nil},
		{"a write below zero takes unit 0, which does not exist", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 0, -1, true)}
		}, []int64{0}},
		{"a write at another instance", func(f *forgery) []written {
			return []written{f.wrote(10, 1, 10, 9, false)}
		}, nil},
		{"a write of another time", func(f *forgery) []written {
			return []written{f.wrote(500, 0, 10, 9, false)}
		}, nil},
	} {
		f := forge()
		anna := f.order("anna", shop.AtA, history.Sold, 0, 40, f.acquire(1), f.read(5), f.write(10), f.release(20))
		assert.Equal(t, one.want, append([]int64(nil), f.unitsOf(one.writes(f), f.record)[anna]...), one.what)
	}
}

// Two orders that wrote the same number have sold the same unit.
func TestTwoOrdersSellOneUnit(t *testing.T) {
	f := forge()
	anna := f.order("anna", shop.AtA, history.Sold, 0, 90, f.read(5), f.write(80))
	bert := f.order("bert", shop.AtB, history.Sold, 10, 60, f.read(20), f.write(50))
	units := f.unitsOf([]written{f.wrote(50, 1, 10, 9, false), f.wrote(80, 0, 9, 9, false)}, f.record)
	assert.Equal(t, []int64{10}, units[anna])
	assert.Equal(t, []int64{10}, units[bert])
}

// Which order of a crowd sent a write is unknown. Only those open at the time are considered: one that sold rather than
// one of unknown outcome, and the one answered first.
func TestCrowdWritesBelongToOpenOrders(t *testing.T) {
	f := forge()
	over := f.order("a-0", shop.AtA, history.Sold, 0, 5)
	early := f.order("a-1", shop.AtA, history.Sold, 0, 20)
	unknown := f.order("a-2", shop.AtA, history.Unknown, 0, 0)
	refused := f.order("a-3", shop.AtA, history.Busy, 0, 100)
	sold := f.order("a-4", shop.AtA, history.Sold, 0, 100)
	elsewhere := f.order("b-1", shop.AtB, history.Sold, 0, 100)
	units := f.unitsOfCrowd([]written{
		f.wrote(10, 0, 10, 9, true), f.wrote(50, 0, 9, 8, true), f.wrote(60, 0, 8, 7, true), f.wrote(70, 0, 7, 6, true),
	})
	assert.Equal(t, map[*shop.Order][]int64{early: {10}, sold: {9}, unknown: {8}}, units)
	assert.Empty(t, units[over])
	assert.Empty(t, units[refused])
	assert.Empty(t, units[elsewhere])
}

// An order that was answered 202 may take its unit later.
func TestCrowdWritesBelongToAcceptedOrders(t *testing.T) {
	f := forge()
	accepted := f.order("a-1", shop.AtA, history.Sold, 0, 5)
	accepted.Op.Status = 202
	assert.Equal(t, map[*shop.Order][]int64{accepted: {10}}, f.unitsOfCrowd([]written{f.wrote(10, 0, 10, 9, true)}))
}

// A unit that an order of a crowd puts back is the last one taken.
func TestCrowdPutsUnitsBack(t *testing.T) {
	f := forge()
	sold := f.order("a-1", shop.AtA, history.Sold, 0, 100)
	writes := []written{f.wrote(10, 0, 1, 0, true), f.wrote(20, 0, 0, -1, true), f.wrote(30, 0, -1, 0, true)}
	units := f.unitsOfCrowd(writes)
	assert.Equal(t, map[*shop.Order][]int64{sold: {1}}, units)
}

// An order without an answer has not sold if it sent no write, unless commands were not observed.
func TestUnansweredOrderIsJudgedByItsWrites(t *testing.T) {
	f := forge()
	commands := []observation{f.acquire(10), f.read(20)}
	anna := f.order("anna", shop.AtA, history.Unknown, 0, 0, commands...)
	op := f.op(anna, commands, nil, true)
	assert.Equal(t, history.NotSold, op.Outcome)
	assert.Equal(t, "10000-anna", op.Order)
	assert.Equal(t, history.Never, op.Done)
	assert.Equal(t, history.Unknown, f.op(anna, commands, nil, false).Outcome, "nobody looked")
	commands = append(commands, f.write(30))
	op = f.op(anna, commands, []int64{10}, true)
	assert.Equal(t, history.Unknown, op.Outcome)
	assert.Equal(t, []int64{10}, op.Units)
	assert.Len(t, op.Trace, 3)
}

// A command belongs to the order that alone was open at its instance, or whose token it names. What an instance sends
// while it may still work for a customer who has left belongs to none: it shows neither a claim nor a defect.
func TestCommandAttribution(t *testing.T) {
	for _, one := range []struct {
		what               string
		left, named        bool // Anna's customer has left at 90 ms; all orders of an instance have one value
		next               int  // when Bert comes, in ms
		commands           func(*forgery) []observation
		anna, bert, nobody int
	}{
		{"each order's own, after its answer too", false, false, 100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30), f.del(60), f.acquire(110), f.write(130)}
		}, 3, 2, 0},
		{"a write after Anna's customer has left is no order's", true, false, 100, func(f *forgery) []observation {
			return []observation{f.tried(10), f.acquire(110), f.write(130), f.del(140)}
		}, 1, 0, 3},
		{"a token identifies the order of a late release", true, false, 100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(130), f.release(140), f.del(150)}
		}, 2, 0, 2},
		{"a token that several orders may have taken shows nothing", true, false, 100, func(f *forgery) []observation {
			return []observation{f.tried(10), f.acquire(110), f.release(140)}
		}, 1, 0, 2},
		{"an instance's value is no token", true, true, 100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.release(140)}
		}, 1, 0, 1},
		{"the key of a script is no token", false, false, 100, func(f *forgery) []observation {
			return []observation{
				f.command(10, history.EffectAcquired, "eval", "take", "2", lockKey, "a channel of the lock", "9"),
				f.command(130, history.EffectNothing, "get", lockKey),
				f.command(140, history.EffectNothing, "publish", "a channel of the lock", "free")}
		}, 1, 2, 0},
		{"a script's argument may be a token", false, false, 100, func(f *forgery) []observation {
			return []observation{f.command(10, history.EffectAcquired, "eval", "take", "1", lockKey, "a token of its own"),
				f.release(140)}
		}, 2, 0, 0},
		{"an instance is done after the release", true, false, 100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.release(60), f.acquire(110), f.write(130)}
		}, 2, 2, 0},
		{"an instance is done when its waiter polls no more", true, false, 2100, func(f *forgery) []observation {
			return []observation{f.tried(10), f.acquire(2110), f.write(2130)}
		}, 1, 2, 0},
		{"an instance is not done while a reply is missing", true, false, 2100, func(f *forgery) []observation {
			return []observation{without(f.tried(10)), f.acquire(2110), f.write(2130)}
		}, 1, 0, 2},
		{"an instance is not done while it holds the lock", true, false, 2100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(2130)}
		}, 1, 0, 1},
	} {
		f := forge()
		f.passport.Name = one.named
		anna := f.order("anna", shop.AtA, history.Sold, 0, 90)
		bert := f.order("bert", shop.AtA, history.Sold, one.next, one.next+90)
		anna.Over = anna.Ended
		if one.left {
			anna.Ended, anna.Left, anna.Op.Outcome = time.Time{}, true, history.Unknown
		}
		record := map[*shop.Order][]observation{}
		f.attribute(shop.AtA, one.commands(f), record)
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, []int{len(record[anna]), len(record[bert]), len(record[nil])},
			one.what)
	}
}

// Once the order that was sent last is over, commands are those of the order that is still open.
func TestAttributionToTheOpenOrder(t *testing.T) {
	f := forge()
	f.passport.Background = sale.Shapes{}
	anna := f.order("anna", shop.AtA, history.Sold, 0, 300)
	clara := f.order("clara", shop.AtA, history.Sold, 100, 190)
	record := map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{f.acquire(110), f.del(150), f.read(200)}, record)
	assert.Len(t, record[clara], 2)
	assert.Len(t, record[anna], 1)
}

// A background thread's command is no order's, whichever is open. It is kept if it changed a lock or the stock.
func TestBackgroundAttribution(t *testing.T) {
	free := func(f *forgery, ms int) observation { // by the value that it names and removes
		c := f.command(ms, history.EffectReleased, "eval", "script", "1", lockKey, "the token of another instance")
		c.effects[0].Wire = &history.Carried{Was: "another's", Named: []string{"another's"}}
		return c
	}
	renew := func(f *forgery, ms int) observation {
		return f.command(ms, history.EffectRenewed, "pexpire", lockKey, "2000")
	}
	for _, one := range []struct {
		what               string
		background         string // a shape
		commands           func(*forgery) []observation
		anna, bert, nobody int
	}{
		{"nothing before the first order is an order's", "", func(f *forgery) []observation {
			return []observation{f.del(-20), f.read(-10), f.acquire(10)}
		}, 1, 0, 1},
		{"what it sends while no order is at work", "get", func(f *forgery) []observation {
			return []observation{f.command(20, history.EffectNothing, "get", "alive"), f.acquire(30)}
		}, 1, 0, 0},
		{"such a release", "del lock", func(f *forgery) []observation { return []observation{f.del(20)} }, 0, 0, 1},
		{"a release that no sale sends, beside such threads", "scan", func(f *forgery) []observation {
			return []observation{f.tried(110), f.del(120)}
		}, 0, 1, 1},
		{"a release that sales send, beside such threads", "scan", func(f *forgery) []observation {
			f.passport.Releases[shapeOf("del lock")] = true
			return []observation{f.tried(110), f.del(120)}
		}, 0, 2, 0},
		{"without such threads a release is the order's", "", func(f *forgery) []observation {
			return []observation{f.tried(110), f.del(120)}
		}, 0, 2, 0},
		{"a release of another instance's lock by an order without one", "", func(f *forgery) []observation {
			return []observation{f.tried(110), free(f, 120)}
		}, 0, 1, 1},
		{"a holder's release is its own", "", func(f *forgery) []observation {
			return []observation{f.acquire(110), free(f, 120)}
		}, 0, 2, 0},
		{"a token says whose a release is", "scan", func(f *forgery) []observation {
			return []observation{f.acquire(10), f.tried(110), f.release(120)}
		}, 2, 1, 0},
		{"a late renewal is the last holder's", "", func(f *forgery) []observation {
			f.passport.Renewals[shapeOf("pexpire lock")] = true
			return []observation{f.acquire(10), f.del(50), f.tried(110), renew(f, 120)}
		}, 3, 1, 0},
		{"an EXPIRE that is no renewal is a waiter's", "", func(f *forgery) []observation {
			return []observation{f.acquire(10), f.del(50), f.tried(110), renew(f, 120)}
		}, 2, 2, 0},
	} {
		f := forge()
		if f.passport.Background = (sale.Shapes{}); one.background != "" {
			f.passport.Background[shapeOf(one.background)] = true
		}
		anna := f.order("anna", shop.AtA, history.Sold, 0, 90)
		bert := f.order("bert", shop.AtA, history.Sold, 100, 190)
		record := map[*shop.Order][]observation{}
		f.attribute(shop.AtA, one.commands(f), record)
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, []int{len(record[anna]), len(record[bert]), len(record[nil])},
			one.what)
	}
}

// What an instance sends while its only order waits for a held reply is sent in the background, unless it renews the
// lock, or sales send it as often.
func TestBackgroundCommands(t *testing.T) {
	f := forge()
	p := f.passport
	// a reaper's command may come during a sale
	p.Steps = []sale.Step{{Shape: shapeOf("incr")}, {Shape: shapeOf("zrangebyscore")}}
	commands := []observation{f.unseen(5, "keys", "*"), f.command(10, history.EffectRenewed, "pexpire", lockKey),
		f.unseen(20, "incr", "orders"), f.unseen(30, "scan", "0"), f.unseen(35, "ttl", lockKey), f.write(40),
		f.unseen(50, "zrangebyscore", "ends"), f.unseen(60, "zrangebyscore", "ends"), f.unseen(99, "exists", "alive")}
	watchBackground(f.bench, commands, f.after(8), f.after(90))
	assert.Equal(t, shapesOf("scan", "ttl lock", "zrangebyscore"), p.Background)
	p.Background, p.Every = nil, time.Second
	watchBackground(f.bench, commands, f.after(8), f.after(90))
	assert.Equal(t, shapesOf("scan", "zrangebyscore"), p.Background, "a renewal may read the lock first")
}

// A release by the value of another order of its instance, which has not written yet, is sent by the order that owes
// one.
func TestReleaseBySharedValue(t *testing.T) {
	f := forge()
	anna := f.order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.order("bert", shop.AtA, history.Sold, 20, 200)
	berts := f.command(60, history.EffectReleased, "eval", "script", "1", lockKey, "a token of Bert's")
	again := f.command(150, history.EffectNothing, "eval", "script", "1", lockKey, "a token of Bert's")
	take := f.command(50, history.EffectAcquired, "set", lockKey, "a token of Bert's", "nx", "px", "2000")
	sent := func(more ...observation) map[*shop.Order][]observation {
		record := map[*shop.Order][]observation{}
		f.attribute(shop.AtA, append([]observation{f.acquire(10), f.write(15), take, berts}, more...), record)
		return record
	}
	record := sent(f.read(100), f.leave(110, 8), again)
	assert.Len(t, record[anna], 3, "it released Bert's lock")
	assert.Len(t, record[bert], 4)
	assert.Len(t, sent()[bert], 2, "it wrote nothing: it may have been sold out")
	f.passport.Early = true
	assert.Len(t, sent(f.read(100), f.leave(110, 8), again)[bert], 5, "it releases first")
}

// While another order of its instance waits, writes of the stock and releases are the holder's: a client may retry a
// write.
func TestHolderAttribution(t *testing.T) {
	f := forge()
	f.passport.Name = true
	anna := f.order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.order("bert", shop.AtA, history.Sold, 20, 200)
	anna.Over = anna.Ended
	record := map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{
		f.acquire(10), f.tried(30), f.write(40), f.write(50), f.release(60), f.acquire(100), f.write(110), f.release(120),
	}, record)
	assert.Len(t, record[anna], 4)
	assert.Len(t, record[bert], 4)
}

// Two orders that poll at one instance take a unit each: the one that was answered first had acquired the lock first,
// and reads of the stock are the holder's.
func TestAttributionToPollingOrders(t *testing.T) {
	f := forge()
	clara := f.order("clara", shop.AtA, history.Sold, 0, 90)
	bert := f.order("bert", shop.AtA, history.Sold, 20, 200)
	clara.Over, bert.Over = clara.Ended, bert.Ended
	record := map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{f.acquire(40), f.tried(45), f.read(50), f.write(60), f.release(70), f.acquire(100),
		f.read(110), f.write(120), f.release(130)}, record)
	assert.Len(t, record[clara], 4)
	assert.Len(t, record[bert], 5, "the poll is not the holder's")
	clara.Over, bert.Over = clara.Over.Add(200*time.Millisecond), clara.Over
	record = map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{f.acquire(40), f.write(60), f.release(70), f.acquire(100), f.write(110)}, record)
	assert.Len(t, record[bert], 3, "which was answered first")
	assert.Len(t, record[clara], 2)
}

// An order that acquires the lock while the other one at its instance is held is the holder afterwards.
func TestHolderAttributionWhileAnotherIsHeld(t *testing.T) {
	f := forge()
	f.passport.Name = true
	anna := f.order("anna", shop.AtA, history.Sold, 0, 300, f.acquire(10))
	anna.Over, anna.Blocked = anna.Ended, shop.Span{From: f.after(30), To: f.after(90)}
	bert := f.order("bert", shop.AtA, history.Sold, 40, 200)
	record := map[*shop.Order][]observation{}
	f.attribute(shop.AtA, []observation{f.acquire(10), f.acquire(50), f.write(100), f.release(110)}, record)
	assert.Len(t, record[anna], 1)
	assert.Len(t, record[bert], 3)
}

// Which order sold is unknown if one of several wrote the stock, and no unit is missing.
func TestUnattributedWritesLeaveOutcomesUnknown(t *testing.T) {
	f := forge()
	anna := f.order("anna", shop.AtA, history.Unknown, 0, 0, f.tried(10))
	anna.Left = true
	f.order("bert", shop.AtA, history.Sold, 100, 190)
	f.record[nil] = []observation{f.acquire(110), f.write(130), f.del(140)}
	c := &history.Cell{}
	f.addOps(c, f.record, nil, true, f.after(60000))
	for _, op := range c.Ops {
		assert.Equal(t, history.Unknown, op.Outcome)
	}
	assert.Len(t, c.Strays, 3)
}

// A shop is named after its own file, if the command line has one, and not after its interpreter.
func TestNameOfShop(t *testing.T) {
	for want, argv := range map[string][]string{
		"shop.py":  {"/usr/bin/python3", "-u", inPython, "right"},
		"shop.js":  {"env", "NODE_PATH=testdata", "node", inNode},
		"shop":     {"/opt/shop", "--port={port}", "testdata"},
		"stockapi": {"stockapi"},
	} {
		assert.Equal(t, want, (&shop.Shop{Options: shop.Options{Argv: argv}}).Name())
	}
}

// A write of a crowd may take a unit for each of several orders.
func TestCrowdWriteMayTakeSeveralUnits(t *testing.T) {
	f := forge()
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		f.order(name, shop.AtA, history.Sold, 0, 100)
	}
	units := f.unitsOfCrowd([]written{f.wrote(10, 0, 10, 7, false)})
	assert.Equal(t, map[*shop.Order][]int64{f.orders[0]: {8}, f.orders[1]: {9}, f.orders[2]: {10}}, units)
}

// A write that takes more units than there are orders counts as one, however large the numbers.
func TestCrowdWriteOfTooManyUnitsIsOne(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, w := range [][2]int64{{most, 7}, {most, least}, {10, -10}, {most, most - 2}} {
		f := forge()
		sold := f.order("a-1", shop.AtA, history.Sold, 0, 100)
		units := f.unitsOfCrowd([]written{f.wrote(10, 0, w[0], w[1], false)})
		assert.Equal(t, map[*shop.Order][]int64{sold: {w[1] + 1}}, units, w)
	}
	f := forge()
	sold := f.order("a-1", shop.AtA, history.Sold, 0, 100)
	assert.Equal(t, map[*shop.Order][]int64{sold: {most}}, f.unitsOfCrowd([]written{f.wrote(10, 0, most, most-1, false)}))
}

// A script may be sent with any number as that of its keys.
func TestValuesOfScript(t *testing.T) {
	for keys, want := range map[string][]string{"1": {"v"}, "9223372036854775807": {}, "-1": {"k", "v"}, "x": {"k", "v"}} {
		c := &observation{Seen: wire.Seen{Args: []string{"EVAL", "return 1", keys, "k", "v"}}}
		assert.Equal(t, want, c.values(), keys)
	}
}

// If the lock is a counter, a decrement by a waiter undoes its failed increment, whatever the result, and one by the
// holder releases the lock. Reads by the holder are no tries.
func TestStepsOfCounter(t *testing.T) {
	f := forge()
	step := func(ms int, effect history.Effect, verb string) observation {
		c := f.command(ms, effect, verb, lockKey)
		c.stepped = true
		return c
	}
	incr, decr := step(20, history.EffectTried, "incr"), step(30, history.EffectReleased, "decr")
	last := f.command(40, history.EffectReleased, "decr", lockKey) // to zero, as the holder has gone
	look := f.command(50, history.EffectTried, "get", lockKey)
	const nothing = history.EffectNothing
	for _, one := range []struct {
		what     string
		commands []observation
		want     []history.Effect
	}{
		{"a waiter steps back", []observation{incr, decr}, []history.Effect{history.EffectTried, nothing}},
		{"a waiter steps back to zero", []observation{incr, last}, []history.Effect{history.EffectTried, nothing}},
		{"the holder steps back beside a waiter", []observation{f.acquire(10), decr},
			[]history.Effect{history.EffectAcquired, history.EffectReleased}},
		{"a waiter acquires the lock", []observation{incr, decr, f.acquire(35), last},
			[]history.Effect{history.EffectTried, nothing, history.EffectAcquired, history.EffectReleased}},
		{"a waiter reads", []observation{look}, []history.Effect{history.EffectTried}},
		{"the holder reads", []observation{f.acquire(10), look}, []history.Effect{history.EffectAcquired, nothing}},
		{"an order reads after its write", []observation{f.write(10), look}, []history.Effect{history.EffectWrote, nothing}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}
}

// resolved returns the first effect of each command once they are resolved.
func resolved(commands []observation) (effects []history.Effect) {
	copies := slices.Clone(commands)
	for i := range copies {
		copies[i].effects = slices.Clone(copies[i].effects)
	}
	resolve(copies)
	for _, c := range copies {
		effects = append(effects, c.effects[0].Effect)
	}
	return effects
}

// An order that waits for a held reply sends nothing until that arrives.
func TestHeldOrdersAreBlocked(t *testing.T) {
	f := forge()
	anna, bert := f.order("anna", shop.AtA, history.Unknown, 0, 0), f.order("bert", shop.AtA, history.Unknown, 0, 0)
	held := []*rig.Held{{Trap: &rig.CommandTrap{}, Order: anna.InFlight, Reply: true},
		{Trap: &rig.CommandTrap{}, Order: bert.InFlight}}
	block(f.bench, held, f.after(10))
	block(f.bench, held, f.after(20))
	assert.True(t, anna.Blocked.Has(f.after(15)))
	assert.False(t, anna.Blocked.Has(f.after(5)))
	assert.Zero(t, bert.Blocked, "its command waits, and it may send another")
}

// While the others at an instance wait for a held reply, only one order can send commands, whatever value they name.
func TestOnlyFreeOrder(t *testing.T) {
	f := forge()
	anna := f.order("anna", shop.AtA, history.Sold, 0, 90, f.acquire(10), f.write(30))
	bert := f.order("bert", shop.AtA, history.Sold, 40, 200)
	bert.Blocked = shop.Span{From: f.after(50), To: f.after(80)}
	assert.Nil(t, f.onlyFree(shop.AtA, f.after(45)), "both may have sent it")
	assert.Same(t, anna, f.onlyFree(shop.AtA, f.after(60)))
	assert.Nil(t, f.onlyFree(shop.AtB, f.after(60)))
	assert.Nil(t, f.onlyFree(shop.AtA, f.after(85)))
}

// The end of a lock is noted in the trace of the order that held it then, whatever its record shows of the time after.
func TestEndsBelongToHolders(t *testing.T) {
	f := forge()
	inFlight := f.acquire(60)
	inFlight.effects[0].At = history.At(f.cell.Start, f.after(49))
	f.order("anna", shop.AtA, history.Sold, 0, 200, f.acquire(10), f.write(70))
	f.order("bert", shop.AtB, history.Sold, 20, 200, f.tried(30), inFlight, f.write(80), f.release(150))
	f.order("clara", shop.AtB, history.Sold, 20, 200, f.acquire(120))
	for _, end := range []struct {
		ms  int
		why string
	}{{5, "before"}, {50, history.LockRemoved}, {55, "in between"}, {100, history.LeaseOver}, {110, "again"},
		{119, history.LocksLost}} {
		f.noteEnds(f.after(end.ms), end.why)
	}
	f.addOps(f.cell, f.record, nil, true, f.after(200))
	f.assignEnds(f.cell)
	var notes []string
	for _, op := range f.cell.Ops {
		for _, c := range op.Trace {
			if c.Ended() {
				notes = append(notes, op.Order+": "+c.Reply)
				assert.Equal(t, lockKey, c.Key)
				assert.Equal(t, history.Looked, c.Source)
			}
		}
	}
	assert.Equal(t, []string{"10000-anna: removed", "10000-bert: lease over"}, notes)
}
