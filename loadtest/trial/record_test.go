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

// LockKey is the lock of forged records; stockKey is the stock.
const LockKey, StockKey = "lock:10000", "ProductStock_10000"

// A Forgery is a cell of forged orders and commands: no process is started.
type Forgery struct {
	*Bench
	Record map[*shop.Order][]Observation
}

// Begin begins a forgery at a shop whose lock is a leased key with a token.
func Begin() *Forgery {
	p := &sale.Passport{Facts: history.Facts{Locks: []string{LockKey}, TTL: 2 * time.Second, Token: true,
		Release: "a script"},
		Keys:   []wire.Lock{{Key: wire.Key{Name: LockKey}, Parts: []string{""}}},
		Writes: Shapes("set stock"), Acquires: Shapes("set lock"), Releases: sale.Shapes{}, Renewals: sale.Shapes{}}
	s := &shop.Shop{Options: shop.Options{Argv: []string{"shop"}, Product: "10000",
		Stock: []string{"SET", "ProductStock_{product}", "{n}"}}}
	b := &Bench{Passport: p, Pair: &shop.Pair{Shop: s, Rig: &rig.Rig{}},
		Cell: &history.Cell{Start: time.Unix(1000, 0)}}
	for i := range 2 {
		b.Pair.Ends = append(b.Pair.Ends, &rig.End{Client: schedule.Client{Index: i, Name: schedule.ClientName(i)}})
	}
	return &Forgery{b, map[*shop.Order][]Observation{}}
}

