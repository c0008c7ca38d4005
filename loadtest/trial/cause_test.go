package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// An order's own commands show what is wrong with it, whatever came of it.
func TestDefectsThatAnOrdersCommandsShow(t *testing.T) {
	for want, forged := range map[string]func(f *forgery){
		"it released what it had not taken: Anna's del removed lock:10000": func(f *forgery) {
			f.order("anna", atA, history.Busy, 0, 90, f.tried(10), f.tried(60), f.del(80))
		},
		"written after the release: Anna's set of the stock came 5ms after it had released the lock": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, f.acquire(10), f.read(20), f.release(25), f.write(30))
		},
		"sold though the lock was another's: Anna wrote the stock 20ms after it had found the lock taken": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, f.tried(10), f.read(20), f.write(30))
		},
		"a renewal made the key again: Anna's eval made lock:10000, which had gone, 600ms after its acquire": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Sold, 0, 900, f.acquire(10), f.read(20), f.renewal(610, history.EffectAcquired),
				f.write(700), f.release(800))
		},
		"a renewal took another's lock: Anna's eval, 600ms after its acquire, took lock:10000 from Bert": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 900, f.acquire(10), f.read(20), f.renewal(610, history.EffectAcquired),
				f.write(700), f.release(800))
			f.order("bert", atB, history.Sold, 100, 900, f.acquire(300), f.write(850))
		},
		"nobody wakes a waiter: Anna got no unit in 4.47s after the lock had been given back, though nobody had it": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Busy, 0, 5000, f.tried(10), f.tried(20))
			f.order("bert", atB, history.Sold, 0, 600, f.acquire(5), f.read(20), f.write(30), f.release(530))
		},
		// The margin alone is the waiter's, and not a lease besides.
		"nobody wakes a waiter: Anna got no unit in 2.07s after the lock had been given back, though nobody had it": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Busy, 0, 2600, f.tried(10), f.tried(20))
			f.order("bert", atB, history.Sold, 0, 600, f.acquire(5), f.read(20), f.write(30), f.release(530))
		},
		// Bert's lease is over when the renewal comes: Anna takes nothing from him.
		"a renewal made the key again: Anna's eval made lock:10000, which had gone, 2.4s after its acquire": func(
			f *forgery,
		) {
			f.order("anna", atA, history.Sold, 0, 2900, f.acquire(10), f.read(20), f.renewal(2410, history.EffectAcquired),
				f.write(2700), f.release(2800))
			f.order("bert", atB, history.Unknown, 100, 0, f.acquire(300))
		},
		// What comes of an order that is right, whatever happens to it.
		"": func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 90, f.acquire(10), f.read(20), f.write(30), f.release(40))
			f.order("bert", atB, history.Sold, 5, 200, f.tried(15), f.acquire(60), f.read(70), f.write(80), f.release(90))
			f.order("clara", atA, history.Busy, 100, 300, f.tried(110), f.tried(210))
			f.order("dora", atA, history.Busy, 310, 400, without(f.acquire(320)), f.release(350))
			f.order("emil", atB, history.Sold, 410, 900, f.acquire(420), f.renewal(500, history.EffectRenewed), f.write(600),
				f.release(700))
			f.order("fritz", atB, history.Sold, 910, 990, f.acquire(920), f.release(930), f.acquire(940), f.write(950),
				f.release(960))
			f.order("gustav", atA, history.Busy, 1000, 7000, f.tried(1010)) // somebody has the lock
			f.order("heinz", atB, history.Sold, 1000, 6500, f.acquire(1005), f.leave(6010, 8), f.release(6020))
			// It has sold, and asks for a long time whether it has released the lock.
			f.order("heike", atA, history.Unknown, 6600, 8900, f.acquire(6610), f.leave(6620, 7), f.release(6630))
			// It sends its write and its release at once, and the trial holds the write.
			late := f.leave(6650, 6)
			late.Conn, late.Sent = 1, f.after(6700)
			free := f.release(6651)
			free.Conn = 1
			f.order("karl", atB, history.Sold, 6640, 6710, f.acquire(6645), free, late)
			// The lease ends while it works, somebody else sells, and the stock refuses its write.
			f.order("ida", atA, history.Busy, 9000, 19000, f.acquire(9010), f.command(18000, history.EffectRefused, "eval"))
			f.order("jan", atB, history.Sold, 9100, 12000, f.acquire(11500), f.leave(11600, 7), f.release(11700))
			// A renewal finds its lock gone, and the order is told no when it has done its work: it waited for nothing.
			f.order("kurt", atA, history.Busy, 20000, 27000, f.acquire(20010), f.read(20020),
				f.renewal(22500, history.EffectTried))
			f.order("lena", atB, history.Sold, 20000, 24000, f.acquire(22100), f.leave(22200, 6), f.release(22300))
		},
	} {
		f := forge()
		forged(f)
		if seen := f.seen(f.record); want == "" {
			assert.Nil(t, seen)
		} else if assert.NotNil(t, seen, want) {
			assert.Equal(t, want, seen.String())
		}
	}
}

