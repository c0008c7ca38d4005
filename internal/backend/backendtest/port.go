package backendtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// The ports lie below the ephemeral ones, which the system gives to clients, and below those of the load test. A test
// process has a block of them.
const (
	lowestPort = 10240
	blockPorts = 128
	portBlocks = 32
)

// FreePort returns a free port of 127.0.0.1. No other test process gets it, even while its server is starting or
// restarting. This one reuses it after all others of its block.
func FreePort(t testing.TB) int {
	t.Helper()
	block := ownBlock()
	if block == nil {
		t.Fatalf("no free ports from %d on", lowestPort)
	}
	first := block.Addr().(*net.TCPAddr).Port
	for range blockPorts {
		port := first + 1 + int(lastPort.Add(1)%(blockPorts-1))
		if l, err := listenOn(port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no free port from %d to %d", first, first+blockPorts-1)
	return 0
}

// lastPort counts the ports tried.
var lastPort atomic.Uint32

// ownBlock claims a block, for as long as this process listens on its first port. It returns nil if all have an owner.
var ownBlock = sync.OnceValue(func() net.Listener {
	begin := rand.IntN(portBlocks)
	for i := range portBlocks {
		if l, err := listenOn(lowestPort + (begin+i)%portBlocks*blockPorts); err == nil {
			return l
		}
	}
	return nil
})

func listenOn(port int) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