// Shape returns the shape of a text such as set lock, or set IFEQ lock.
func Shape(text string) (s sale.Shape) {
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

func Shapes(texts ...string) sale.Shapes {
	all := sale.Shapes{}
	for _, text := range texts {
		all[Shape(text)] = true
	}
	return all
}

// After returns a moment of the cell.
func (f *Forgery) After(ms int) time.Time {
	return f.Cell.Start.Add(time.Duration(ms) * time.Millisecond)
}

// Order adds an order that lasted from one moment to another.
func (f *Forgery) Order(
	name string, at int, outcome history.Outcome, from, to int, commands ...Observation,
) *shop.Order {
	o := f.Pair.Shop.NewOrder(name, at, history.Buy)
	o.Op.Outcome = outcome
	o.Send(context.Background(), func(context.Context) history.Op { return o.Op })
	<-o.Done()
	o.Sent = f.After(from)
	if to > 0 {
		o.Ended, o.Over = f.After(to), f.After(to)
	}
	f.Orders = append(f.Orders, o)
	f.Record[o] = commands
	return o
}

// Command returns a command that arrived at the proxy at a moment, and whose reply was delivered a millisecond later.
func (f *Forgery) Command(ms int, effect history.Effect, args ...string) Observation {
	c := f.Unseen(ms, args...)
	key := LockKey
	if len(args) > 1 && args[0] != "eval" {
		key = args[1]
	}
	c.Effects = []history.Command{{Cmd: args[0], Key: key, Source: history.Looked, Effect: effect,
		At: history.At(f.Cell.Start, c.Sent), End: history.At(f.Cell.Start, c.Answered)}}
	return c
}

// Unseen returns a command whose effects were not observed.
func (f *Forgery) Unseen(ms int, args ...string) Observation {
	return Observation{Seen: wire.Seen{Command: schedule.Command{Name: args[0]}, Args: args,
		Came: f.After(ms), Sent: f.After(ms), Answered: f.After(ms + 1), Delivered: f.After(ms + 1)}}
}

func (f *Forgery) Acquire(ms int) Observation {
	return f.Command(ms, history.EffectAcquired, "set", LockKey, "a token of its own", "nx", "px", "2000")
}

func (f *Forgery) Tried(ms int) Observation {
	return f.Command(ms, history.EffectTried, "set", LockKey, "another token", "nx", "px", "2000")
}
func (f *Forgery) Read(ms int) Observation { return f.Command(ms, history.EffectRead, "get", StockKey) }

// Write returns a write that leaves 9 units of ten.
func (f *Forgery) Write(ms int) Observation { return f.Leave(ms, 9) }

func (f *Forgery) Leave(ms, left int) Observation {
	return f.Command(ms, history.EffectWrote, "set", StockKey, strconv.Itoa(left))
}

func (f *Forgery) Release(ms int) Observation {
	return f.Command(ms, history.EffectReleased, "eval", "script", "1", LockKey, "a token of its own")
}
func (f *Forgery) Del(ms int) Observation {
	return f.Command(ms, history.EffectReleased, "del", LockKey)
}

// Unheard makes the reply of a command undelivered.
func Unheard(reply Observation) Observation {
	reply.Delivered = time.Time{}
	return reply
}

// Wrote returns the ledger's record of a write.
func (f *Forgery) Wrote(ms, at int, before, after int64, counts bool) Written {
	return Written{wire.StockWrite{At: f.After(ms), Before: before, After: after, Counts: counts}, at}
}

// Commands are in the order of their execution: one that blocked was executed when it was answered, and one without an
// answer when it was sent.
func TestTimeOfExecution(t *testing.T) {
	f := Begin()
	first, second, lost := f.Del(10), f.Del(20), f.Del(30)
	first.Sent, first.Answered, lost.Answered = f.After(25), f.After(26), time.Time{}
	assert.Equal(t, []Observation{second, first, lost}, AsExecuted([]Observation{first, second, lost}))
}

// The writes that the Redis executed decide which units were sold, whatever the answers.
func TestUnitsAreThoseTaken(t *testing.T) {
	for _, one := range []struct {
		what   string
		writes func(*Forgery) []Written
		want   []int64
	}{
		{"one write", func(f *Forgery) []Written { return []Written{f.Wrote(10, 0, 10, 9, false)} }, []int64{10}},
		{"a SET that was sent twice takes one unit", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 10, 9, false), f.Wrote(10, 0, 9, 9, false)}
		}, []int64{10}},
		{"a DECR that was sent twice takes two", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 8, true)}
		}, []int64{10, 9}},
		{"an INCR puts the unit back", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 10, true)}
		}, nil},
		{"an INCR puts one of two back", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 8, true), f.Wrote(10, 0, 8, 9, true)}
		}, []int64{10}},
		{"an INCR without a unit taken puts nothing back", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 9, 10, true)}
		}, nil},
		{"a SET of more puts the unit back", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 10, 9, false), f.Wrote(10, 0, 9, 10, false)}
		}, nil},
		{"a write below zero takes unit 0, which does not exist", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 0, 0, -1, true)}
		}, []int64{0}},
		{"a write at another instance", func(f *Forgery) []Written {
			return []Written{f.Wrote(10, 1, 10, 9, false)}
		}, nil},
		{"a write of another time", func(f *Forgery) []Written {
			return []Written{f.Wrote(500, 0, 10, 9, false)}
		}, nil},
	} {
		f := Begin()
		anna := f.Order("anna", shop.AtA, history.Sold, 0, 40, f.Acquire(1), f.Read(5), f.Write(10), f.Release(20))
		assert.Equal(t, one.want, append([]int64(nil), f.unitsOf(one.writes(f), f.Record)[anna]...), one.what)
	}
}

// Two orders that wrote the same number have sold the same unit.
func TestTwoOrdersSellOneUnit(t *testing.T) {
	f := Begin()
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90, f.Read(5), f.Write(80))
	bert := f.Order("bert", shop.AtB, history.Sold, 10, 60, f.Read(20), f.Write(50))
	units := f.unitsOf([]Written{f.Wrote(50, 1, 10, 9, false), f.Wrote(80, 0, 9, 9, false)}, f.Record)
	assert.Equal(t, []int64{10}, units[anna])
	assert.Equal(t, []int64{10}, units[bert])
}

// Which order of a crowd sent a write is unknown. Only those open at the time are considered: one that sold rather than
// one of unknown outcome, and the one answered first.
func TestCrowdWritesBelongToOpenOrders(t *testing.T) {
	f := Begin()
	over := f.Order("a-0", shop.AtA, history.Sold, 0, 5)
	early := f.Order("a-1", shop.AtA, history.Sold, 0, 20)
	unknown := f.Order("a-2", shop.AtA, history.Unknown, 0, 0)
	refused := f.Order("a-3", shop.AtA, history.Busy, 0, 100)
	sold := f.Order("a-4", shop.AtA, history.Sold, 0, 100)
	elsewhere := f.Order("b-1", shop.AtB, history.Sold, 0, 100)
	units := f.unitsOfCrowd([]Written{
		f.Wrote(10, 0, 10, 9, true), f.Wrote(50, 0, 9, 8, true), f.Wrote(60, 0, 8, 7, true), f.Wrote(70, 0, 7, 6, true),
	})
	assert.Equal(t, map[*shop.Order][]int64{early: {10}, sold: {9}, unknown: {8}}, units)
	assert.Empty(t, units[over])
	assert.Empty(t, units[refused])
	assert.Empty(t, units[elsewhere])
}

