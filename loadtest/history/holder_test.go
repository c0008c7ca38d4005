package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func in(n int) Instant { return Instant(n) * Instant(time.Millisecond) }

// carried returns a command that arrived at the proxy at millisecond n, and was replied to one later.
func carried(n int, e Effect) Command {
	c := Command{Cmd: "any", Key: "lock", Source: Looked, Effect: e, At: in(n), End: in(n + 1),
		Wire: &Carried{Came: in(n), Heard: in(n + 1)}}
	if e == EffectRead || e == EffectWrote {
		c.Key = "stock"
	}
	return c
}

func heard(n Instant, c Command) Command {
	c.Wire.Heard = n
	return c
}

// An order believes that it holds the lock from the reply to its last acquire before its write of the stock, or its
// read, to its first release after that.
func TestLeasesOfOrders(t *testing.T) {
	acquire := func(n int) Command { return carried(n, EffectAcquired) }
	read := func(n int) Command { return carried(n, EffectRead) }
	write := func(n int) Command { return carried(n, EffectWrote) }
	release := func(n int) Command { return carried(n, EffectReleased) }
	tried := func(n int) Command { return carried(n, EffectTried) }
	for _, one := range []struct {
		what     string
		outcome  Outcome
		trace    []Command
		from, to int // in ms; 0, 0: there is no lease
	}{
		{"begins when the reply is delivered", Sold, []Command{acquire(10), read(20), write(30), release(40)}, 11, 40},
		{"begins with the last acquire", Sold, []Command{acquire(10), acquire(15), read(20), write(30), release(40)}, 16, 40},
		{"does not begin with an acquire whose reply was lost", Sold,
			[]Command{acquire(10), heard(Never, acquire(15)), read(20), write(30), release(40)}, 11, 40},
		{"does not begin with an acquire whose reply came after the write", Sold,
			[]Command{acquire(10), heard(in(35), acquire(25)), write(30), release(40)}, 11, 40},
		{"does not begin with an acquire after the write", Sold,
			[]Command{acquire(10), write(30), acquire(50), release(60)}, 11, 60},
		{"ends with the first release after the write", Sold,
			[]Command{acquire(10), write(30), release(40), release(50)}, 11, 40},
		{"does not end with a release before the write", Sold,
			[]Command{acquire(10), release(20), acquire(25), write(30), release(40)}, 26, 40},
		{"ends with the write if there is no release", Sold, []Command{acquire(10), write(30)}, 11, 31},
		{"goes on to the end of a command that writes and releases", Sold,
			[]Command{acquire(10), read(20), write(30), release(30)}, 11, 31},
		{"of an order that only read goes on after the read", Busy, []Command{acquire(10), read(20), release(40)}, 11, 40},
		{"of an order that never accessed the stock ends at once", Busy, []Command{acquire(10)}, 11, 11},
		{"of a sale without a lock spans its commands on the stock", Sold, []Command{tried(10), read(20), write(30)}, 20, 31},
		{"begins with the acquire if only its reply arrived", Busy,
			[]Command{acquire(10), heard(Never, acquire(15))}, 11, 11},
		{"none without the reply", Busy, []Command{heard(Never, acquire(10))}, 0, 0},
		{"none without a lock and a sale", Busy, []Command{tried(10), tried(20)}, 0, 0},
	} {
		c := &Cell{Ops: []Op{{Instance: "a", Outcome: one.outcome, Trace: one.trace}}}
		got := TimelineOf(c, Terms{}).LeaseOf(0)
		switch {
		case one.from == 0:
			assert.Nil(t, got, one.what)
		case assert.NotNil(t, got, one.what):
			assert.Equal(t, Lease{AcquiredAt: in(one.from), ReleasedAt: in(one.to)}, *got, one.what)
		}
	}
	c := &Cell{Ops: []Op{{Instance: "a", Outcome: Unknown, Trace: []Command{acquire(10), read(20)}}},
		Faults: []Fault{{Instance: "a", Kind: FaultKill, At: in(60)}}}
	assert.Equal(t, in(60), TimelineOf(c, Terms{}).LeaseOf(0).ReleasedAt, "its instance was killed")
	for _, other := range []Fault{{Instance: "b", Kind: FaultKill, At: in(60)}, {Instance: "a", At: in(60)}} {
		c.Faults = []Fault{other}
		assert.Equal(t, in(21), TimelineOf(c, Terms{}).LeaseOf(0).ReleasedAt, "only its own, and only if it was killed")
	}

	c.Faults, c.Facts = nil, &Facts{Early: true}
	c.Ops[0].Trace = []Command{acquire(10), release(20), write(30)}
	assert.Equal(t, in(20), TimelineOf(c, Terms{}).LeaseOf(0).ReleasedAt, "plain sales release it before the write")
	c.Facts = &Facts{}
	assert.Equal(t, in(31), TimelineOf(c, Terms{}).LeaseOf(0).ReleasedAt)

	// Where writes are not observed, an order works until it tries to release the lock, even in vain, or is answered.
	vain := func(n int) Command {
		cmd := carried(n, EffectTried)
		cmd.Wire.Usual = EffectReleased
		return cmd
	}
	c.Facts, c.Ops[0].Done = &Facts{Elsewhere: true}, in(90)
	for until, trace := range map[int][]Command{
		40: {vain(5), acquire(10), tried(20), vain(40), vain(50)}, 90: {acquire(10), tried(20)},
	} {
		c.Ops[0].Trace = trace
		assert.Equal(t, in(until), TimelineOf(c, Terms{}).LeaseOf(0).ReleasedAt)
	}
}

