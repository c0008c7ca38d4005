package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A house is a user of a player whose orders read the stock, write it, and release a lock. Bert is refused until Anna's
// order is over.
type house struct {
	*Rig
	t      *testing.T
	cell   *history.Cell
	orders []*InFlight
	passed []string
	most   time.Duration // that a move may take
	waits  *InFlight     // that waits for the lock
	blocks chan struct{} // closed once orders no longer block before they send anything; nil: none does
}

// newHouse returns a player of lines in a house. All ends with the test.
func newHouse(t *testing.T) (*Player, *house) {
	t.Helper()
	r, _, _ := newRig(t, true)
	h := &house{Rig: r, t: t, most: 10 * time.Second, cell: &history.Cell{Start: time.Now(),
		Instances: []history.Instance{{Name: "a"}, {Name: "b"}}}}
	r.foreign = true // there are no processes to look at
	r.Gate.Begin()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.LetThrough(ctx, func(cmd *wire.Command) bool { return cmd.Name == "del" })
	}()
	t.Cleanup(func() {
		r.GoOnAll()
		for _, o := range h.orders {
			<-o.Done()
		}
		cancel()
		<-over
	})
	return &Player{Rig: r, User: h, Marks: h, Turns: h}, h
}

// plays plays a line, and returns the error of its last move.
func (h *house) plays(p *Player, text string) (err error) {
	h.t.Helper()
	line, err := schedule.ParseLine(text)
	require.NoError(h.t, err)
	for _, m := range line {
		if err = p.Move(h.t.Context(), m); err != nil {
			return err
		}
	}
	return nil
}

// faults returns the recorded faults.
func (h *house) faults() (texts []string) {
	for _, f := range h.cell.Faults {
		text, _, _ := strings.Cut(f.Text, " for ")
		texts = append(texts, f.Order+": "+text)
	}
	return texts
}

func (h *house) Send(ctx context.Context, m schedule.Move, s Scene, _ <-chan struct{}) *InFlight {
	if s.Order != nil {
		return s.Order
	}
	name := schedule.ClientName(m.Who)
	o := NewInFlight(name, m.At)
	rdb := dial(h.Ends[m.At])
	o.Send(ctx, func(ctx context.Context) (op history.Op) {
		defer rdb.Close()
		op.Outcome = history.Sold
		if h.blocks != nil {
			<-h.blocks
		}
		err := rdb.Get(ctx, "stock").Err()
		if err == nil || strings.Contains(err.Error(), "nil") {
			err = errors.Join(rdb.Set(ctx, "stock", name, 0).Err(), rdb.Del(ctx, "lock").Err())
		}
		if err != nil {
			op.Outcome, op.Detail = history.NotSold, err.Error()
		}
		return op
	})
	h.orders = append(h.orders, o)
	return o
}

func (h *house) Sell(ctx context.Context, m schedule.Move, s Scene) *InFlight {
	o := h.Send(ctx, m, s, nil)
	o.WaitFor(h.most)
	return o
}

func (h *house) Pass(_ context.Context, m schedule.Move) error {
	h.passed = append(h.passed, m.Verb)
	return nil
}

func (h *house) Note(at int, o *InFlight, f history.Fault, since time.Time) {
	if o == nil {
		o = h.orders[at]
	}
	o.Note(h.cell, f, since, time.Now())
}

func (h *house) Catch(m schedule.Move, _ Scene) Trap {
	names := map[string]string{schedule.Read: "get", schedule.Write: "set", schedule.Release: "del", schedule.Renewal: "-"}
	return h.SetTrap(&CommandTrap{At: m.At, Reply: m.Reply, Is: func(cmd *wire.Command) bool {
		return cmd.Name == names[m.Mark]
	}})
}

func (h *house) Name(m schedule.Move, t Trap) (string, bool) {
	if m.Mark == schedule.Next {
		return t.(*CommandTrap).Command().Name, false
	}
	return m.Mark, m.Reply
}

func (h *house) IsStep(*wire.Command) bool { return true }
func (h *house) IsDue(*InFlight) bool      { return false }

func (h *house) Waits(o *InFlight) bool {
	return o == h.waits || h.blocks != nil && !wire.IsClosed(h.blocks)
}

func (h *house) AtMost(schedule.Move, Scene) time.Duration { return h.most }
func (h *house) Rest(context.Context, *InFlight)           {}

func (h *house) Stuck(m schedule.Move, _ Scene, t Trap) error {
	if t != nil && HasCaught(t) || m.Mark+m.Verb == "" {
		return nil
	}
	return fmt.Errorf("stuck at %s%s", m.Mark, m.Verb)
}