// An order that was answered 202 may take its unit later.
func TestCrowdWritesBelongToAcceptedOrders(t *testing.T) {
	f := Begin()
	accepted := f.Order("a-1", shop.AtA, history.Sold, 0, 5)
	accepted.Op.Status = 202
	assert.Equal(t, map[*shop.Order][]int64{accepted: {10}}, f.unitsOfCrowd([]Written{f.Wrote(10, 0, 10, 9, true)}))
}

// A unit that an order of a crowd puts back is the last one taken.
func TestCrowdPutsUnitsBack(t *testing.T) {
	f := Begin()
	sold := f.Order("a-1", shop.AtA, history.Sold, 0, 100)
	writes := []Written{f.Wrote(10, 0, 1, 0, true), f.Wrote(20, 0, 0, -1, true), f.Wrote(30, 0, -1, 0, true)}
	units := f.unitsOfCrowd(writes)
	assert.Equal(t, map[*shop.Order][]int64{sold: {1}}, units)
}

// An order without an answer has not sold if it sent no write, unless commands were not observed.
func TestUnansweredOrderIsJudgedByItsWrites(t *testing.T) {
	f := Begin()
	commands := []Observation{f.Acquire(10), f.Read(20)}
	anna := f.Order("anna", shop.AtA, history.Unknown, 0, 0, commands...)
	op := f.op(anna, commands, nil, true)
	assert.Equal(t, history.NotSold, op.Outcome)
	assert.Equal(t, "10000-anna", op.Order)
	assert.Equal(t, history.Never, op.Done)
	assert.Equal(t, history.Unknown, f.op(anna, commands, nil, false).Outcome, "nobody looked")
	commands = append(commands, f.Write(30))
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
		commands           func(*Forgery) []Observation
		anna, bert, nobody int
	}{
		{"each order's own, after its answer too", false, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Write(30), f.Del(60), f.Acquire(110), f.Write(130)}
		}, 3, 2, 0},
		{"a write after Anna's customer has left is no order's", true, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Tried(10), f.Acquire(110), f.Write(130), f.Del(140)}
		}, 1, 0, 3},
		{"a token identifies the order of a late release", true, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Write(130), f.Release(140), f.Del(150)}
		}, 2, 0, 2},
		{"a token that several orders may have taken shows nothing", true, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Tried(10), f.Acquire(110), f.Release(140)}
		}, 1, 0, 2},
		{"an instance's value is no token", true, true, 100, func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Release(140)}
		}, 1, 0, 1},
		{"the key of a script is no token", false, false, 100, func(f *Forgery) []Observation {
			return []Observation{
				f.Command(10, history.EffectAcquired, "eval", "take", "2", LockKey, "a channel of the lock", "9"),
				f.Command(130, history.EffectNothing, "get", LockKey),
				f.Command(140, history.EffectNothing, "publish", "a channel of the lock", "free")}
		}, 1, 2, 0},
		{"a script's argument may be a token", false, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Command(10, history.EffectAcquired, "eval", "take", "1", LockKey, "a token of its own"),
				f.Release(140)}
		}, 2, 0, 0},
		{"an instance is done after the release", true, false, 100, func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Release(60), f.Acquire(110), f.Write(130)}
		}, 2, 2, 0},
		{"an instance is done when its waiter polls no more", true, false, 2100, func(f *Forgery) []Observation {
			return []Observation{f.Tried(10), f.Acquire(2110), f.Write(2130)}
		}, 1, 2, 0},
		{"an instance is not done while a reply is missing", true, false, 2100, func(f *Forgery) []Observation {
			return []Observation{Unheard(f.Tried(10)), f.Acquire(2110), f.Write(2130)}
		}, 1, 0, 2},
		{"an instance is not done while it holds the lock", true, false, 2100, func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Write(2130)}
		}, 1, 0, 1},
	} {
		f := Begin()
		f.Passport.Name = one.named
		anna := f.Order("anna", shop.AtA, history.Sold, 0, 90)
		bert := f.Order("bert", shop.AtA, history.Sold, one.next, one.next+90)
		anna.Over = anna.Ended
		if one.left {
			anna.Ended, anna.Left, anna.Op.Outcome = time.Time{}, true, history.Unknown
		}
		record := map[*shop.Order][]Observation{}
		f.attribute(shop.AtA, one.commands(f), record)
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, []int{len(record[anna]), len(record[bert]), len(record[nil])},
			one.what)
	}
}

