package trial

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// The writes as the Redis got them decide what was sold, whatever the answers say.
func TestUnitsAreThoseThatWereTaken(t *testing.T) {
	for _, one := range []struct {
		what   string
		writes func(*forgery) []written
		want   []int64
	}{
		{"one write", func(f *forgery) []written { return []written{f.wrote(10, 0, 10, 9, false)} }, []int64{10}},
		{"a SET that was sent again is one", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, false), f.wrote(10, 0, 9, 9, false)}
		}, []int64{10}},
		{"a DECR that was sent again is two", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 8, true)}
		}, []int64{10, 9}},
		{"an INCR takes back what was taken", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 10, true)}
		}, nil},
		{"an INCR takes back one of two", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, true), f.wrote(10, 0, 9, 8, true), f.wrote(10, 0, 8, 9, true)}
		}, []int64{10}},
		{"an INCR takes back nothing that was not taken", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 9, 10, true)}
		}, nil},
		{"a SET of more puts the unit back", func(f *forgery) []written {
			return []written{f.wrote(10, 0, 10, 9, false), f.wrote(10, 0, 9, 10, false)}
		}, nil},
		{"the unit below zero is none that there was", func(f *forgery) []written {
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
		anna := f.order("anna", atA, history.Sold, 0, 40, f.acquire(1), f.read(5), f.write(10), f.release(20))
		assert.Equal(t, one.want, append([]int64(nil), f.unitsOf(one.writes(f), f.record)[anna]...), one.what)
	}
}

// Two orders that wrote the same number have sold the same unit.
func TestTwoOrdersSellOneUnit(t *testing.T) {
	f := forge()
	anna := f.order("anna", atA, history.Sold, 0, 90, f.read(5), f.write(80))
	bert := f.order("bert", atB, history.Sold, 10, 60, f.read(20), f.write(50))
	units := f.unitsOf([]written{f.wrote(50, 1, 10, 9, false), f.wrote(80, 0, 9, 9, false)}, f.record)
	assert.Equal(t, []int64{10}, units[anna])
	assert.Equal(t, []int64{10}, units[bert])
}

// In a crowd nobody knows whose a write was. It belongs to one that sold rather than to one of which nobody knows, to
// that which was answered first, and never to one that was not open.
func TestACrowdsWritesBelongToThoseThatWereOpen(t *testing.T) {
	f := forge()
	over := f.order("a-0", atA, history.Sold, 0, 5)
	early := f.order("a-1", atA, history.Sold, 0, 20)
	unknown := f.order("a-2", atA, history.Unknown, 0, 0)
	refused := f.order("a-3", atA, history.Busy, 0, 100)
	sold := f.order("a-4", atA, history.Sold, 0, 100)
	elsewhere := f.order("b-1", atB, history.Sold, 0, 100)
	units := f.unitsOfCrowd([]written{
		f.wrote(10, 0, 10, 9, true), f.wrote(50, 0, 9, 8, true), f.wrote(60, 0, 8, 7, true), f.wrote(70, 0, 7, 6, true),
	})
	assert.Equal(t, map[*order][]int64{early: {10}, sold: {9}, unknown: {8}}, units)
	assert.Empty(t, units[over])
	assert.Empty(t, units[refused])
	assert.Empty(t, units[elsewhere])
}

// What an order of a crowd puts back is what was taken last.
func TestACrowdPutsBack(t *testing.T) {
	f := forge()
	sold := f.order("a-1", atA, history.Sold, 0, 100)
	writes := []written{f.wrote(10, 0, 1, 0, true), f.wrote(20, 0, 0, -1, true), f.wrote(30, 0, -1, 0, true)}
	units := f.unitsOfCrowd(writes)
	assert.Equal(t, map[*order][]int64{sold: {1}}, units)
}