// The cause of what a verdict found is one of a closed list. What breaks by design has none.
func TestCausesOfBrokenCells(t *testing.T) {
	// Bert sells Anna's unit when her lease has ended. Then come these commands of hers.
	overlap := func(f *forgery, then ...observation) {
		annas := append([]observation{f.acquire(10), f.read(20), f.write(2100)}, then...)
		f.order("anna", atA, history.Sold, 0, 3000, annas...)
		f.order("bert", atB, history.Sold, 50, 2600, f.tried(100), f.acquire(2050), f.read(2060), f.write(2070),
			f.release(2500))
	}
	stuck := func(f *forgery, annas ...observation) {
		f.order("anna", atA, history.Unknown, 0, 0, append([]observation{f.acquire(10)}, annas...)...)
		f.order("bert", atB, history.Busy, 900, 9000, f.tried(1010), f.tried(8000)).phase = history.Probe
	}
	none := func(f *forgery) {
		f.order("anna", atA, history.Sold, 0, 60, f.read(20), f.write(50))
		f.order("bert", atB, history.Sold, 0, 60, f.read(21), f.write(49))
	}
	for _, one := range []struct {
		fault, letters, defect, design string
		forged                         func(*forgery)
	}{
		{"pause", "SE", "", because["v4"], func(f *forgery) { overlap(f) }},
		{"pause", "SE", "", because["v5.5"], func(f *forgery) {
			f.passport.Every = 600 * time.Millisecond
			overlap(f)
		}},
		{"late", "E", "", because["v15"], func(f *forgery) {
			f.passport.Fence = true
			f.order("anna", atA, history.Sold, 0, 3000, f.acquire(10), f.read(20), f.leave(2100, 8))
			f.order("bert", atB, history.Sold, 50, 2600, f.acquire(2050), f.read(2060), f.write(2070), f.release(2500))
		}},
		{"key-removed 1", "E", "", because["v15"], func(f *forgery) { // the write looks for its lock
			write := f.command(600, history.EffectNothing, "eval", "write", "2", lockKey, stockKey)
			f.passport.writes[f.shape(&write.Seen)] = true
			f.order("anna", atA, history.Busy, 0, 700, f.acquire(10), f.read(20), write)
			f.order("bert", atB, history.Sold, 50, 590, f.acquire(100), f.read(120), f.write(200), f.release(300))
		}},
		// Nobody else may have the lock within the lease, whatever the fault.
		{"pause", "SE", "of unknown cause", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 600, f.acquire(10), f.read(20), f.write(500))
			f.order("bert", atB, history.Sold, 50, 590, f.acquire(100), f.read(120), f.write(200))
		}},
		{"crash 2", "SE", "of unknown cause", "", func(f *forgery) { overlap(f) }},
		{"pause", "SER", "it does not look at the value, as v2; v4 fixes it", "", func(f *forgery) {
			overlap(f, f.del(2300))
		}},
		{"pause", "SER", "it looks and deletes in two commands, as v3; v4 fixes it", "", func(f *forgery) {
			overlap(f, f.command(2250, history.EffectNothing, "get", lockKey), f.del(2300))
		}},
		{"pause", "SER", "it does not compare the whole value", "", func(f *forgery) { overlap(f, f.release(2300)) }},
		{"crash 1", "L", "no TTL, as v1", "", func(f *forgery) {
			f.passport.TTL = 0
			stuck(f)
		}},
		{"crash 1", "L", "the lock and its TTL are two commands, as v1.5", "", func(f *forgery) {
			f.passport.TTLLater = true
			stuck(f)
		}},
		{"request-lost 4", "L", "still renewed after the order", "", func(f *forgery) {
			stuck(f, f.renewal(700, history.EffectRenewed), f.renewal(1400, history.EffectRenewed))
			f.orders[0].ended, f.orders[0].outcome = f.after(600), history.Busy
		}},
		{"crash 1", "L", "who waits prolongs the lock of whoever has it", "", func(f *forgery) {
			f.passport.Kind = "string"
			f.order("anna", atA, history.Unknown, 0, 0, f.acquire(10))
			f.order("bert", atB, history.Busy, 900, 9000, f.tried(1010),
				f.command(1020, history.EffectRenewed, "expire", lockKey), f.tried(8000)).phase = history.Probe
		}},
		{"crash 3", "L", "whoever dies while it waits keeps its place in the line", "", func(f *forgery) {
			f.order("anna", atA, history.Unknown, 0, 0, f.tried(10))
			f.order("bert", atB, history.Unknown, 900, 0, f.tried(1010), f.tried(8000)).phase = history.Probe
			f.faults = []history.Fault{{Instance: f.sites[atA].Name, Kind: history.FaultKill,
				Text: "killed", At: history.At(f.begun, f.after(20))}}
		}},
		{"late-release 2", "ER", "the value is the instance's, and its orders remove each other's lock", "", func(
			f *forgery,
		) {
			f.passport.Name = true
			f.order("anna", atA, history.Sold, 0, 3000, f.acquire(10), f.read(20), f.write(30), f.release(2200))
			f.order("bert", atA, history.Sold, 50, 2600, f.acquire(2100), f.read(2110), f.leave(2300, 8))
		}},
		{"two-instances", "SE", "it reads the stock before it has the lock", "", func(f *forgery) {
			has := func(e history.Effect) step {
				return step{effects: []history.Command{{Source: history.Looked, Effect: e}}}
			}
			f.passport.steps = []step{has(history.EffectRead), has(history.EffectAcquired), has(history.EffectWrote)}
			none(f)
		}},
		{"key-removed 1", "SE", "the stock hears of a new number only with its write, too late for what was read before; " +
			"show it with the read", "", func(f *forgery) {
			f.passport.Fence = true
			none(f)
		}},
		{"two-instances", "SE", "it looks for the lock and takes it in two commands, SET without NX", "", func(f *forgery) {
			f.passport.acquire = []string{"SET", lockKey, "token", "PX", "2000"}
			none(f)
		}},
		{"two-instances", "SE", "the lease ends within a plain sale", "", func(f *forgery) {
			f.passport.TTL, f.passport.takes = time.Millisecond, 5*time.Millisecond
			none(f)
		}},
		{"busy", "R", "it released what it had not taken", "", func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 900, f.acquire(10), f.read(20), f.write(800), f.release(850))
			f.order("bert", atB, history.Busy, 50, 600, f.tried(100), f.del(500))
		}},
		{"crash 1", "L", "of unknown cause", "", func(f *forgery) { stuck(f) }},
		{"two-instances", "S", "each order has a key of its own", "", func(f *forgery) {
			f.passport.Apart, f.passport.Locks = "order", nil
			none(f)
		}},
		{"two-instances", "S", "each instance has a key of its own", "", func(f *forgery) {
			f.passport.Apart, f.passport.Locks = "instance", nil
			none(f)
		}},
		{"two-instances", "S", "no lock: it reads the stock and writes it in two steps, as v0", "", func(f *forgery) {
			f.passport.Locks = nil
			none(f)
		}},
		{"reply-lost 3", "S", "the write was sent again", "", func(f *forgery) {
			decr := func(ms int) observation { return f.command(ms, history.EffectWrote, "decr", stockKey) }
			f.order("anna", atA, history.Sold, 0, 90, f.acquire(10), decr(20), decr(40), f.release(60))
		}},
	} {
		f := forge()
		one.forged(f)
		c := f.judge(one.fault)
		assert.Equal(t, one.letters, broken(c), "%s: %s %v", one.fault, one.defect, c.Findings)
		if one.defect == "" {
			assert.Nil(t, c.Defect)
		} else if assert.NotNil(t, c.Defect, one.defect) {
			assert.Equal(t, one.defect, c.Defect.Cause)
			assert.NotEmpty(t, c.Defect.Shown, "a defect has something that shows it")
		}
		assert.Equal(t, one.design, c.Design)
	}
}