// Once the order that was sent last is over, commands are those of the order that is still open.
func TestAttributionToTheOpenOrder(t *testing.T) {
	f := Begin()
	f.Passport.Background = sale.Shapes{}
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 300)
	clara := f.Order("clara", shop.AtA, history.Sold, 100, 190)
	record := map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{f.Acquire(110), f.Del(150), f.Read(200)}, record)
	assert.Len(t, record[clara], 2)
	assert.Len(t, record[anna], 1)
}

// A background thread's command is no order's, whichever is open. It is kept if it changed a lock or the stock.
func TestBackgroundAttribution(t *testing.T) {
	free := func(f *Forgery, ms int) Observation { // by the value that it names and removes
		c := f.Command(ms, history.EffectReleased, "eval", "script", "1", LockKey, "the token of another instance")
		c.Effects[0].Wire = &history.Carried{Was: "another's", Named: []string{"another's"}}
		return c
	}
	renew := func(f *Forgery, ms int) Observation {
		return f.Command(ms, history.EffectRenewed, "pexpire", LockKey, "2000")
	}
	for _, one := range []struct {
		what               string
		background         string // a shape
		commands           func(*Forgery) []Observation
		anna, bert, nobody int
	}{
		{"nothing before the first order is an order's", "", func(f *Forgery) []Observation {
			return []Observation{f.Del(-20), f.Read(-10), f.Acquire(10)}
		}, 1, 0, 1},
		{"what it sends while no order is at work", "get", func(f *Forgery) []Observation {
			return []Observation{f.Command(20, history.EffectNothing, "get", "alive"), f.Acquire(30)}
		}, 1, 0, 0},
		{"such a release", "del lock", func(f *Forgery) []Observation { return []Observation{f.Del(20)} }, 0, 0, 1},
		{"a release that no sale sends, beside such threads", "scan", func(f *Forgery) []Observation {
			return []Observation{f.Tried(110), f.Del(120)}
		}, 0, 1, 1},
		{"a release that sales send, beside such threads", "scan", func(f *Forgery) []Observation {
			f.Passport.Releases[Shape("del lock")] = true
			return []Observation{f.Tried(110), f.Del(120)}
		}, 0, 2, 0},
		{"without such threads a release is the order's", "", func(f *Forgery) []Observation {
			return []Observation{f.Tried(110), f.Del(120)}
		}, 0, 2, 0},
		{"a release of another instance's lock by an order without one", "", func(f *Forgery) []Observation {
			return []Observation{f.Tried(110), free(f, 120)}
		}, 0, 1, 1},
		{"a holder's release is its own", "", func(f *Forgery) []Observation {
			return []Observation{f.Acquire(110), free(f, 120)}
		}, 0, 2, 0},
		{"a token says whose a release is", "scan", func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Tried(110), f.Release(120)}
		}, 2, 1, 0},
		{"a late renewal is the last holder's", "", func(f *Forgery) []Observation {
			f.Passport.Renewals[Shape("pexpire lock")] = true
			return []Observation{f.Acquire(10), f.Del(50), f.Tried(110), renew(f, 120)}
		}, 3, 1, 0},
		{"an EXPIRE that is no renewal is a waiter's", "", func(f *Forgery) []Observation {
			return []Observation{f.Acquire(10), f.Del(50), f.Tried(110), renew(f, 120)}
		}, 2, 2, 0},
	} {
		f := Begin()
		if f.Passport.Background = (sale.Shapes{}); one.background != "" {
			f.Passport.Background[Shape(one.background)] = true
		}
		anna := f.Order("anna", shop.AtA, history.Sold, 0, 90)
		bert := f.Order("bert", shop.AtA, history.Sold, 100, 190)
		record := map[*shop.Order][]Observation{}
		f.attribute(shop.AtA, one.commands(f), record)
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, []int{len(record[anna]), len(record[bert]), len(record[nil])},
			one.what)
	}
}

