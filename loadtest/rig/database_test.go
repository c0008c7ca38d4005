package rig

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aMoment is the time after which a test concludes that nothing happens.
const aMoment = 50 * time.Millisecond

// A shop is a Database between a client and a server whose every byte the test sends.
type shop struct {
	*Database
	server net.Listener
}

func newShop(t *testing.T) *shop {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d, err := NewDatabase(server.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		d.Close()
		_ = server.Close()
	})
	return &shop{Database: d, server: server}
}

// A dialogue is one connection, at both ends.
type dialogue struct {
	client, server net.Conn
	t              *testing.T
}

func (s *shop) dial(t *testing.T) *dialogue {
	t.Helper()
	client, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	server, err := s.server.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return &dialogue{client, server, t}
}

// asks sends texts from the client, and waits for their arrival.
func (d *dialogue) asks(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		d.send(d.client, text)
		d.arrives(d.server, text)
	}
}

// answers sends texts from the server, and waits for their arrival.
func (d *dialogue) answers(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		d.send(d.server, text)
		d.arrives(d.client, text)
	}
}

func (d *dialogue) send(from net.Conn, text string) {
	d.t.Helper()
	_, err := from.Write([]byte(text))
	require.NoError(d.t, err)
}

func (d *dialogue) arrives(at net.Conn, text string) {
	d.t.Helper()
	require.NoError(d.t, at.SetReadDeadline(time.Now().Add(10*time.Second)))
	got := make([]byte, len(text))
	_, err := io.ReadFull(at, got)
	require.NoError(d.t, err)
	require.Equal(d.t, text, string(got))
}

// silent asserts that nothing arrives.
func (d *dialogue) silent(at net.Conn) {
	d.t.Helper()
	require.NoError(d.t, at.SetReadDeadline(time.Now().Add(aMoment)))
	_, err := at.Read(make([]byte, 1))
	require.ErrorIs(d.t, err, os.ErrDeadlineExceeded)
}

