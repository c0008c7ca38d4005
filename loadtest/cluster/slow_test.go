//go:build unix

package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// hesitant is a shell script that stands in for a stockapi on a busy machine: it gives up on its Redis twice, and then
// serves.
const hesitant = `#!/bin/sh
echo x >> "$0.starts"
n=0
while read -r _; do n=$((n + 1)); done < "$0.starts"
if [ $n -lt 3 ]; then
  echo "stockapi: no Redis at redis://127.0.0.1:1 (i/o timeout): start one"
  exit 1
fi
echo '{"msg":"ready","url":"http://127.0.0.1:1"}'
while read -r _; do :; done
`

func TestSlowRedisIsRetriedOnlyIfOwn(t *testing.T) {
	for kind, starts := range map[string]int{"redis-server": 3, "url": 1} {
		c, ctx := newCluster(t)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		path := filepath.Join(t.TempDir(), "stockapi")
		c.stockapi = path
		require.NoError(t, os.WriteFile(path, []byte(hesitant), 0o700))
		in, err := c.StartInstance(ctx, "a",
			&Backend{Backend: history.Backend{Kind: kind}, URL: "redis://127.0.0.1:1"}, false)
		if kind == "url" {
			require.ErrorContains(t, err, "no Redis at")
		} else {
			require.NoError(t, err)
			assert.Equal(t, "http://127.0.0.1:1", in.URL)
		}
		text, err := os.ReadFile(path + ".starts")
		require.NoError(t, err)
		assert.Len(t, text, 2*starts, kind)
	}
}