// What an instance sends while its only order waits for a held reply is sent in the background, unless it renews the
// lock, or sales send it as often.
func TestBackgroundCommands(t *testing.T) {
	f := Begin()
	p := f.Passport
	// a reaper's command may come during a sale
	p.Steps = []sale.Step{{Shape: Shape("incr")}, {Shape: Shape("zrangebyscore")}}
	commands := []Observation{f.Unseen(5, "keys", "*"), f.Command(10, history.EffectRenewed, "pexpire", LockKey),
		f.Unseen(20, "incr", "orders"), f.Unseen(30, "scan", "0"), f.Unseen(35, "ttl", LockKey), f.Write(40),
		f.Unseen(50, "zrangebyscore", "ends"), f.Unseen(60, "zrangebyscore", "ends"), f.Unseen(99, "exists", "alive")}
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, Shapes("scan", "ttl lock", "zrangebyscore"), p.Background)
	p.Background, p.Every = nil, time.Second
	watchBackground(f.Bench, commands, f.After(8), f.After(90))
	assert.Equal(t, Shapes("scan", "zrangebyscore"), p.Background, "a renewal may read the lock first")
}

// A release by the value of another order of its instance, which has not written yet, is sent by the order that owes
// one.
func TestReleaseBySharedValue(t *testing.T) {
	f := Begin()
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.Order("bert", shop.AtA, history.Sold, 20, 200)
	berts := f.Command(60, history.EffectReleased, "eval", "script", "1", LockKey, "a token of Bert's")
	again := f.Command(150, history.EffectNothing, "eval", "script", "1", LockKey, "a token of Bert's")
	take := f.Command(50, history.EffectAcquired, "set", LockKey, "a token of Bert's", "nx", "px", "2000")
	sent := func(more ...Observation) map[*shop.Order][]Observation {
		record := map[*shop.Order][]Observation{}
		f.attribute(shop.AtA, append([]Observation{f.Acquire(10), f.Write(15), take, berts}, more...), record)
		return record
	}
	record := sent(f.Read(100), f.Leave(110, 8), again)
	assert.Len(t, record[anna], 3, "it released Bert's lock")
	assert.Len(t, record[bert], 4)
	assert.Len(t, sent()[bert], 2, "it wrote nothing: it may have been sold out")
	f.Passport.Early = true
	assert.Len(t, sent(f.Read(100), f.Leave(110, 8), again)[bert], 5, "it releases first")
}

// While another order of its instance waits, writes of the stock and releases are the holder's: a client may retry a
// write.
func TestHolderAttribution(t *testing.T) {
	f := Begin()
	f.Passport.Name = true
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90)
	bert := f.Order("bert", shop.AtA, history.Sold, 20, 200)
	anna.Over = anna.Ended
	record := map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{
		f.Acquire(10), f.Tried(30), f.Write(40), f.Write(50), f.Release(60), f.Acquire(100), f.Write(110), f.Release(120),
	}, record)
	assert.Len(t, record[anna], 4)
	assert.Len(t, record[bert], 4)
}

// Two orders that poll at one instance take a unit each: the one that was answered first had acquired the lock first,
// and reads of the stock are the holder's.
func TestAttributionToPollingOrders(t *testing.T) {
	f := Begin()
	clara := f.Order("clara", shop.AtA, history.Sold, 0, 90)
	bert := f.Order("bert", shop.AtA, history.Sold, 20, 200)
	clara.Over, bert.Over = clara.Ended, bert.Ended
	record := map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{f.Acquire(40), f.Tried(45), f.Read(50), f.Write(60), f.Release(70), f.Acquire(100),
		f.Read(110), f.Write(120), f.Release(130)}, record)
	assert.Len(t, record[clara], 4)
	assert.Len(t, record[bert], 5, "the poll is not the holder's")
	clara.Over, bert.Over = clara.Over.Add(200*time.Millisecond), clara.Over
	record = map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{f.Acquire(40), f.Write(60), f.Release(70), f.Acquire(100), f.Write(110)}, record)
	assert.Len(t, record[bert], 3, "which was answered first")
	assert.Len(t, record[clara], 2)
}