// A claim runs from the last acquire that was delivered before the order's write, or its read, to the first release
// that came after it.
func TestAClaim(t *testing.T) {
	for _, one := range []struct {
		what     string
		outcome  history.Outcome
		commands func(*forgery) []observation
		from, to int // in ms; 0, 0: there is no claim
	}{
		{"begins when the reply is delivered", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.read(20), f.write(30), f.release(40)}
		}, 11, 40},
		{"begins with the last acquire", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.acquire(15), f.read(20), f.write(30), f.release(40)}
		}, 16, 40},
		{"begins with no acquire whose reply was lost", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), without(f.acquire(15)), f.read(20), f.write(30), f.release(40)}
		}, 11, 40},
		{"begins with no acquire whose reply came after the write", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), heardAt(35, f, f.acquire(25)), f.write(30), f.release(40)}
		}, 11, 40},
		{"begins with no acquire after the write", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30), f.acquire(50), f.release(60)}
		}, 11, 60},
		{"ends with the first release after the write", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30), f.release(40), f.release(50)}
		}, 11, 40},
		{"does not end with a release before the write", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.release(20), f.acquire(25), f.write(30), f.release(40)}
		}, 26, 40},
		{"ends with its write if nobody releases", history.Sold, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(30)}
		}, 11, 31},
		{"of one that only read goes on after the read", history.Busy, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.read(20), f.release(40)}
		}, 11, 40},
		{"of one that never came to the stock ends at once", history.Busy, func(f *forgery) []observation {
			return []observation{f.acquire(10)}
		}, 11, 11},
		{"of one that sold without a lock is its time at the stock", history.Sold, func(f *forgery) []observation {
			return []observation{f.tried(10), f.read(20), f.write(30)}
		}, 20, 31},
		{"there is none without a lock and a sale", history.Busy, func(f *forgery) []observation {
			return []observation{f.tried(10), f.tried(20)}
		}, 0, 0},
	} {
		f := forge()
		commands := one.commands(f)
		got := f.claim(f.order("anna", atA, one.outcome, 0, 100, commands...), commands)
		at := func(ms int) history.Instant { return history.At(f.begun, f.after(ms)) }
		switch {
		case one.from == 0:
			assert.Nil(t, got, one.what)
		case assert.NotNil(t, got, one.what):
			assert.Equal(t, history.Lease{AcquiredAt: at(one.from), ReleasedAt: at(one.to)}, *got, one.what)
		}
	}
}

// The claim of an order whose instance was killed ends there.
func TestTheClaimOfTheDeadEnds(t *testing.T) {
	f := forge()
	commands := []observation{f.acquire(10), f.read(20)}
	anna := f.order("anna", atA, history.Unknown, 0, 0, commands...)
	f.faults = []history.Fault{{Instance: "a", Kind: history.FaultKill, Text: "killed",
		At: history.At(f.begun, f.after(60))}}
	assert.Equal(t, history.At(f.begun, f.after(60)), f.claim(anna, commands).ReleasedAt)
}

// An order without an answer has not sold if nothing was written for it, as far as somebody looked.
func TestAnOrderWithoutAnAnswerIsTakenByItsWrites(t *testing.T) {
	f := forge()
	commands := []observation{f.acquire(10), f.read(20)}
	anna := f.order("anna", atA, history.Unknown, 0, 0, commands...)
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

// A command is that order's whose instance was open for it alone, or whose token it names. What an instance sends while
// it may still work for a customer who has left is nobody's: it is no claim, and shows no defect.
func TestWhoseACommandIs(t *testing.T) {
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
		{"a write after Anna's customer has left is nobody's", true, false, 100, func(f *forgery) []observation {
			return []observation{f.tried(10), f.acquire(110), f.write(130), f.del(140)}
		}, 1, 0, 3},
		{"a token tells whose a late release is", true, false, 100, func(f *forgery) []observation {
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
		{"a script's argument is", false, false, 100, func(f *forgery) []observation {
			return []observation{f.command(10, history.EffectAcquired, "eval", "take", "1", lockKey, "a token of its own"),
				f.release(140)}
		}, 2, 0, 0},
		{"an instance that has given the lock back works for nobody", true, false, 100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.release(60), f.acquire(110), f.write(130)}
		}, 2, 2, 0},
		{"a waiter that asks no more has gone, too", true, false, 2100, func(f *forgery) []observation {
			return []observation{f.tried(10), f.acquire(2110), f.write(2130)}
		}, 1, 2, 0},
		{"one that waits for a reply has not", true, false, 2100, func(f *forgery) []observation {
			return []observation{without(f.tried(10)), f.acquire(2110), f.write(2130)}
		}, 1, 0, 2},
		{"nor has one that has the lock", true, false, 2100, func(f *forgery) []observation {
			return []observation{f.acquire(10), f.write(2130)}
		}, 1, 0, 1},
	} {
		f := forge()
		f.passport.Name = one.named
		anna := f.order("anna", atA, history.Sold, 0, 90)
		bert := f.order("bert", atA, history.Sold, one.next, one.next+90)
		anna.over = anna.ended
		if one.left {
			anna.ended, anna.left, anna.outcome = time.Time{}, true, history.Unknown
		}
		record := map[*order][]observation{}
		f.attribute(atA, one.commands(f), record)
		assert.Equal(t, []int{one.anna, one.bert, one.nobody}, []int{len(record[anna]), len(record[bert]), len(record[nil])},
			one.what)
		assert.Empty(t, f.seen(record), one.what)
	}
}

