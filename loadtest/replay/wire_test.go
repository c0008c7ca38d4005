package replay

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

// A wired is a client that reaches a Redis over a wire whose gate is closed.
type wired struct {
	*wire
	redis *miniredis.Miniredis
	rdb   *redis.Client
}

var testScript = redis.NewScript("return redis.call('INCR', KEYS[1])")

func newWired(t *testing.T) *wired {
	t.Helper()
	redisServer := miniredis.RunT(t)
	g := newGate(map[string]string{testScript.Hash(): "count"})
	server := &schedule.Server{Name: "stock", Host: redisServer.Addr()}
	w, err := newWire(g, &schedule.Client{Name: "a"}, server, 50*time.Millisecond)
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: w.host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() {
		_ = rdb.Close()
		w.Close()
	})
	require.NoError(t, rdb.Ping(t.Context()).Err())
	g.begin()
	return &wired{w, redisServer, rdb}
}

// one waits until so many commands wait, and returns the last one.
func (w *wired) one(t *testing.T, n int) *command {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.gate.Of(w.sender)) == n }, 5*time.Second, time.Millisecond)
	return w.gate.Of(w.sender)[n-1]
}

// wrote reports whether a write of the stock was sent on.
func (w *wired) wrote() bool {
	_, wrote := w.gate.logOf(w.sender)
	return wrote
}

func (w *wired) set(t *testing.T, key string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.rdb.Set(context.Background(), key, "1", 0).Err() }()
	return done
}

func TestAWireHoldsACommandUntilItIsLetThrough(t *testing.T) {
	w := newWired(t)
	done := w.set(t, "k")
	cmd := w.one(t, 1)
	assert.Equal(t, "set stock", cmd.Text())
	assert.True(t, cmd.writesStock())
	time.Sleep(20 * time.Millisecond)
	assert.False(t, w.redis.Exists("k"))
	require.True(t, w.gate.Decide(cmd, schedule.Pass))
	require.NoError(t, <-done)
	<-cmd.done
	assert.True(t, w.redis.Exists("k"))
	assert.True(t, w.wrote())
	assert.False(t, w.gate.Decide(cmd, schedule.Pass), "it waits no more")
}

func TestARequestIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, "k")
	cmd := w.one(t, 1)
	begun := time.Now()
	require.True(t, w.gate.Decide(cmd, schedule.LostRequest))
	<-cmd.done
	require.Error(t, <-done)
	assert.GreaterOrEqual(t, time.Since(begun), w.lost)
	assert.False(t, w.redis.Exists("k"))
	assert.False(t, w.wrote())
}

func TestAReplyIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, "k")
	cmd := w.one(t, 1)
	require.True(t, w.gate.Decide(cmd, schedule.LostReply))
	<-cmd.done
	assert.True(t, w.redis.Exists("k"))
	require.Error(t, <-done)
	assert.True(t, w.wrote())
	w.gate.OpenAll()
	assert.NoError(t, <-w.set(t, "other"), "on a new connection")
}

func TestAServerThatIsDownRefuses(t *testing.T) {
	w := newWired(t)
	w.gate.Change(func() { w.server.Down = true })
	w.closeIdle()
	done := w.set(t, "k")
	require.Eventually(t, func() bool {
		select {
		case <-done: // the client had not heard yet that its connection is closed
			done = w.set(t, "k")
		default:
		}
		return len(w.gate.Of(w.sender)) == 1
	}, 5*time.Second, time.Millisecond)
	require.True(t, w.gate.Decide(w.one(t, 1), schedule.Pass))
	require.Error(t, <-done)
	assert.False(t, w.redis.Exists("k"))
	w.gate.Change(func() { w.server.Down = false })
	w.gate.OpenAll()
	assert.NoError(t, <-w.set(t, "k"))
}