// An order that acquires the lock while the other one at its instance is held is the holder afterwards.
func TestHolderAttributionWhileAnotherIsHeld(t *testing.T) {
	f := Begin()
	f.Passport.Name = true
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 300, f.Acquire(10))
	anna.Over, anna.Blocked = anna.Ended, shop.Span{From: f.After(30), To: f.After(90)}
	bert := f.Order("bert", shop.AtA, history.Sold, 40, 200)
	record := map[*shop.Order][]Observation{}
	f.attribute(shop.AtA, []Observation{f.Acquire(10), f.Acquire(50), f.Write(100), f.Release(110)}, record)
	assert.Len(t, record[anna], 1)
	assert.Len(t, record[bert], 3)
}

// Which order sold is unknown if one of several wrote the stock, and no unit is missing.
func TestUnattributedWritesLeaveOutcomesUnknown(t *testing.T) {
	f := Begin()
	anna := f.Order("anna", shop.AtA, history.Unknown, 0, 0, f.Tried(10))
	anna.Left = true
	f.Order("bert", shop.AtA, history.Sold, 100, 190)
	f.Record[nil] = []Observation{f.Acquire(110), f.Write(130), f.Del(140)}
	c := &history.Cell{}
	f.addOps(c, f.Record, nil, true, f.After(60000))
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
	f := Begin()
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		f.Order(name, shop.AtA, history.Sold, 0, 100)
	}
	units := f.unitsOfCrowd([]Written{f.Wrote(10, 0, 10, 7, false)})
	assert.Equal(t, map[*shop.Order][]int64{f.Orders[0]: {8}, f.Orders[1]: {9}, f.Orders[2]: {10}}, units)
}

// A write that takes more units than there are orders counts as one, however large the numbers.
func TestCrowdWriteOfTooManyUnitsIsOne(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, w := range [][2]int64{{most, 7}, {most, least}, {10, -10}, {most, most - 2}} {
		f := Begin()
		sold := f.Order("a-1", shop.AtA, history.Sold, 0, 100)
		units := f.unitsOfCrowd([]Written{f.Wrote(10, 0, w[0], w[1], false)})
		assert.Equal(t, map[*shop.Order][]int64{sold: {w[1] + 1}}, units, w)
	}
	f := Begin()
	sold := f.Order("a-1", shop.AtA, history.Sold, 0, 100)
	assert.Equal(t, map[*shop.Order][]int64{sold: {most}}, f.unitsOfCrowd([]Written{f.Wrote(10, 0, most, most-1, false)}))
}

// A script may be sent with any number as that of its keys.
func TestValuesOfScript(t *testing.T) {
	for keys, want := range map[string][]string{"1": {"v"}, "9223372036854775807": {}, "-1": {"k", "v"}, "x": {"k", "v"}} {
		c := &Observation{Seen: wire.Seen{Args: []string{"EVAL", "return 1", keys, "k", "v"}}}
		assert.Equal(t, want, c.values(), keys)
	}
}

// If the lock is a counter, a decrement by a waiter undoes its failed increment, whatever the result, and one by the
// holder releases the lock. Reads by the holder are no tries.
func TestStepsOfCounter(t *testing.T) {
	f := Begin()
	step := func(ms int, effect history.Effect, verb string) Observation {
		c := f.Command(ms, effect, verb, LockKey)
		c.Stepped = true
		return c
	}
	incr, decr := step(20, history.EffectTried, "incr"), step(30, history.EffectReleased, "decr")
	last := f.Command(40, history.EffectReleased, "decr", LockKey) // to zero, as the holder has gone
	look := f.Command(50, history.EffectTried, "get", LockKey)
	const nothing = history.EffectNothing
	for _, one := range []struct {
		what     string
		commands []Observation
		want     []history.Effect
	}{
		{"a waiter steps back", []Observation{incr, decr}, []history.Effect{history.EffectTried, nothing}},
		{"a waiter steps back to zero", []Observation{incr, last}, []history.Effect{history.EffectTried, nothing}},
		{"the holder steps back beside a waiter", []Observation{f.Acquire(10), decr},
			[]history.Effect{history.EffectAcquired, history.EffectReleased}},
		{"a waiter acquires the lock", []Observation{incr, decr, f.Acquire(35), last},
			[]history.Effect{history.EffectTried, nothing, history.EffectAcquired, history.EffectReleased}},
		{"a waiter reads", []Observation{look}, []history.Effect{history.EffectTried}},
		{"the holder reads", []Observation{f.Acquire(10), look}, []history.Effect{history.EffectAcquired, nothing}},
		{"an order reads after its write", []Observation{f.Write(10), look}, []history.Effect{history.EffectWrote, nothing}},
	} {
		assert.Equal(t, one.want, resolved(one.commands), one.what)
	}
}

