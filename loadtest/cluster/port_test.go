package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A port that nobody listens on may be that of a server which is down, and comes back.
func TestNoPortIsHandedOutTwice(t *testing.T) {
	seen := map[int]bool{}
	for range 5000 {
		port, err := freePort()
		require.NoError(t, err)
		assert.False(t, seen[port], port)
		seen[port] = true
	}
}