func TestARequestWhoseConnectionIsClosedIsNeverSentOn(t *testing.T) {
	w := newWired(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	impatient := redis.NewClient(&redis.Options{Addr: w.host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true,
		ContextTimeoutEnabled: true})
	defer impatient.Close()
	require.Error(t, impatient.Set(ctx, "k", "1", 0).Err())
	require.Eventually(t, func() bool { return len(w.gate.Of(w.sender)) == 0 }, 5*time.Second, time.Millisecond)
	w.gate.OpenAll()
	require.NoError(t, <-w.set(t, "other"))
	assert.False(t, w.redis.Exists("k"))
}

// A script that the server does not know is sent twice, and is one step.
func TestAScriptIsOneStep(t *testing.T) {
	w := newWired(t)
	for _, d := range []schedule.Decision{schedule.Pass, schedule.LostReply} {
		w.redis.FlushAll()
		require.NoError(t, w.flushScripts())
		done := make(chan error, 1)
		go func() { done <- testScript.Run(context.Background(), w.rdb, []string{"n"}).Err() }()
		cmd := w.one(t, 1)
		assert.Equal(t, "eval:count", cmd.Name)
		require.True(t, w.gate.Decide(cmd, d))
		<-cmd.done
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

func TestATransactionIsOneStep(t *testing.T) {
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

func TestAMessageIsHeldAndCanBeDropped(t *testing.T) {
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

// come brings commands to a gate, one after the other.
func (g *gate) come(t *testing.T, commands ...*command) {
	t.Helper()
	for _, cmd := range commands {
		before := g.Happened()
		go g.wait(cmd, t.Context().Done())
		require.Eventually(t, func() bool { return g.Happened() > before }, 5*time.Second, time.Millisecond)
	}
}

// waits returns a command that waits at a gate.
func waits(c *participant, server int, name string) *command {
	return &command{Command: schedule.Command{Client: &c.Client, Name: name, Message: name == "message",
		Server: &schedule.Server{Index: server, Name: []string{"stock", "lock"}[server]}}}
}

func named(index int, name string) *participant {
	return &participant{Client: schedule.Client{Index: index, Name: name}}
}

// The order in which a client's commands are named does not depend on which came first.
func TestWaitingCommandsAreOrdered(t *testing.T) {
	g := newGate(nil)
	g.begin()
	c := named(0, "a")
	g.come(t, waits(c, 1, "set"), waits(c, 0, "set"), waits(c, 1, "eval:renew"), waits(c, 0, "get"),
		waits(named(1, "b"), 0, "get"))
	assert.Equal(t, "a (get stock), a2 (set stock), a3 (eval:renew lock), a4 (set lock)", g.text([]*participant{c}))
	assert.Equal(t, "nothing", g.text(nil))
}

// What a client sends by itself while another one's step is taken came because time has passed.
func TestACommandThatComesEarlyIsNoted(t *testing.T) {
	g := newGate(nil)
	g.begin()
	a, b := named(0, "a"), named(1, "b")
	g.stepping = &a.Client
	g.come(t, waits(a, 0, "get"))
	assert.False(t, g.takeEarly())
	g.come(t, waits(b, 0, "message"))
	assert.False(t, g.takeEarly(), "a message comes from another client")
	g.come(t, waits(b, 0, "get"))
	assert.True(t, g.takeEarly())
	assert.False(t, g.takeEarly())
}

func TestRequestsAreReadToTheirEnd(t *testing.T) {
	const get, multi, exec = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n"
	for text, whole := range map[string]bool{
		get: true, get + get: true, multi + get + exec: true, "": false, get[:9]: false, multi: false, multi + get: false,
		get + get[:3]: false,
	} {
		_, is, err := parseRequest([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, whole, is, text)
	}
	for _, text := range []string{"GET k\r\n", "*x\r\n", "*1\r\n:1\r\n"} {
		_, _, err := parseRequest([]byte(text))
		assert.Error(t, err, text)
	}
}