// ends asserts that the connection closes.
func (d *dialogue) ends(at net.Conn) {
	d.t.Helper()
	require.NoError(d.t, at.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := at.Read(make([]byte, 1))
	require.Error(d.t, err)
	require.NotErrorIs(d.t, err, os.ErrDeadlineExceeded)
}

// caught waits until a trap has caught a piece.
func (d *dialogue) caught(trap *RequestTrap) {
	d.t.Helper()
	select {
	case <-trap.Caught():
	case <-time.After(10 * time.Second):
		require.Fail(d.t, "nothing was caught")
	}
}

// stepsSince returns the pieces that have passed, with the connections and numbers of the database.
func (s *shop) stepsSince(begun time.Time) (steps []Step) {
	for _, p := range s.Since(begun) {
		steps = append(steps, Step{Conn: p.Conn, Number: p.Number, Reply: p.Reply})
	}
	return steps
}

func TestDatabasePieces(t *testing.T) {
	s := newShop(t)
	begun := time.Now()
	one, two := s.dial(t), s.dial(t)
	assert.False(t, s.Passed())
	two.answers("hello") // a greeting
	assert.True(t, s.Passed())
	two.asks("password")
	two.answers("welcome")
	assert.Equal(t, "2>0 2<0", textOf(s.stepsSince(begun)))

	begun = time.Now()
	assert.Equal(t, 1, s.BeginOrder())
	two.asks("in ", "three ", "pieces")
	two.answers("so ", "is ", "this")
	one.asks("a pipeline", "of two")
	two.asks("second")
	one.answers("one", "two")
	two.answers("yes")
	two.asks("a statement is closed")
	s.EndOrder()
	two.asks("a ping")
	assert.Equal(t, "2>1 2<1 1>2 2>3 1<2 2<3 2>4 2>0", textOf(s.stepsSince(begun)))

	begun = time.Now()
	assert.Equal(t, 2, s.BeginOrder())
	two.asks("nothing was answered before")
	two.answers("this is")
	assert.Equal(t, "2>1 2<1", textOf(s.stepsSince(begun)))
	for _, p := range s.Since(begun) {
		assert.Equal(t, 2, p.Order)
		assert.False(t, p.PassedOn.Before(p.Began))
	}

	s.Follow(Pattern{Noisy: map[int]bool{1: true}})
	begun = time.Now()
	assert.Equal(t, 3, s.BeginOrder())
	one.asks("a ping")
	two.asks("an order")
	one.answers("a pong")
	two.answers("a receipt")
	assert.Equal(t, "1>0 2>1 1<0 2<1", textOf(s.stepsSince(begun)))
}

func TestRequestIsHeld(t *testing.T) {
	s := newShop(t)
	d, other := s.dial(t), s.dial(t)
	s.BeginOrder()
	trap := s.Trap(s.NextOrder()-1, 2, false)
	d.asks("one")
	d.answers("yes")
	d.send(d.client, "two")
	d.caught(trap)
	d.send(d.client, "too")
	d.silent(d.server)
	d.answers("by the way") // is not a reply
	assert.False(t, s.Waiting(0), "it has not reached the server")
	other.asks("three")
	other.answers("yes")
	trap.GoOn()
	trap.GoOn() // a no-op
	d.arrives(d.server, "twotoo")
	d.answers("yes")
	assert.Equal(t, "1>1 1<1 1>2 2>3 2<3 1<2", textOf(s.stepsSince(time.Time{})))
}

func TestReplyIsHeld(t *testing.T) {
	s := newShop(t)
	d := s.dial(t)
	s.BeginOrder()
	request := s.Trap(s.NextOrder()-1, 1, false)
	d.send(d.client, "one")
	d.caught(request)
	reply := s.Trap(s.NextOrder()-1, 1, true)
	request.GoOn()
	d.arrives(d.server, "one")
	d.send(d.server, "yes")
	d.caught(reply)
	d.silent(d.client)
	assert.False(t, s.Waiting(0), "it is answered")
	assert.Zero(t, s.Since(time.Time{})[1].PassedOn)
	s.BeginOrder() // of another caller
	d.asks("more of it")
	reply.GoOn()
	d.arrives(d.client, "yes")
	assert.Equal(t, "1>1 1<1", textOf(s.stepsSince(time.Time{})))
}

// A trap catches only the order that was opened last: pieces of earlier ones pass.
func TestTrapOfAnOrder(t *testing.T) {
	s := newShop(t)
	anna, clara := s.dial(t), s.dial(t)
	s.BeginOrder()
	anna.asks("one")
	s.BeginOrder()
	trap := s.Trap(s.NextOrder()-1, 1, true)
	anna.answers("yes")
	clara.asks("one")
	clara.send(clara.server, "yes")
	clara.caught(trap)
	clara.silent(clara.client)
	trap.GoOn()
	clara.arrives(clara.client, "yes")

	next := s.Trap(s.NextOrder()-1, 0, false) // any number
	clara.send(clara.client, "two")
	clara.caught(next)
	assert.Equal(t, 2, next.Number())
	next.GoOn()
	clara.arrives(clara.server, "two")

	unsprung := s.Trap(s.NextOrder()-1, 3, false)
	unsprung.GoOn()
	clara.send(clara.server, "yes")
	clara.arrives(clara.client, "yes")
	clara.asks("three")
}

func TestHeldPieceIsLost(t *testing.T) {
	for name, lose := range map[string]func(*shop, *RequestTrap){
		"lost": func(_ *shop, trap *RequestTrap) { trap.Lose() },
		"cut off": func(s *shop, _ *RequestTrap) {
			require.NoError(t, s.Cut())
			require.NoError(t, s.Heal())
		},
	} {
		for _, reply := range []bool{false, true} {
			s := newShop(t)
			d := s.dial(t)
			s.BeginOrder()
			trap := s.Trap(s.NextOrder()-1, 1, reply)
			if d.send(d.client, "one"); reply {
				d.arrives(d.server, "one")
				d.send(d.server, "yes")
			}
			d.caught(trap)
			lose(s, trap)
			d.ends(d.client)
			d.ends(d.server)
			require.Eventually(t, func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.conns) == 0
			}, 10*time.Second, time.Millisecond, name)
			trap.GoOn()
			pieces := s.Since(time.Time{})
			assert.Zero(t, pieces[len(pieces)-1].PassedOn, name)
			s.dial(t).asks("again")
		}
	}
}

func TestWaitingForAReply(t *testing.T) {
	s := newShop(t)
	d, noisy := s.dial(t), s.dial(t)
	s.Follow(Pattern{Noisy: map[int]bool{2: true}, Steps: []Step{{1, 1, false}, {1, 1, true}, {1, 2, false}}})
	s.BeginOrder()
	noisy.asks("for news")
	d.asks("one")
	assert.True(t, s.Waiting(0))
	assert.False(t, s.Waiting(time.Minute))
	asked := time.Now()
	time.Sleep(aMoment)
	assert.True(t, s.Waiting(aMoment))
	d.asks(", and more")
	assert.False(t, s.Waiting(time.Since(asked)), "it had not all reached the server")
	d.answers("yes")
	assert.False(t, s.Waiting(0))
	d.asks("which plain sales get no answer to")
	assert.False(t, s.Waiting(0))
	s.BeginOrder()
	d.asks("one")
	assert.True(t, s.Waiting(0))
	require.NoError(t, d.client.Close())
	require.Eventually(t, func() bool { return !s.Waiting(0) }, 10*time.Second, time.Millisecond)
}