// Commands that several orders may have sent are no defect's evidence: a lock is not known to be free that one of them
// took, nor to be held that one of them removed.
func TestNobodysCommandsShowNoDefect(t *testing.T) {
	for _, one := range []struct {
		forged func(*forgery)
		nobody func(*forgery) observation
	}{
		{func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 5000, f.tried(10), f.tried(20))
			f.order("bert", atB, history.Sold, 0, 600, f.acquire(5), f.read(20), f.write(30), f.release(530))
		}, func(f *forgery) observation { return f.acquire(600) }},
		{func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 900, f.acquire(10), f.read(20), f.renewal(610, history.EffectAcquired),
				f.write(700), f.release(800))
			f.passport.renewals = map[string]bool{}
			f.order("bert", atB, history.Sold, 100, 900, f.acquire(300), f.write(850))
		}, func(f *forgery) observation { return f.del(500) }},
	} {
		f := forge()
		one.forged(f)
		assert.NotEmpty(t, f.seen(f.record))
		f.record[nil] = []observation{one.nobody(f)}
		assert.Empty(t, f.seen(f.record))
	}
}

// Who has sold is not known if one of several orders wrote the stock, and no unit is missing.
func TestNobodysWritesLeaveTheStockOpen(t *testing.T) {
	f := forge()
	anna := f.order("anna", atA, history.Unknown, 0, 0, f.tried(10))
	anna.left = true
	f.order("bert", atA, history.Sold, 100, 190)
	f.record[nil] = []observation{f.acquire(110), f.write(130), f.del(140)}
	c := f.judge("hang-up 1")
	assert.Empty(t, broken(c), c.Findings)
	assert.Empty(t, c.Defect)
	assert.Equal(t, history.Indeterminate, c.Finding(history.Stock).Result)
}

// A shop is named by its own file, where the command line names one, and not by its interpreter.
func TestNameOfAShop(t *testing.T) {
	for want, argv := range map[string][]string{
		"shop.py":  {"/usr/bin/python3", "-u", inPython, "right"},
		"shop.js":  {"env", "NODE_PATH=testdata", "node", inNode},
		"shop":     {"/opt/shop", "--port={port}", "testdata"},
		"stockapi": {"stockapi"},
	} {
		assert.Equal(t, want, (&Trial{Options: Options{Argv: argv}}).name())
	}
}

// A write of a crowd may take a unit for each of several orders.
func TestACrowdsWriteMayTakeSeveralUnits(t *testing.T) {
	f := forge()
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		f.order(name, atA, history.Sold, 0, 100)
	}
	units := f.unitsOfCrowd([]written{f.wrote(10, 0, 10, 7, false)})
	assert.Equal(t, map[*order][]int64{f.orders[0]: {8}, f.orders[1]: {9}, f.orders[2]: {10}}, units)
}

// Of a counter, the step back of a waiter undoes its vain step, wherever the number is then, and that of the holder
// releases the lock. The holder's own looks are no tries.
func TestStepsOfACounter(t *testing.T) {
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
		{"a waiter gets the lock", []observation{incr, decr, f.acquire(35), last},
			[]history.Effect{history.EffectTried, nothing, history.EffectAcquired, history.EffectReleased}},
		{"a waiter looks", []observation{look}, []history.Effect{history.EffectTried}},
		{"the holder looks", []observation{f.acquire(10), look}, []history.Effect{history.EffectAcquired, nothing}},
		{"who has written looks", []observation{f.write(10), look}, []history.Effect{history.EffectWrote, nothing}},
	} {
		var commands []observation
		for _, c := range one.commands {
			c.effects = slices.Clone(c.effects)
			commands = append(commands, c)
		}
		resolve(commands)
		var got []history.Effect
		for _, c := range commands {
			got = append(got, c.effects[0].Effect)
		}
		assert.Equal(t, one.want, got, one.what)
	}
}

// While the others at its instance wait for a reply that is held, an order is the only one that sends anything,
// whatever value its commands name.
func TestTheOnlyFreeOrder(t *testing.T) {
	f := forge()
	anna := f.order("anna", atA, history.Sold, 0, 90, f.acquire(10), f.write(30))
	bert := f.order("bert", atA, history.Sold, 40, 200)
	bert.blocked = span{f.after(50), f.after(80)}
	assert.Nil(t, f.onlyFree(atA, f.after(45)), "both may have sent it")
	assert.Same(t, anna, f.onlyFree(atA, f.after(60)))
	assert.Nil(t, f.onlyFree(atB, f.after(60)))
	assert.Nil(t, f.onlyFree(atA, f.after(85)))
}
