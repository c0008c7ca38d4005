package learn

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
	const released = "released before the write"
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
		{released, steps{take, read, free, write}, "a script", "v4", 1, "", false, 0},
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
		assert.Equal(t, c.early, p.ReadsTwice, c.what)
		assert.Equal(t, c.what == released, p.Early, c.what)
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
	want := map[sale.Shape]string{forge.Shape("set lock"): "OK", forge.Shape("eval lock"): "",
		forge.Shape("incr lock"): "1"}
	assert.Equal(t, want,
		granted([][]sale.Step{of("OK", "token 1", "1"), of("OK", "token 2", "0"), of("OK", "token 3", "1")}))
}

// A sale by a program begins with its first attempt to acquire the lock: what comes before has no number, but may read
// the stock. The times of a sale are that until then, and from its acquire to its release.
func TestSalesByProgram(t *testing.T) {
	for _, one := range []struct {
		what        string
		program     string
		locks       bool
		ahead       int
		lead, under time.Duration
		early       bool
	}{
		{"a program", "buy {url}", true, 2, 100 * time.Millisecond, 30 * time.Millisecond, true},
		{"a request", "", true, 0, 100 * time.Millisecond, 30 * time.Millisecond, true},
		{"no lock", "buy {url}", false, 1, 50 * time.Millisecond, 0, false},
	} {
		f := forge.Begin()
		f.Pair.Shop.Order.Program = one.program
		commands := []record.Observation{f.Unseen(10, "set", "session:7", "x"), f.Read(50), f.Acquire(100),
			f.Write(120), f.Release(130), f.Del(400), f.Unseen(500, "del", "session:7")}
		if !one.locks {
			f.Passport.SetKeys(nil)
			commands = []record.Observation{commands[0], commands[1], commands[3]}
		}
		var sales []*plainSale
		for range 3 {
			sales = append(sales, &plainSale{sent: f.After(0), commands: commands, looker: &wire.Looker{}})
		}
		p := described(*f.Passport, sales, f.Pair.Shop)
		assert.Equal(t, one.ahead, p.Ahead, one.what)
		assert.Equal(t, one.lead, p.Lead, one.what)
		assert.Equal(t, one.under, p.UnderLock, one.what)
		assert.Equal(t, one.early, p.ReadsEarly, one.what)
		assert.Len(t, p.Numbered(), len(commands)-one.ahead, one.what)
		sale := p.Commands()
		assert.Zero(t, sale[max(0, one.ahead-1)].Number*min(one.ahead, 1), one.what)
		assert.Equal(t, 1, sale[one.ahead].Number, one.what)
	}
}
