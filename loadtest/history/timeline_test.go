package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = Instant(time.Millisecond)

// on returns a command on the lock, sent at a millisecond and replied to one later.
func on(cmd string, at Instant, reply string) Command {
	return Command{Node: "n", Cmd: cmd, Key: "lock", At: at * ms, End: (at + 1) * ms, Reply: reply}
}

func took(at Instant) Command    { return on("set", at, "OK") }
func freed(at Instant) Command   { return on("del", at, "1") }
func renewed(at Instant) Command { return on("eval:renew", at, "1") }

// leased returns the command with the TTL that it gave the lock, in milliseconds.
func leased(cmd Command, ttl Instant) Command {
	cmd.Wire = &Carried{Came: cmd.At, Heard: cmd.End, Lease: time.Duration(ttl * ms)}
	return cmd
}

// cellOf returns a cell with an order for each trace, on one instance, with its number as its id.
func cellOf(traces ...[]Command) *Cell {
	c := &Cell{}
	for i, trace := range traces {
		c.Ops = append(c.Ops, Op{Order: string(rune('0' + i)), Instance: "a", Trace: trace})
	}
	return c
}

// ends returns the ends of the tenures of a cell's only lock, in milliseconds. Its TTL is 100.
func ends(t *testing.T, c *Cell) (all []End) {
	line := TimelineOf(c, Terms{TTL: 100 * time.Millisecond})
	require.Len(t, line.Locks, 1)
	for _, h := range line.Locks[0].Tenures {
		all = append(all, End{h.How, h.By, h.Since / ms, h.At / ms})
	}
	return all
}

func TestTenureEnds(t *testing.T) {
	late := took(10)
	late.End = 50 * ms
	refused := func(at Instant) Command {
		c := on("set", at, "")
		c.Err = "LOADING Redis is loading the dataset in memory"
		return c
	}
	for name, one := range map[string]struct {
		traces [][]Command
		want   []End
	}{
		"released": {[][]Command{{took(1), freed(5)}, {took(8), freed(9)}}, []End{{Released, 0, 5, 6}, {Released, 1, 9, 10}}},
		"a release that came late removes the next lock": {
			[][]Command{{took(1), freed(30)}, {took(20), freed(40)}}, []End{{Gone, 1, 2, 21}, {Removed, 0, 30, 31}}},
		"never released": {[][]Command{{took(1)}}, []End{{Expired, -1, 101, 102}}},
		"renewed":        {[][]Command{{took(1), renewed(50)}}, []End{{Expired, -1, 150, 151}}},
		"seen held, then taken": {
			[][]Command{{took(1)}, {on("set", 60, "nil"), took(80)}}, []End{{Gone, 1, 60, 81}, {Expired, -1, 180, 181}}},
		"a lease of its own": {
			[][]Command{{leased(took(1), 40)}, {took(45)}}, []End{{Expired, 1, 41, 42}, {Expired, -1, 145, 146}}},
		"longer than usual": {
			[][]Command{{leased(took(1), 200)}, {took(120)}}, []End{{Gone, 1, 2, 121}, {Expired, -1, 220, 221}}},
		"renewed for less": {[][]Command{{took(1), leased(renewed(50), 20)}}, []End{{Expired, -1, 70, 71}}},
		"a renewal shows that it was held": {[][]Command{{took(1)}, {on("pexpire", 60, "1"), took(80)}},
			[]End{{Gone, 1, 60, 81}, {Expired, -1, 180, 181}}},
		"a renewal in vain shows nothing": {[][]Command{{took(1)}, {on("pexpire", 60, "0"), took(80)}},
			[]End{{Gone, 1, 2, 81}, {Expired, -1, 180, 181}}},
		"a noted end after its expiry": {[][]Command{{took(1), on(EndedLock, 150, "")}}, []End{{Expired, -1, 101, 102}}},
		"a lock without a TTL":         {[][]Command{{on("setnx", 1, "1")}}, []End{{NoEnd, -1, Never / ms, Never / ms}}},
		"one without a TTL, then taken": {[][]Command{{on("setnx", 1, "1")}, {took(180), freed(190)}},
			[]End{{Gone, 1, 2, 181}, {Released, 1, 190, 191}}},
		"expired, then taken": {[][]Command{{took(1)}, {took(150), freed(160)}},
			[]End{{Expired, 1, 101, 102}, {Released, 1, 160, 161}}},
		"a failed acquire may have found it free": {
			[][]Command{{took(1)}, {refused(60), took(80)}}, []End{{Gone, 1, 2, 81}, {Expired, -1, 180, 181}}},
		"its end was noted": {[][]Command{{took(1), on(EndedLock, 7, "")}, {took(9), freed(12)}},
			[]End{{Gone, 1, 7, 7}, {Released, 1, 12, 13}}},
		"its lease was made to expire": {[][]Command{{took(1), on(EndedLock, 7, LeaseOver)}, {took(9), freed(12)}},
			[]End{{Expired, -1, 7, 7}, {Released, 1, 12, 13}}},
		"taken twice by one order": {[][]Command{{took(1), took(3), freed(5)}}, []End{{Released, 0, 5, 6}}},
		"a reply that came late": {[][]Command{{late, freed(60)}, {took(15), freed(55)}},
			[]End{{Gone, 1, 10, 16}, {Released, 1, 55, 56}}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, one.want, ends(t, cellOf(one.traces...)))
		})
	}
}