// A machine that stood still voids a verdict. What the commands show in spite of that is a defect all the same: a lock
// that stands, or a waiter that sleeps, for longer than the machine explains.
func TestDefectsOnABusyMachine(t *testing.T) {
	const aBit, long = 200 * time.Millisecond, 1100 * time.Millisecond
	// Anna's instance is killed when she has the lock. A fresh order asks for it at these moments, in vain.
	dead := func(f *forgery, moments ...int) *order {
		f.order("anna", atA, history.Unknown, 0, 0, f.acquire(10))
		f.killed(20)
		var tries []observation
		for _, ms := range moments {
			tries = append(tries, f.tried(ms))
		}
		fresh := f.order("fresh-b-1", atB, history.Unknown, 900, 0, tries...)
		fresh.phase = history.Probe
		f.hungUp(5400, fresh)
		return fresh
	}
	asleep := func(f *forgery, moments ...int) *order {
		f.passport.messages = true
		return dead(f, moments...)
	}
	for _, one := range []struct {
		what, defect string
		stalled      time.Duration
		forged       func(*forgery)
	}{
		{"a key stands though its order has died", "the lock and its TTL are two commands, as v1.5", aBit,
			func(f *forgery) {
				f.passport.TTLLater = true
				dead(f, 1010, 4300)
			}},
		{"a key may have stood while the machine did", "", long, func(f *forgery) {
			f.passport.TTLLater = true
			dead(f, 1010, 4300)
		}},
		{"a key is renewed though its order was answered", "still renewed after the order", aBit, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, f.acquire(10), f.read(20), f.write(30),
				f.renewal(1400, history.EffectRenewed), f.renewal(2800, history.EffectRenewed),
				f.renewal(4290, history.EffectRenewed))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, f.tried(1010)).phase = history.Probe
		}},
		{"a waiter prolongs the lock of a dead order", "who waits prolongs the lock of whoever has it", aBit,
			func(f *forgery) {
				f.passport.Kind = "string"
				fresh := dead(f, 1010)
				f.record[fresh] = append(f.record[fresh], f.command(4300, history.EffectRenewed, "expire", lockKey))
			}},
		{"a waiter sleeps beyond the end of a lease",
			"waiters wait for a message that a dead holder never sends, and do not look at the TTL", aBit,
			func(f *forgery) { asleep(f, 1010) }},
		{"a waiter asks again", "", aBit, func(f *forgery) { asleep(f, 1010, 2100) }},
		{"a waiter may have slept while the machine stood", "", long, func(f *forgery) { f.hungUp(4900, asleep(f, 1010)) }},
		{"a waiter sleeps, and another has the lock", "", aBit, func(f *forgery) {
			asleep(f, 1010)
			f.order("bert", atB, history.Unknown, 900, 0, f.acquire(4000))
		}},
		{"a fresh order sells in the end", "", long, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, f.acquire(10), f.read(20), f.write(30),
				f.renewal(5300, history.EffectRenewed))
			f.order("bert", atB, history.Sold, 0, 60, f.acquire(15), f.read(20), f.write(40))
			f.order("fresh-b-1", atB, history.Sold, 900, 5600, f.tried(5400), f.acquire(5500), f.leave(5510, 8)).phase =
				history.Probe
		}},
		{"whoever released has the lock no more", "", aBit, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, f.acquire(10), f.read(20), f.write(30), f.release(40))
			f.order("bert", atB, history.Unknown, 100, 0, f.acquire(1000))
			f.order("fresh-b-1", atB, history.Unknown, 900, 0, f.tried(1010), f.tried(5300)).phase = history.Probe
		}},
		{"a waiter may have been told no when the machine went on", "", long, func(f *forgery) {
			f.order("anna", atA, history.Sold, 0, 60, f.acquire(10), f.read(20), f.write(30), f.release(40))
			f.order("bert", atB, history.Sold, 0, 60, f.acquire(15), f.read(20), f.write(40), f.release(50))
			f.order("clara", atA, history.Busy, 70, 3130, f.tried(80))
		}},
		{"an order's own commands show it", "written after the release", long, func(f *forgery) {
			dead(f, 1010)
			f.order("clara", atB, history.Sold, 0, 90, f.acquire(10), f.read(20), f.release(25), f.write(30))
		}},
		{"a renewal may have come to the Redis when the other's lock was over", "a renewal made the key again", long,
			func(f *forgery) {
				dead(f, 1010)
				f.order("clara", atB, history.Sold, 0, 2900, f.acquire(10), f.read(20),
					f.renewal(1900, history.EffectAcquired), f.write(2700), f.release(2800))
			}},
	} {
		f := forge()
		f.stalled = one.stalled
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

// A right order is accused of nothing.
func TestNoCauseWithoutADefect(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Sold, 0, 90, f.acquire(10), f.read(20), f.write(30), f.release(40))
	f.order("bert", atB, history.Sold, 5, 200, f.tried(15), f.acquire(60), f.read(70), f.leave(80, 8), f.release(90))
	c := f.judge("pause")
	assert.Empty(t, broken(c))
	assert.Nil(t, c.Defect)
	assert.Empty(t, c.Design)
	assert.Empty(t, c.Remarks)
}

