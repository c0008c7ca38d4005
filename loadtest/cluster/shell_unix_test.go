//go:build unix

package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster/family"
)

// leaves starts processes in the background, in its group and outside it, that keep its output open, writes their pids
// into the file of that name, and prints a number.
const leaves = `sleep 600 & echo $! >"$1.new"; setsid sh -c 'echo $$ >>"$0"; exec sleep 600' "$1.new" & sleep 0.2
mv "$1.new" "$1"; echo 7; echo gone >&2; `

// needs skips a test without these programs.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name + " on PATH")
		}
	}
}

// left returns the processes that the command of that file has left.
func left(t *testing.T, file string) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		all, err := family.All() // without those that wait to be reaped
		require.NoError(t, err)
		if slices.ContainsFunc(all, func(p family.Process) bool { return p.PID == pid }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// What a shell command leaves running ends with it, also if it is cut short.
func TestShellLeavesNothing(t *testing.T) {
	t.Parallel()
	needs(t, "sleep", "setsid", "mv")
	c, ctx := newCluster(t)
	for name, end := range map[string]string{"ends": "", "fails": "exit 3", "is cut short": "sleep 600"} {
		file := filepath.Join(t.TempDir(), "pids")
		limited, cancel := context.WithCancel(ctx)
		if end == "sleep 600" {
			go func() {
				for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
		}
		out, errs, err := c.Shell(limited, "set -- "+file+"\n"+leaves+end, false)
		cancel()
		switch name {
		case "ends":
			require.NoError(t, err)
			assert.Equal(t, "7\n", out)
			assert.Equal(t, []string{"gone"}, errs)
		case "fails":
			require.EqualError(t, err, "exit status 3")
		default:
			require.ErrorIs(t, err, context.Canceled)
		}
		assert.Empty(t, left(t, file), name)
	}
}

// What a lasting command leaves running ends with the cluster.
func TestShellThatLasts(t *testing.T) {
	t.Parallel()
	needs(t, "sleep", "setsid", "mv")
	c, ctx := newCluster(t)
	file := filepath.Join(t.TempDir(), "pids")
	out, _, err := c.Shell(ctx, "set -- "+file+"\n"+leaves, true)
	require.NoError(t, err)
	assert.Equal(t, "7\n", out)
	assert.Len(t, left(t, file), 2)
	require.NoError(t, c.Close())
	assert.Empty(t, left(t, file))
}

// Only the end of its output is kept.
func TestShellPrintsMuch(t *testing.T) {
	needs(t, "yes", "head")
	c, ctx := newCluster(t)
	out, _, err := c.Shell(ctx, "yes | head -c 1000000", false)
	require.NoError(t, err)
	assert.Len(t, []byte(out), mostOutput)
}
