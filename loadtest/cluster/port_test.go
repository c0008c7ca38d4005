package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A port without a listener may belong to a server that is down and will restart. Another run, here others, must not
// get it either.
func TestPortIsNotHandedOutTwice(t *testing.T) {
	var others portPool
	seen := map[int]bool{}
	for range 2000 {
		for _, p := range []*portPool{&ourPorts, &others} {
			port, err := p.free()
			require.NoError(t, err)
			assert.False(t, seen[port], port)
			seen[port] = true
		}
	}
	for _, l := range others.owned {
		assert.NoError(t, l.Close())
	}
}
