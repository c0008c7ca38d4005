package backendtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A free port may be that of a server which is still starting. Neither a neighbour gets it, nor a test of another
// package: the block has an owner.
func TestNoPortIsGivenTwice(t *testing.T) {
	seen := map[int]bool{}
	for range blockPorts / 2 {
		port := FreePort(t)
		assert.False(t, seen[port], port)
		seen[port] = true
		block := port - (port-lowestPort)%blockPorts
		_, err := listenOn(block)
		assert.Error(t, err, "another process could own the block at %d", block)
	}
}
