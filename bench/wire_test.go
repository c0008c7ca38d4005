package main

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// rueidis, which is no dependency of the service, sends all on one connection and has its server track what it reads. A
// wire takes it as it is: a write that it holds holds no other command, and a reply that it loses is one.
func TestRueidisOverAWire(t *testing.T) {
	backendtest.Require(t)
	u, err := url.Parse(backendtest.StartRedis(t).URL)
	require.NoError(t, err)
	gate, sender := wire.NewGate(nil), &schedule.Client{Name: "a"}
	w, err := wire.New(gate, sender, &schedule.Server{Name: "stock", Host: u.Host}, 0)
	require.NoError(t, err)
	defer w.Close()
	u.Host = w.Host()
	o, err := rueidis.ParseURL(u.String())
	require.NoError(t, err)
	o.PipelineMultiplex = -1
	c, err := rueidis.NewClient(o)
	require.NoError(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	do := func(verb, key string, args ...string) error {
		return c.Do(ctx, c.B().Arbitrary(verb).Keys(key).Args(args...).Build()).Error()
	}
	stock := func() string {
		text, err := c.DoCache(ctx, c.B().Get().Key("stock").Cache(), time.Minute).ToString()
		assert.NoError(t, err)
		return text
	}
	require.NoError(t, do("SET", "stock", "10"))
	require.NoError(t, do("SET", "lock", "one", "NX", "PX", "60000"))
	assert.True(t, rueidis.IsRedisNil(do("SET", "lock", "two", "NX", "PX", "60000")))
	assert.Equal(t, "10", stock())

	// begin sends a command, and returns it when it waits at the gate.
	begin := func(verb, key string, args ...string) (*wire.Command, <-chan error) {
		done := make(chan error, 1)
		go func() { done <- do(verb, key, args...) }()
		var waits *wire.Command
		require.Eventually(t, func() bool {
			for _, cmd := range gate.Of(sender) {
				if strings.EqualFold(cmd.Name, verb) {
					waits = cmd
				}
			}
			return waits != nil
		}, 10*time.Second, time.Millisecond)
		return waits, done
	}
	gate.Close()
	set, written := begin("SET", "stock", "9")
	renewal, renewed := begin("PEXPIRE", "lock", "60000")
	gate.Decide(renewal, schedule.Pass)
	<-renewal.Done()
	assert.Empty(t, written)
	gate.Decide(set, schedule.Pass)
	require.NoError(t, <-written)
	require.NoError(t, <-renewed)
	incr, lost := begin("INCR", "lost")
	gate.Decide(incr, schedule.LostReply)
	require.Error(t, <-lost)
	gate.OpenAll()
	assert.Eventually(t, func() bool { return stock() == "9" }, 10*time.Second, time.Millisecond, "Redis tells of it")
	release := rueidis.NewLuaScript("return redis.call('del', KEYS[1])")
	released, err := release.Exec(ctx, c, []string{"lock"}, nil).AsInt64()
	require.NoError(t, err)
	assert.Equal(t, int64(1), released)
	var pipeline rueidis.Commands
	for range 16 {
		pipeline = append(pipeline, c.B().Incr().Key("lost").Build())
	}
	for i, one := range c.DoMulti(ctx, pipeline...) {
		n, err := one.AsInt64()
		require.NoError(t, err)
		assert.Equal(t, int64(i+2), n)
	}
	got := map[string]int{}
	for _, one := range gate.Log() {
		got[one.Name]++
		assert.False(t, one.Sent.Before(one.Came) || one.Answered.Before(one.Sent), "%+v", one)
	}
	assert.Equal(t, 17, got["incr"])
	assert.Equal(t, 1, got["eval"], "EVALSHA and then EVAL")
}
