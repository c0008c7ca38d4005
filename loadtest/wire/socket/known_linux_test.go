package socket

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A connection that waits to be accepted is on its way.
func TestListenerIsCalled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	assert.False(t, IsCalled(l))
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	assert.True(t, IsCalled(l))
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	assert.False(t, IsCalled(l))
}
