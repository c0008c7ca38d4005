package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// A Redis that gives locks away is warned of, whether it has those of all rungs or is a node of Redlock.
func TestARedisThatEvictsLocks(t *testing.T) {
	backendtest.Require(t)
	const warning = "this Redis gives locks away when its memory is full"
	s, node := backendtest.StartRedis(t), backendtest.StartRedis(t)
	for policy, warned := range map[string]bool{"allkeys-lru": true, "volatile-ttl": true, "noeviction": false} {
		set := []any{"CONFIG", "SET", "maxmemory-policy", policy}
		require.NoError(t, backendtest.Client(t, s).Do(t.Context(), set...).Err())
		r := start(t, "--redis", s.URL, "--redis-timeout", "10s")
		assert.Equal(t, warned, strings.Contains(r.logs.text(), warning), policy)
		require.NoError(t, backendtest.Client(t, node).Do(t.Context(), set...).Err())
		for tries := 0; tries < 10; tries++ { // a busy node may not have answered in time
			r = start(t, "--redis", backendtest.StartEmbedded(t).URL, "--redlock", node.URL)
			if !warned || strings.Contains(r.logs.text(), warning) {
				break
			}
		}
		assert.Equal(t, warned, strings.Contains(r.logs.text(), warning), policy)
	}
}
