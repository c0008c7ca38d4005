package wire

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
)

// A wired is a client that reaches a Redis over a wire with a closed gate.
type wired struct {
	*Wire
	redis *miniredis.Miniredis
	rdb   *redis.Client
}

var testScript = redis.NewScript("return redis.call('INCR', KEYS[1])")

func newWired(t *testing.T) *wired {
	t.Helper()
	redisServer := miniredis.RunT(t)
	g := NewGate(map[string]string{testScript.Hash(): "count"})
	server := &schedule.Server{Name: "stock", Host: redisServer.Addr()}
	w, err := New(g, &schedule.Client{Name: "a"}, server, 50*time.Millisecond)
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: w.Host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() {
		_ = rdb.Close()
		w.Close()
	})
	require.NoError(t, rdb.Ping(t.Context()).Err())
	g.Begin()
	return &wired{w, redisServer, rdb}
}

// one waits until n commands are at the gate, and returns the last of them.
func (w *wired) one(t *testing.T, n int) *Command {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.gate.Of(w.sender)) == n }, 5*time.Second, time.Millisecond)
	return w.gate.Of(w.sender)[n-1]
}

// wrote reports whether a write of the stock was sent on.
func (w *wired) wrote() bool {
	return w.gate.Wrote(w.sender, time.Time{})
}

// stockKey is a key of the stock, whose writes differ from those of a lock on the same server.
const stockKey = "ProductStock_1"

func (w *wired) set(t *testing.T, key string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.rdb.Set(context.Background(), key, "1", 0).Err() }()
	return done
}

func TestWireHoldsACommandUntilItPasses(t *testing.T) {
	w := newWired(t)
	done := w.set(t, stockKey)
	cmd := w.one(t, 1)
	assert.Equal(t, "set stock", cmd.Text())
	assert.True(t, cmd.WritesStock())
	time.Sleep(20 * time.Millisecond)
	assert.False(t, w.redis.Exists(stockKey))
	require.True(t, w.gate.Decide(cmd, schedule.Pass))
	require.NoError(t, <-done)
	<-cmd.Done()
	assert.True(t, w.redis.Exists(stockKey))
	assert.True(t, w.wrote())
	assert.False(t, w.gate.Wrote(w.sender, time.Now()), "not since then")
	assert.False(t, w.gate.Decide(cmd, schedule.Pass), "it no longer waits")
}

func TestRequestIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, stockKey)
	cmd := w.one(t, 1)
	begun := time.Now()
	require.True(t, w.gate.Decide(cmd, schedule.LostRequest))
	<-cmd.Done()
	require.Error(t, <-done)
	assert.GreaterOrEqual(t, time.Since(begun), w.lost)
	assert.False(t, w.redis.Exists(stockKey))
	assert.False(t, w.wrote())
}

func TestRequestIsLate(t *testing.T) {
	w := newWired(t)
	done := w.set(t, stockKey)
	cmd := w.one(t, 1)
	cmd.Arrive = make(chan struct{})
	begun := time.Now()
	require.True(t, w.gate.Decide(cmd, schedule.ComesLate))
	<-cmd.OnItsWay()
	assert.Equal(t, []*Command{cmd}, w.gate.LateOf(w.sender))
	require.Error(t, <-done)
	assert.GreaterOrEqual(t, time.Since(begun), w.lost)
	assert.Less(t, time.Since(begun), time.Second, "before the client's own timeout")
	assert.False(t, w.redis.Exists(stockKey))
	close(cmd.Arrive)
	<-cmd.Done()
	assert.True(t, w.redis.Exists(stockKey))
	assert.Empty(t, w.gate.LateOf(w.sender))
}

func TestReplyIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, stockKey)
	cmd := w.one(t, 1)
	require.True(t, w.gate.Decide(cmd, schedule.LostReply))
	<-cmd.Done()
	assert.True(t, w.redis.Exists(stockKey))
	require.Error(t, <-done)
	assert.True(t, w.wrote())
	w.gate.OpenAll()
	assert.NoError(t, <-w.set(t, "other"), "on a new connection")
}