// Remarks are worth knowing, and break nothing.
func TestRemarks(t *testing.T) {
	f := forge()
	f.order("anna", atA, history.Busy, 0, 90, without(f.acquire(10)))
	f.order("bert", atB, history.Sold, 5, 9000, f.tried(15), f.acquire(3000), f.read(3010), f.write(3020), f.release(3030))
	f.order("clara", atA, history.Sold, 3005, 9000, f.tried(3006), f.acquire(5000), f.leave(5010, 8), f.release(5020))
	c := f.judge("reply-lost 1")
	assert.Nil(t, c.Defect)
	assert.Equal(t, []string{
		"the lock stayed until its TTL though its order was told no: nobody undoes an acquire without a reply",
		"Clara slept on for 1.97s though the lock was free",
	}, c.Remarks)
	f = forge()
	f.passport.Kind = "string"
	f.order("anna", atA, history.Sold, 0, 3000, f.acquire(10), f.read(20), f.write(30), f.release(40))
	f.order("bert", atB, history.Busy, 15, 90, f.tried(16), f.command(20, history.EffectRenewed, "pexpire", lockKey))
	f.order("clara", atA, history.Busy, 100, 190, f.acquire(110)) // its key is removed, and Dora prolongs her own
	f.order("dora", atB, history.Busy, 120, 190, f.acquire(130), f.command(140, history.EffectRenewed, "pexpire", lockKey),
		f.release(150))
	assert.Equal(t, []string{"Bert's pexpire prolonged the lock of Anna: it does not look at the value"},
		f.judge("two-instances").Remarks)
	f = forge() // the instance renews Anna's lock while Bert waits there
	f.passport.Kind, f.passport.Token, f.passport.Name = "string", false, true
	f.order("anna", atA, history.Sold, 0, 3000, f.acquire(10), f.read(20), f.write(30), f.release(2500))
	f.order("bert", atA, history.Busy, 100, 2000, f.tried(110), f.renewal(700, history.EffectRenewed))
	assert.Empty(t, f.judge("late-release").Remarks)
	f = forge()
	f.order("anna", atA, history.Sold, 0, 3000, without(f.acquire(10)), f.tried(20), f.tried(1900), f.acquire(2020),
		f.read(2030), f.write(2040), f.release(2050))
	f.order("bert", atB, history.Sold, 3100, 3200, without(f.acquire(3110)), f.acquire(3120), f.leave(3130, 8),
		f.release(3140))
	assert.Equal(t, []string{"a lock that nobody had stood for its lease: an acquire that is sent again meets its own " +
		"key, and waits for itself"}, f.judge("reply-lost 1").Remarks)
}

// Waiters are woken if something came between each try and the next one.
func TestWakersOfWaiters(t *testing.T) {
	f := forge()
	at := func(ms ...int) (all []time.Time) {
		for _, one := range ms {
			all = append(all, f.after(one))
		}
		return all
	}
	assert.True(t, wokenBetween(at(0, 1000, 2000), at(990, 1990)))
	assert.False(t, wokenBetween(at(0, 50, 100, 150), at(120)), "they poll")
	assert.False(t, wokenBetween(at(0), at(10)))
}
