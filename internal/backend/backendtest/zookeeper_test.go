package backendtest_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

func TestMain(m *testing.M) {
	backend.Silence()
	goleak.VerifyTestMain(m, goleak.Cleanup(backendtest.Share()))
}

// A test finds no nodes of the server's previous test, and no server that another test has killed.
func TestASharedZooKeeperIsEmpty(t *testing.T) {
	var addresses []string
	use := func(kill bool) func(t *testing.T) {
		return func(t *testing.T) {
			s := backendtest.StartZooKeeper(t)
			conn := s.Raw(t)
			nodes, _, err := conn.Children("/")
			require.NoError(t, err)
			assert.Equal(t, []string{"zookeeper"}, nodes)
			for _, path := range []string{"/orders", "/orders/1", "/orders/1/lock"} {
				_, err = conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
			}
			if kill {
				s.Kill()
			}
			addresses = append(addresses, s.Address)
		}
	}
	t.Run("first", use(false))
	t.Run("second", use(true))
	t.Run("third", use(false))
	if len(addresses) == 3 { // and none where there is no ZooKeeper
		assert.Equal(t, addresses[0], addresses[1])
		assert.NotEqual(t, addresses[1], addresses[2])
	}
}