// A lock at an instant is free, held by one order, or unknown.
func TestHolderAt(t *testing.T) {
	const nobody, notKnown = -1, -2
	key := func(value string, c Command) Command {
		c.Wire.Was = value
		return c
	}
	anna := Op{Instance: "a", Trace: []Command{carried(10, EffectAcquired), carried(100, EffectReleased)}}
	dies := Op{Instance: "a", Trace: []Command{carried(10, EffectAcquired)}}
	after := func(n int, trace ...Command) Op {
		return Op{Instance: "b", Trace: append([]Command{carried(n, EffectAcquired)}, trace...)}
	}
	for _, one := range []struct {
		what   string
		ops    []Op
		strays []Command
		at     int
		want   int
	}{
		{"before the first acquire", []Op{anna}, nil, 5, nobody},
		{"before the release", []Op{anna}, nil, 50, 0},
		{"after the release", []Op{anna}, nil, 150, nobody},
		{"while its lease lasts", []Op{dies}, nil, 1900, 0},
		{"after its lease has expired", []Op{dies}, nil, 2100, nobody},
		{"after its renewal", []Op{{Instance: "a", Trace: []Command{carried(10, EffectAcquired),
			carried(1500, EffectRenewed)}}}, nil, 3400, 0},
		{"after another's renewal of it", []Op{dies, {Instance: "b", Trace: []Command{carried(1500, EffectRenewed)}}}, nil,
			3400, 0},
		{"after the next acquire", []Op{anna, after(120)}, nil, 130, 1},
		{"before an acquire that found it free", []Op{dies, after(120)}, nil, 100, notKnown},
		{"before an acquire that replaced it", []Op{dies,
			{Instance: "b", Trace: []Command{key("x", carried(120, EffectAcquired))}}}, nil, 110, 0},
		{"after another order removed it", []Op{dies, after(5, carried(6, EffectReleased), carried(50, EffectReleased))}, nil,
			60, nobody},
		{"after an order of the same instance released it",
			[]Op{dies, {Instance: "a", Trace: []Command{carried(50, EffectReleased)}}}, nil, 60, nobody},
		{"after a stray command took it", []Op{anna}, []Command{carried(120, EffectAcquired)}, 150, notKnown},
		{"after a stray command removed it", []Op{dies}, []Command{carried(120, EffectReleased)}, 150, notKnown},
		{"after a stray command found it taken", []Op{dies}, []Command{carried(120, EffectTried)}, 150, 0},
		{"before a stray command", []Op{dies}, []Command{carried(120, EffectReleased)}, 110, 0},
		{"after a release that left a counter above zero", []Op{{Instance: "a", Trace: []Command{
			carried(10, EffectAcquired),
			{Key: "lock", Source: Looked, Effect: EffectReleased, At: in(20), End: in(21), Wire: &Carried{Is: "1"}},
		}}}, nil, 50, notKnown},
		{"after the next holder's release, too", []Op{{Instance: "a", Trace: []Command{carried(10, EffectAcquired),
			{Key: "lock", Source: Looked, Effect: EffectReleased, At: in(20), End: in(21), Wire: &Carried{Is: "1"}}}},
			after(30, carried(40, EffectReleased))}, nil, 50, nobody},
		{"while an acquire that found it free is in flight", []Op{anna, {Instance: "b", Trace: []Command{
			{Key: "lock", Source: Looked, Effect: EffectAcquired, At: in(120), End: in(140)}}}}, nil, 130, notKnown},
		{"after a later order of its instance removed another's",
			[]Op{{Instance: "b", Trace: []Command{carried(50, EffectReleased)}}, dies}, nil, 60, nobody},
		{"effects unobserved, so a reply may be lost", []Op{{Instance: "a", Trace: []Command{
			{Cmd: "setnx", Key: "lock", At: in(10), End: in(11), Reply: "1"},
			{Cmd: "del", Key: "lock", At: in(20), End: in(21), Reply: "1"}}}}, nil, 50, notKnown},
	} {
		line := TimelineOf(&Cell{Ops: one.ops, Strays: one.strays}, Terms{TTL: 2 * time.Second})
		h := line.Locks[0].HolderAt(in(one.at))
		switch {
		case one.want == notKnown:
			assert.False(t, h.Known, one.what)
		case one.want == nobody:
			assert.True(t, h.Known && h.Tenure == nil, one.what)
		case assert.NotNil(t, h.Tenure, one.what):
			assert.True(t, h.Known, one.what)
			assert.Equal(t, one.want, h.Tenure.Order, one.what)
		}
		since, _, free := line.FreeAt(in(one.at))
		assert.Equal(t, one.want == nobody, free, one.what)
		assert.Equal(t, free, since.Known(), one.what)
	}
}
