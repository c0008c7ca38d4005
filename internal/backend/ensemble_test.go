package backend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// A client that names several servers of an ensemble goes to the next one if one does not answer, with its session.
func TestTheNextServerOfAnEnsemble(t *testing.T) {
	server := backendtest.StartZooKeeper(t)
	z, err := backend.OpenZooKeeper("127.0.0.1:1,"+server.Address+",127.0.0.1:2",
		backend.ZooKeeperOptions{Session: 10 * time.Second, Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer z.Close()
	require.NoError(t, z.Ping(t.Context()))
	session := z.SessionID()

	server.Kill()
	server.Start(t)
	require.NoError(t, z.Ping(t.Context()), "the others still do not answer")
	assert.Equal(t, session, z.SessionID())
}
