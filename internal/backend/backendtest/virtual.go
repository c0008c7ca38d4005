package backendtest

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// StartVirtual starts an embedded Redis for a bubble of testing/synctest. Its TTLs and its TIME follow the clock of the
// bubble. It listens on no port: only [Client] connects to it, in memory, because a goroutine that waits for the
// network keeps the clock from moving on.
func StartVirtual(t testing.TB) *Server {
	t.Helper()
	redis := miniredis.NewMiniRedis()
	unused, err := redis.Dial() // starts it without a port
	if err != nil {
		t.Fatal(err)
	}
	_ = unused.Close()
	redis.ClockTTL(true)
	t.Cleanup(redis.Close)
	return Virtual(redis.Server().ServeConn)
}

// Virtual returns a server of StartVirtual's kind that is only a function: it gets the server's end of each connection,
// and returns at once.
func Virtual(serve func(net.Conn)) *Server {
	return &Server{URL: "redis://virtual", Kind: Embedded,
		dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			serve(server)
			return client, nil
		}}
}

// virtualPool is the number of connections that a client may have to a virtual server. No command should have to wait
// for one: go-redis uses the timer of such a wait again, and a timer must not leave its bubble.
const virtualPool = 256