func TestServerDownRefuses(t *testing.T) {
	w := newWired(t)
	w.gate.Change(func() { w.Server.Down = true })
	w.CloseIdle()
	done := w.set(t, "k")
	require.Eventually(t, func() bool {
		select {
		case <-done: // the client had not noticed yet that its connection is closed
			done = w.set(t, "k")
		default:
		}
		return len(w.gate.Of(w.sender)) == 1
	}, 5*time.Second, time.Millisecond)
	require.True(t, w.gate.Decide(w.one(t, 1), schedule.Pass))
	require.Error(t, <-done)
	assert.False(t, w.redis.Exists("k"))
	w.gate.Change(func() { w.Server.Down = false })
	w.gate.OpenAll()
	assert.NoError(t, <-w.set(t, "k"))
}

func TestRequestOfAClosedConnectionIsNotSentOn(t *testing.T) {
	w := newWired(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	impatient := redis.NewClient(&redis.Options{Addr: w.Host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true,
		ContextTimeoutEnabled: true})
	defer impatient.Close()
	require.Error(t, impatient.Set(ctx, "k", "1", 0).Err())
	require.Eventually(t, func() bool { return len(w.gate.Of(w.sender)) == 0 }, 5*time.Second, time.Millisecond)
	w.gate.OpenAll()
	require.NoError(t, <-w.set(t, "other"))
	assert.False(t, w.redis.Exists("k"))
}

// A script that the server does not know is sent twice, and is one step.
func TestScriptIsOneStep(t *testing.T) {
	w := newWired(t)
	for _, d := range []schedule.Decision{schedule.Pass, schedule.LostReply} {
		w.redis.FlushAll()
		require.NoError(t, w.flushScripts())
		done := make(chan error, 1)
		go func() { done <- testScript.Run(context.Background(), w.rdb, []string{"n"}).Err() }()
		cmd := w.one(t, 1)
		assert.Equal(t, "eval:count", cmd.Name)
		require.True(t, w.gate.Decide(cmd, d))
		<-cmd.Done()
		n, err := w.redis.Get("n")
		require.NoError(t, err)
		assert.Equal(t, "1", n, "it was carried out, once")
		if d == schedule.Pass {
			assert.NoError(t, <-done)
		} else {
			assert.Error(t, <-done)
		}
		assert.Empty(t, w.gate.Of(w.sender))
	}
}

// flushScripts makes the server forget its scripts.
func (w *wired) flushScripts() error {
	rdb := redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	defer rdb.Close()
	return rdb.ScriptFlush(context.Background()).Err()
}

func TestTransactionIsOneStep(t *testing.T) {
	w := newWired(t)
	done := make(chan error, 1)
	go func() {
		_, err := w.rdb.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
			p.Set(context.Background(), "k", "1", 0)
			return p.Get(context.Background(), "k").Err()
		})
		done <- err
	}()
	cmd := w.one(t, 1)
	assert.Equal(t, "exec stock", cmd.Text())
	require.True(t, w.gate.Decide(cmd, schedule.Pass))
	require.NoError(t, <-done)
}

func TestMessageIsHeldOrDropped(t *testing.T) {
	w := newWired(t)
	subscription := w.rdb.Subscribe(t.Context(), "news")
	defer subscription.Close()
	require.True(t, w.gate.Decide(w.one(t, 1), schedule.Pass))
	_, err := subscription.Receive(t.Context())
	require.NoError(t, err)
	for _, text := range []string{"dropped", "first", "second"} {
		w.redis.Publish("news", text)
	}
	messages := subscription.Channel()
	for i, d := range []schedule.Decision{schedule.Refuse, schedule.Pass, schedule.Pass} {
		cmd := w.one(t, 1)
		assert.True(t, cmd.Message)
		assert.Equal(t, "gets the message", cmd.Text())
		require.True(t, w.gate.Decide(cmd, d))
		if i > 0 {
			assert.Equal(t, []string{"first", "second"}[i-1], (<-messages).Payload)
		}
	}
	assert.Empty(t, messages)
}

// watch records the gate's notifications.
func (w *wired) watch() (seen chan Seen) {
	seen = make(chan Seen, 100)
	w.gate.Watch = func(s Seen) { seen <- s }
	return seen
}

