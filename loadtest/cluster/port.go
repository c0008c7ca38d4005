package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The servers' ports lie below the ephemeral ports, so that no client connection occupies the port of a server that
// restarts.
const (
	lowestPort = 14336
	blockPorts = 256
	portBlocks = 69
)

// A portPool hands out ports. A server or a link that is down keeps its port without listening on it, so no port is
// handed out twice while others are left, and no other run on this machine gets it. A process owns whole blocks of
// ports, each while it listens on the block's first port.
type portPool struct {
	mu    sync.Mutex
	owned []net.Listener // the last is the block in use
	next  int            // the port in that block to try next; 0 before the first block
}

// ourPorts are those of this process.
var ourPorts portPool

// freePort returns a port of this process's blocks on which nothing listens.
func freePort() (int, error) { return ourPorts.free() }

func (p *portPool) free() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for range 2 * blockPorts {
		if p.next%blockPorts == 0 {
			if err := p.turn(); err != nil {
				return 0, err
			}
		}
		port := portOf(p.owned[len(p.owned)-1]) + p.next
		p.next++
		var l net.Listener
		if l, err = listenOn(port); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// turn moves on to an unowned block or, if all are owned, to the oldest of our own. It starts at random, so that runs
// that start together seldom collide.
func (p *portPool) turn() error {
	l, err := unowned()
	switch {
	case err != nil && len(p.owned) == 0:
		return fmt.Errorf("no free ports from %d on: %w", lowestPort, err)
	case err != nil:
		l, p.owned = p.owned[0], p.owned[1:]
	}
	p.owned, p.next = append(p.owned, l), 1
	return nil
}

// unowned takes an unowned block, and returns its listener. It fails if all are owned.
func unowned() (l net.Listener, err error) {
	first := rand.IntN(portBlocks)
	for i := range portBlocks {
		if l, err = listenOn(lowestPort + (first+i)%portBlocks*blockPorts); err == nil {
			return l, nil
		}
	}
	return nil, err
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}
