package replay

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	w, err := newWire(g, &sender{name: "a"}, &server{name: "stock", host: redisServer.Addr()}, 50*time.Millisecond)
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: w.host(), MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() {
		_ = rdb.Close()
		w.Close()
	})
	require.NoError(t, rdb.Ping(t.Context()).Err())
	g.close()
	return &wired{w, redisServer, rdb}
}

// one waits until so many commands wait, and returns the last one.
func (w *wired) one(t *testing.T, n int) *command {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.gate.of(w.sender)) == n }, 5*time.Second, time.Millisecond)
	return w.gate.of(w.sender)[n-1]
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
	assert.Equal(t, "set stock", cmd.text())
	assert.True(t, cmd.writes)
	time.Sleep(20 * time.Millisecond)
	assert.False(t, w.redis.Exists("k"))
	require.True(t, w.gate.decide(cmd, pass))
	require.NoError(t, <-done)
	<-cmd.done
	assert.True(t, w.redis.Exists("k"))
	assert.True(t, w.sender.wrote)
	assert.False(t, w.gate.decide(cmd, pass), "it waits no more")
}

func TestARequestIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, "k")
	cmd := w.one(t, 1)
	begun := time.Now()
	require.True(t, w.gate.decide(cmd, loseRequest))
	<-cmd.done
	require.Error(t, <-done)
	assert.GreaterOrEqual(t, time.Since(begun), w.lost)
	assert.False(t, w.redis.Exists("k"))
	assert.False(t, w.sender.wrote)
}

func TestAReplyIsLost(t *testing.T) {
	w := newWired(t)
	done := w.set(t, "k")
	cmd := w.one(t, 1)
	require.True(t, w.gate.decide(cmd, loseReply))
	<-cmd.done
	assert.True(t, w.redis.Exists("k"))
	require.Error(t, <-done)
	assert.True(t, w.sender.wrote)
	w.gate.openAll()
	assert.NoError(t, <-w.set(t, "other"), "on a new connection")
}

func TestAServerThatIsDownRefuses(t *testing.T) {
	w := newWired(t)
	w.gate.change(func() { w.server.down = true })
	w.closeIdle()
	done := w.set(t, "k")
	require.True(t, w.gate.decide(w.one(t, 1), pass))
	require.Error(t, <-done)
	assert.False(t, w.redis.Exists("k"))
	w.gate.change(func() { w.server.down = false })
	w.gate.openAll()
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
	require.Eventually(t, func() bool { return len(w.gate.of(w.sender)) == 0 }, 5*time.Second, time.Millisecond)
	w.gate.openAll()
	require.NoError(t, <-w.set(t, "other"))
	assert.False(t, w.redis.Exists("k"))
}

// A script that the server does not know is sent twice, and is one step.
func TestAScriptIsOneStep(t *testing.T) {
	w := newWired(t)
	for _, d := range []decision{pass, loseReply} {
		w.redis.FlushAll()
		require.NoError(t, w.flushScripts())
		done := make(chan error, 1)
		go func() { done <- testScript.Run(context.Background(), w.rdb, []string{"n"}).Err() }()
		cmd := w.one(t, 1)
		assert.Equal(t, "eval:count", cmd.name)
		require.True(t, w.gate.decide(cmd, d))
		<-cmd.done
		n, err := w.redis.Get("n")
		require.NoError(t, err)
		assert.Equal(t, "1", n, "it was carried out, once")
		if d == pass {
			assert.NoError(t, <-done)
		} else {
			assert.Error(t, <-done)
		}
		assert.Empty(t, w.gate.of(w.sender))
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
	assert.Equal(t, "exec stock", cmd.text())
	require.True(t, w.gate.decide(cmd, pass))
	require.NoError(t, <-done)
}

func TestAMessageIsHeldAndCanBeDropped(t *testing.T) {
	w := newWired(t)
	subscription := w.rdb.Subscribe(t.Context(), "news")
	defer subscription.Close()
	require.True(t, w.gate.decide(w.one(t, 1), pass))
	_, err := subscription.Receive(t.Context())
	require.NoError(t, err)
	for _, text := range []string{"dropped", "first", "second"} {
		w.redis.Publish("news", text)
	}
	messages := subscription.Channel()
	for i, d := range []decision{refuse, pass, pass} {
		cmd := w.one(t, 1)
		assert.True(t, cmd.message)
		assert.Equal(t, "gets the message", cmd.text())
		require.True(t, w.gate.decide(cmd, d))
		if i > 0 {
			assert.Equal(t, []string{"first", "second"}[i-1], (<-messages).Payload)
		}
	}
	assert.Empty(t, messages)
}

// The order in which a client's commands are named does not depend on which came first.
func TestWaitingCommandsAreOrdered(t *testing.T) {
	g := newGate(nil)
	g.close()
	c := &sender{name: "a"}
	stock, lock := &server{index: 0, name: "stock"}, &server{index: 1, name: "lock"}
	for _, cmd := range []*command{
		{sender: c, server: lock, name: "set"}, {sender: c, server: stock, name: "set"},
		{sender: c, server: lock, name: "eval:renew"}, {sender: c, server: stock, name: "get"},
		{sender: &sender{name: "b"}, server: stock, name: "get"},
	} {
		assert.False(t, g.add(cmd))
	}
	var names []string
	for _, cmd := range g.of(c) {
		names = append(names, cmd.text())
	}
	assert.Equal(t, []string{"get stock", "set stock", "eval:renew lock", "set lock"}, names)
	assert.Equal(t, "a (get stock), a2 (set stock), a3 (eval:renew lock), a4 (set lock)", g.text([]*sender{c}))
	assert.Equal(t, "nothing", g.text(nil))
}

// What a client sends by itself while another one's step is taken came because time has passed.
func TestACommandThatComesEarlyIsNoted(t *testing.T) {
	g := newGate(nil)
	g.close()
	a, b, stock := &sender{name: "a"}, &sender{index: 1, name: "b"}, &server{name: "stock"}
	g.stepping = a
	g.add(&command{sender: a, server: stock, name: "get"})
	assert.False(t, g.takeEarly([]*sender{a, b}))
	g.add(&command{sender: b, server: stock, name: "message", message: true})
	assert.False(t, g.takeEarly([]*sender{a, b}), "a message comes from another client")
	g.add(&command{sender: b, server: stock, name: "get"})
	assert.True(t, g.takeEarly([]*sender{a, b}))
	assert.False(t, g.takeEarly([]*sender{a, b}))
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