func TestWatchFollowsACommand(t *testing.T) {
	w := newWired(t)
	seen := w.watch()
	done := w.set(t, "k")
	waits := <-seen
	assert.Equal(t, Waiting, waits.State)
	assert.Equal(t, []string{"set", "k", "1"}, waits.Args)
	assert.Equal(t, "k", waits.On())
	assert.False(t, waits.Came.IsZero())
	assert.True(t, waits.Sent.IsZero())
	require.Eventually(t, func() bool { return len(w.gate.Of(w.sender)) == 1 }, 5*time.Second, time.Millisecond)
	assert.Empty(t, seen, "it is held")
	w.gate.OpenAll()
	require.NoError(t, <-done)
	sent, answered := <-seen, <-seen
	assert.Equal(t, []State{Sent, Done}, []State{sent.State, answered.State})
	assert.Equal(t, []int{waits.ID, waits.ID}, []int{sent.ID, answered.ID})
	assert.False(t, sent.Sent.Before(waits.Came))
	assert.False(t, answered.Answered.Before(sent.Sent))
	assert.Equal(t, "OK", answered.Reply)
	assert.False(t, answered.Failed)

	last := func(args ...any) Seen {
		_ = w.rdb.Do(t.Context(), args...).Err()
		<-seen
		<-seen
		return <-seen
	}
	get := last("GET", "k")
	assert.Equal(t, waits.ID+1, get.ID)
	assert.Equal(t, `"1"`, get.Reply)
	assert.Equal(t, "(nil)", last("GET", "none").Reply)
	assert.Equal(t, "1", last("DEL", "k").Reply)
	wrong := last("LPOP")
	assert.True(t, wrong.Failed)
	assert.Contains(t, wrong.Reply, "ERR wrong number of arguments")
	assert.Empty(t, wrong.On())
	stale := last("EVAL", "return redis.error_reply('STALE 2')", "1", "lock", "token")
	assert.Equal(t, "lock", stale.On())
	assert.Equal(t, "STALE 2", stale.Reply)
	assert.True(t, stale.Failed)
	assert.Empty(t, seen)
}

func TestWatchReportsATransactionOnce(t *testing.T) {
	w := newWired(t)
	seen := w.watch()
	w.gate.OpenAll()
	_, err := w.rdb.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Set(t.Context(), "k", "1", 0)
		return p.Get(t.Context(), "k").Err()
	})
	require.NoError(t, err)
	<-seen
	<-seen
	exec := <-seen
	assert.Equal(t, []string{"set", "k", "1"}, exec.Args)
	assert.Equal(t, `[OK "1"]`, exec.Reply)
}

// A script that the server does not know is not a failure: it is resent in full.
func TestWatchReportsAScriptOnce(t *testing.T) {
	w := newWired(t)
	seen := w.watch()
	w.gate.OpenAll()
	require.NoError(t, testScript.Run(t.Context(), w.rdb, []string{"n"}).Err())
	assert.Equal(t, []State{Waiting, Sent}, []State{(<-seen).State, (<-seen).State})
	count := <-seen
	assert.Equal(t, Done, count.State)
	assert.Equal(t, "1", count.Reply)
	assert.Equal(t, "n", count.On())
	assert.False(t, count.Failed)
	assert.Empty(t, seen)
}

// Breaking the connections loses the waiting commands. A server that is down refuses those on new connections.
func TestBreakActsLikeALostServer(t *testing.T) {
	w := newWired(t)
	seen := w.watch()
	done := w.set(t, "k")
	w.one(t, 1)
	w.Break()
	require.Error(t, <-done)
	<-seen
	lost := <-seen
	assert.Equal(t, Done, lost.State)
	assert.Equal(t, schedule.TooLate, lost.Decision)
	assert.Empty(t, lost.Reply)

	w.gate.OpenAll()
	w.gate.Change(func() { w.Server.Down = true })
	require.Error(t, <-w.set(t, "k"))
	<-seen
	assert.Equal(t, schedule.Refuse, (<-seen).Decision)
	w.gate.Change(func() { w.Server.Down = false })
	require.NoError(t, <-w.set(t, "k"))
}
