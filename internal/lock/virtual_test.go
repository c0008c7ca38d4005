package lock

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend/backendtest"
)

// onEmbedded runs a test of a rung on the embedded Redis. A rung that needs nothing else gets a bubble of
// testing/synctest, where time is virtual: a test does not wait, and no lease ends early because the machine is busy. A
// rung that needs a database gets real time, because the database reads the machine's clock. The test cannot call t.Run
// or t.Parallel.
func onEmbedded(t *testing.T, id string, nodes int, test func(t *testing.T, s *shop, r Rung)) {
	t.Helper()
	r := rung(t, id)
	if !onRedisAlone(r) {
		backendtest.Long(t)
		test(t, newShop(t, backendtest.StartEmbedded, nodes), r)
		return
	}
	synctest.Test(t, func(t *testing.T) { test(t, newShop(t, backendtest.StartVirtual, nodes), r) })
}

// onEachShop runs a test of a rung on each kind of server: on the embedded Redis as onEmbedded does, and on
// redis-server in real time, which go test -short skips.
func onEachShop(t *testing.T, id string, nodes int, test func(t *testing.T, s *shop, r Rung)) {
	t.Helper()
	t.Run(backendtest.Embedded, func(t *testing.T) { onEmbedded(t, id, nodes, test) })
	t.Run(backendtest.RedisServer, func(t *testing.T) {
		backendtest.Require(t)
		backendtest.Long(t)
		test(t, newShop(t, backendtest.StartRedis, nodes), rung(t, id))
	})
}

// onRungs runs a test of each of these rungs as onEmbedded does, in parallel.
func onRungs(t *testing.T, ids []string, nodes int, test func(t *testing.T, s *shop, r Rung)) {
	t.Helper()
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			onEmbedded(t, id, nodes, test)
		})
	}
}

// deadVirtual is deadNode in virtual time.
func deadVirtual(serve func(conn net.Conn)) *backendtest.Server {
	return backendtest.Virtual(func(conn net.Conn) {
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	})
}

// onRedisAlone reports whether a rung needs no server, or none but Redis.
func onRedisAlone(r Rung) bool {
	return !slices.ContainsFunc(r.Needs, func(need string) bool { return need != NeedRedis && need != NeedRedlock })
}

// onEach runs a test of a rung on each kind of server, with two instances, and a client for plain commands, as another
// program could send them. See onEachShop.
func onEach(t *testing.T, id string, test func(t *testing.T, a, b *instance, bare redis.UniversalClient)) {
	t.Helper()
	onEachShop(t, id, 0, func(t *testing.T, s *shop, r Rung) {
		test(t, s.instance(t, r), s.instance(t, r), backendtest.Client(t, s.redis))
	})
}