// resolved returns the first effect of each command once they are resolved.
func resolved(commands []Observation) (effects []history.Effect) {
	copies := slices.Clone(commands)
	for i := range copies {
		copies[i].Effects = slices.Clone(copies[i].Effects)
	}
	resolve(copies)
	for _, c := range copies {
		effects = append(effects, c.Effects[0].Effect)
	}
	return effects
}

// An order that waits for a held reply sends nothing until that arrives.
func TestHeldOrdersAreBlocked(t *testing.T) {
	f := Begin()
	anna, bert := f.Order("anna", shop.AtA, history.Unknown, 0, 0), f.Order("bert", shop.AtA, history.Unknown, 0, 0)
	held := []*rig.Held{{Trap: &rig.CommandTrap{}, Order: anna.InFlight, Reply: true},
		{Trap: &rig.CommandTrap{}, Order: bert.InFlight}}
	block(f.Bench, held, f.After(10))
	block(f.Bench, held, f.After(20))
	assert.True(t, anna.Blocked.Has(f.After(15)))
	assert.False(t, anna.Blocked.Has(f.After(5)))
	assert.Zero(t, bert.Blocked, "its command waits, and it may send another")
}

// While the others at an instance wait for a held reply, only one order can send commands, whatever value they name.
func TestOnlyFreeOrder(t *testing.T) {
	f := Begin()
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90, f.Acquire(10), f.Write(30))
	bert := f.Order("bert", shop.AtA, history.Sold, 40, 200)
	bert.Blocked = shop.Span{From: f.After(50), To: f.After(80)}
	assert.Nil(t, f.onlyFree(shop.AtA, f.After(45)), "both may have sent it")
	assert.Same(t, anna, f.onlyFree(shop.AtA, f.After(60)))
	assert.Nil(t, f.onlyFree(shop.AtB, f.After(60)))
	assert.Nil(t, f.onlyFree(shop.AtA, f.After(85)))
}

// The end of a lock is noted in the trace of the order that held it then, whatever its record shows of the time after.
func TestEndsBelongToHolders(t *testing.T) {
	f := Begin()
	inFlight := f.Acquire(60)
	inFlight.Effects[0].At = history.At(f.Cell.Start, f.After(49))
	f.Order("anna", shop.AtA, history.Sold, 0, 200, f.Acquire(10), f.Write(70))
	f.Order("bert", shop.AtB, history.Sold, 20, 200, f.Tried(30), inFlight, f.Write(80), f.Release(150))
	f.Order("clara", shop.AtB, history.Sold, 20, 200, f.Acquire(120))
	for _, end := range []struct {
		ms  int
		why string
	}{{5, "before"}, {50, history.LockRemoved}, {55, "in between"}, {100, history.LeaseOver}, {110, "again"},
		{119, history.LocksLost}} {
		f.NoteEnds(f.After(end.ms), end.why)
	}
	f.addOps(f.Cell, f.Record, nil, true, f.After(200))
	f.assignEnds(f.Cell)
	var notes []string
	for _, op := range f.Cell.Ops {
		for _, c := range op.Trace {
			if c.Ended() {
				notes = append(notes, op.Order+": "+c.Reply)
				assert.Equal(t, LockKey, c.Key)
				assert.Equal(t, history.Looked, c.Source)
			}
		}
	}
	assert.Equal(t, []string{"10000-anna: removed", "10000-bert: lease over"}, notes)
}