// stock returns who has written the stock last.
func (h *house) stock() string { return h.Stores[0].Redis.Get(h.t.Context(), "stock").Val() }

// An order is held at a mark while another one is answered, and goes on by itself at the end. Only what time has passed
// for is a fault.
func TestOrderIsHeldAtAMark(t *testing.T) {
	for line, faults := range map[string][]string{
		"a<read.b>end.a>end":            {"a: the reply to its read held"},
		"a>write.b>end.a>end":           {"a: its write held"},
		"a>write.b>end":                 {"a: its write held"},
		"a<read.a>write.b>end.a>end":    {"a: its write held"},
		"a>release.expiry.a>end":        {"a: its release held"},
		"a>write.a>end.b>end":           nil,
		"a>write.b>end.a>release.b>end": {"a: its write held", "a: its release held"},
		"a>write.a<renewal.a>end":       {"a: its write held"},
	} {
		p, h := newHouse(t)
		h.most = 300 * time.Millisecond
		require.NoError(t, h.plays(p, line), line)
		require.NoError(t, p.Finish())
		assert.Empty(t, p.Scene(-1).Held, line)
		<-h.orders[0].Done()
		assert.Equal(t, faults, h.faults(), line)
	}
}

// A scene has what is held of other clients, and tells whether the client's own order is held.
func TestScene(t *testing.T) {
	p, h := newHouse(t)
	require.NoError(t, h.plays(p, "a>write"))
	own, other := p.Scene(0), p.Scene(1)
	assert.Empty(t, own.Held)
	assert.True(t, own.Bound && own.First && !own.Open)
	assert.Len(t, other.Held, 1)
	assert.True(t, !other.Bound && !other.First && other.Open)
	require.NoError(t, p.Finish())
	<-h.orders[0].Done()
	assert.False(t, p.Scene(1).Open)
}

// A held command is lost, or its reply is, or it arrives after its client has given up.
func TestHeldCommandIsLostOrLate(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct{ stock, fault string }{
		"a>write.lose-request-a.a>end":        {"", "a: its write lost"},
		"a>write.lose-reply-a.a>end":          {"a", "a: the reply to its write lost"},
		"a>write.late-a.b>end.arrive-a.a>end": {"a", "a: its write in flight"},
		"a>write.late-a.cut-a.b>end.arrive-a": {"a", "a: its write in flight"},
		"a>write.late-a.b>end":                {"b", ""},
		"a>write.give-up-a":                   {"", "a: hung up while it worked"},
		"aa.b>end.a>end":                      {"b", "a: its del held"}, // the next command is held
		"a.lose-request-a.a>end":              {"", "a: its set lost"},
		"lose-request-a.a>end":                {"", "a: its get lost"}, // the order is sent, and its first command is hit
		"a<.b>end.a.a>end":                    {"a", "a: the reply to its get held"},
		"aa<.b>end.a":                         {"b", "a: the reply to its set held"},
		"a.late-a.b>end.arrive-a":             {"a", "a: its set in flight, a: its del held"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p, h := newHouse(t)
			require.NoError(t, h.plays(p, line))
			assert.Equal(t, want.stock, h.stock())
			require.NoError(t, p.Finish())
			assert.Equal(t, want.fault, strings.Join(h.faults(), ", "))
		})
	}
}

// Instances are at rest once every order is held, has ended, or waits for the lock, and nothing has come for a moment.
func TestSettle(t *testing.T) {
	p, h := newHouse(t)
	require.NoError(t, h.plays(p, "a"))
	assert.Nil(t, p.Unsettled())
	assert.Len(t, p.HeldOf(0), 1, "it is held before its next command")
	over := make(chan struct{})
	bert := NewInFlight("b", 1)
	bert.Send(t.Context(), func(context.Context) (op history.Op) {
		<-over
		return op
	})
	p.clients[1].order = bert
	assert.Equal(t, bert, p.Settle(t.Context(), 100*time.Millisecond), "it works, and has sent nothing")
	h.waits = bert
	begun := time.Now()
	assert.Nil(t, p.Settle(t.Context(), 10*time.Second))
	assert.GreaterOrEqual(t, time.Since(begun), silence, "its threads are unknown")
	h.waits = nil
	close(over)
	<-bert.Done()
	assert.Nil(t, p.Settle(t.Context(), 10*time.Second))
}