// A znode is a lock like any other. A place in a queue is none: its order may still be waiting.
func TestZooKeeperLocks(t *testing.T) {
	const lock, place = "/stockapi/ephemeral/k/lock", "/stockapi/sequential/k/_c_5f-0000000007"
	c := cellOf([]Command{
		{Cmd: "zk:create", Key: lock, At: 1, End: 2, Reply: "ok"},
		{Cmd: "zk:watch", Key: lock, At: 2, End: 3, Reply: "true"},
		{Cmd: "zk:create", Key: place, At: 3, End: 4, Reply: "ok"},
		{Cmd: "zk:delete", Key: place, At: 5, End: 6, Reply: "true"},
		{Cmd: "zk:delete", Key: lock, At: 7, End: 8, Reply: "true"},
	})
	require.Len(t, TimelineOf(c, Terms{}).Locks, 1)
	assert.Equal(t, End{Released, 0, 7, 8}, TimelineOf(c, Terms{}).Locks[0].Tenures[0].End)
	c.Ops[0].Lease = &Lease{AcquiredAt: 5, ReleasedAt: 5}
	line := TimelineOf(c, Terms{})
	require.Len(t, line.Locks, 2)
	assert.Equal(t, "/stockapi/sequential/k", line.Locks[1].Key)
	assert.Equal(t, Instant(5), line.Locks[1].Tenures[0].From)
	assert.Equal(t, End{Released, 0, 5, 6}, line.Locks[1].Tenures[0].End)
}

// A lock that an instance passes on is held by its owner until the last of the owner's orders removes it.
func TestLockPassedOn(t *testing.T) {
	c := cellOf([]Command{took(1)}, []Command{freed(90)}, []Command{took(95), freed(99)})
	c.Ops[0].Lease = &Lease{Token: "t", AcquiredAt: 2, ReleasedAt: 40}
	c.Ops[1].Lease = &Lease{Token: "t", AcquiredAt: 41, ReleasedAt: 90}
	assert.Equal(t, End{Released, 1, 90, 91}, ends(t, c)[0])
	c.Ops[1].Lease, c.Ops[1].SoldBy = nil, "0"
	assert.Equal(t, End{Released, 1, 90, 91}, ends(t, c)[0])
}

// The order that acquired the lock need not be the one that returns the batch's lease.
func TestLockAcquiredByBatch(t *testing.T) {
	c := cellOf([]Command{freed(90)}, []Command{took(1)}, []Command{took(95), freed(99)})
	c.Ops[0].Lease = &Lease{Token: "t", AcquiredAt: 2, ReleasedAt: 90}
	c.Ops[1].SoldBy = "0"
	assert.Equal(t, End{Released, 0, 90, 91}, ends(t, c)[0])
	c.Ops[1].SoldBy, c.Ops[2].Lease = "2", &Lease{Token: "u", AcquiredAt: 96, ReleasedAt: 99}
	assert.Equal(t, Expired, ends(t, c)[0].How, "it names one of another batch")
}

// A lock on several nodes is lost when too few of them still have it.
func TestLossOfQuorum(t *testing.T) {
	var trace []Command
	for i, node := range []string{"n1", "n2", "n3"} {
		one := took(Instant(10 * i))
		one.Node = node
		trace = append(trace, one)
	}
	terms := Terms{TTL: 100 * time.Millisecond, Quorum: true}
	line := TimelineOf(cellOf(trace), terms)
	assert.Equal(t, End{Expired, -1, 110 * ms, 111 * ms}, line.LossOf(0, 30*ms))
	assert.Equal(t, NoEnd, line.LossOf(1, 30*ms).How)
	terms.Quorum = false
	line = TimelineOf(cellOf(trace), terms)
	assert.Equal(t, End{Expired, -1, 100 * ms, 101 * ms}, line.LossOf(0, 30*ms), "it takes all of them")
}