// An order that blocks before its first turn has begun, and is held once it goes on.
func TestOrderThatBlocksAtFirst(t *testing.T) {
	p, h := newHouse(t)
	h.blocks = make(chan struct{})
	unblock := sync.OnceFunc(func() { close(h.blocks) })
	t.Cleanup(unblock)
	require.NoError(t, h.plays(p, "b"))
	assert.Empty(t, p.HeldOf(1))
	assert.Nil(t, p.Unsettled())
	unblock()
	require.Eventually(t, func() bool {
		p.HoldTurns()
		return len(p.HeldOf(1)) == 1
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, h.plays(p, "bbb"))
	assert.Equal(t, "b", h.stock())
}

// Of several waiting commands a line names one by a digit. One behind another on the same connection does not count:
// its turn is the next.
func TestSecondOfTheWaitingCommands(t *testing.T) {
	p, h := newHouse(t)
	p.TakeTurns(0, h.IsStep)
	rdb := dial(h.Ends[0])
	both := NewInFlight("a", 0)
	both.Send(t.Context(), func(ctx context.Context) (op history.Op) {
		defer rdb.Close()
		var own sync.WaitGroup
		own.Go(func() { rdb.Append(ctx, "other", "1") })
		pipe := rdb.Pipeline()
		pipe.Set(ctx, "key", 1, 0)
		pipe.Del(ctx, "key")
		_, _ = pipe.Exec(ctx)
		own.Wait()
		return op
	})
	h.orders, p.clients[0].order = append(h.orders, both), both
	require.Eventually(t, func() bool { return len(h.Gate.Of(&h.Ends[0].Client)) == 3 }, 10*time.Second, time.Millisecond)
	exists := func(key string) bool { return h.Stores[0].Redis.Exists(t.Context(), key).Val() == 1 }
	require.NoError(t, h.plays(p, "a2"))
	assert.True(t, exists("key"), "it comes after the other one by name, and DEL has to wait")
	require.Len(t, p.HeldOf(0), 2)
	require.NoError(t, h.plays(p, "a2"))
	assert.False(t, exists("key"))
	require.NoError(t, h.plays(p, "a"))
	assert.True(t, exists("other"))
	require.NoError(t, p.Finish())
	<-both.Done()
}

// A move that cannot be taken ends a line: its user says why.
func TestMoveThatCannotBeTaken(t *testing.T) {
	for line, want := range map[string]string{
		"a>end.a>write": "stuck at write", "aaaa": "stuck at next", "aaa.lose-request-a": "stuck at lose-request",
		"a>end.drop-b": "stuck at drop",
	} {
		p, h := newHouse(t)
		h.most = 300 * time.Millisecond
		err := h.plays(p, line)
		assert.EqualError(t, errors.Join(err, p.Finish()), want, line)
	}
	p, h := newHouse(t)
	require.NoError(t, h.plays(p, "a>end"))
	assert.False(t, p.hasSent(0, time.Now()))
	require.True(t, p.hasSent(0, h.orders[0].Sent))
	p.stopped[0] = time.Now().Add(-time.Minute)
	require.ErrorContains(t, p.goOn(t.Context(), 0), "the shop kept running while it was stopped")
	assert.Empty(t, h.faults())
}

// A release cannot overtake a write in flight that was sent before it on the same connection, but one on another.
func TestReleaseStaysBehindLateWriteOnItsConnection(t *testing.T) {
	p, h := newHouse(t)
	connect := func() net.Conn {
		c, err := net.Dial("tcp", h.Ends[0].Wires[0].Host())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	send := func(c net.Conn, text string) {
		_, err := c.Write([]byte(text))
		require.NoError(t, err)
	}
	const write, release = "*3\r\n$3\r\nSET\r\n$5\r\nstock\r\n$1\r\na\r\n", "*2\r\n$3\r\nDEL\r\n$4\r\nlock\r\n"
	rdb := h.Stores[0].Redis
	isHeld := func() bool { return rdb.Exists(t.Context(), "lock").Val() == 1 }
	for _, same := range []bool{true, false} {
		require.NoError(t, rdb.MSet(t.Context(), "lock", "a", "stock", "").Err())
		trap := h.Catch(schedule.Move{Mark: schedule.Write}, Scene{}).(*CommandTrap)
		c := connect()
		send(c, write)
		<-trap.Caught()
		require.NoError(t, p.Take(t.Context(), schedule.Late, trap.Command()))
		if same {
			send(c, release)
			late := func() bool { return len(h.Gate.LateOf(&h.Ends[0].Client)) == 2 }
			require.Eventually(t, late, 10*time.Second, time.Millisecond)
			assert.True(t, isHeld())
		} else {
			send(connect(), release)
			require.Eventually(t, func() bool { return !isHeld() }, 10*time.Second, time.Millisecond)
		}
		assert.Empty(t, h.stock())
		trap.GoOn()
		require.Eventually(t, func() bool { return h.stock() == "a" && !isHeld() }, 10*time.Second, time.Millisecond)
	}
}
