package shop

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

func TestNumberFromShell(t *testing.T) {
	t.Parallel()
	trial := withShell(t)
	n, err := trial.numberFrom(t.Context(), "echo; echo ' 7 '")
	require.NoError(t, err)
	assert.EqualValues(t, 7, n)
	for line, wrong := range map[string]string{
		"echo seven":                           `it printed "seven", not a number`,
		"echo 7; echo 8":                       `it printed "7 8", not a number`,
		"echo hint >&2; echo gone >&2; exit 3": "exit status 3; last output: gone",
	} {
		_, err := trial.numberFrom(t.Context(), line)
		assert.ErrorContains(t, err, wrong, line)
	}
}

// A write in flight arrives between two readings.
func TestNumberSettles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "n")
	require.NoError(t, os.WriteFile(file, []byte("0\n"), 0o600))
	n, err := withShell(t).settledNumber(t.Context(),
		"read n <"+file+"; n=$((n+1)); echo $n >"+file+"; [ $n -gt 3 ] && n=3; echo $n")
	require.NoError(t, err)
	assert.EqualValues(t, 3, n)
}

// A program's exit code is its answer, and its last line the detail. Without an answer the outcome is unknown.
func TestOrdersByProgram(t *testing.T) {
	t.Parallel()
	s := withShell(t)
	run := func(ctx context.Context, line string, sold *regexp.Regexp) *Order {
		o := s.NewOrder("", AtA, history.Buy)
		o.Send(ctx, func(ctx context.Context) history.Op {
			return o.begin(ctx, func(ctx context.Context) { o.run(ctx, s.Bed.Shell, line, sold) })
		})
		return o
	}
	long := "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo 01234567890123456789012345678901234567890123456789; done; "
	for line, want := range map[string]struct {
		outcome history.Outcome
		detail  string
	}{
		"echo one; echo two; echo":    {history.Sold, "exit 0: two"},
		"exit 0":                      {history.Sold, "exit 0"},
		"echo sold out; exit 1":       {history.Busy, "exit 1: sold out"},
		"echo why >&2; exit 1":        {history.Busy, "exit 1: why"},
		"echo oops; exit 2":           {history.Unknown, "exit 2: oops"},
		"kill -9 $$":                  {history.Unknown, "exit -1"},
		"no-such-program-at-all":      {history.Unknown, "exit 127"},
		"sleep 30 & echo forked":      {history.Sold, "exit 0: forked"},
		long + "echo the last line":   {history.Sold, "exit 0: the last line"},
		"exec 0<&-; read x || exit 1": {history.Busy, "exit 1"},
	} {
		o := run(t.Context(), line, nil)
		<-o.Done()
		assert.Equal(t, want.outcome, o.Op.Outcome, line)
		assert.Contains(t, o.Op.Detail, want.detail, line)
		assert.Equal(t, want.outcome == history.Unknown, o.Ended.IsZero(), line)
		assert.False(t, o.Left, line)
	}
	sold := regexp.MustCompile(`"ok":true`)
	for line, want := range map[string]history.Outcome{`echo '{"ok":true}'`: history.Sold,
		`echo '{"ok":false}'`: history.Busy, `echo '{"ok":true}'; exit 1`: history.Busy} {
		o := run(t.Context(), line, sold)
		<-o.Done()
		assert.Equal(t, want, o.Op.Outcome, line)
	}
	o := run(t.Context(), "sleep 30", nil)
	o.HangUp()
	assert.True(t, o.Left)
	assert.Equal(t, history.Unknown, o.Op.Outcome)
}

// A program gets the addresses of its instance, and that of the database itself.
func TestPlaceholdersOfProgram(t *testing.T) {
	s := &Shop{Options: Options{Database: "10.0.0.7:5432", Product: "7"}}
	p := &Pair{Shop: s, Rig: &rig.Rig{Ends: []*rig.End{{In: &cluster.Instance{URL: "http://127.0.0.1:8001"}}},
		Stores: []*wire.Store{{Server: &schedule.Server{Host: "127.0.0.1:6379"}}}}}
	assert.Equal(t, "http://127.0.0.1:8001 8001 6379 10.0.0.7 5432 7",
		p.filled(p.addresses(0).Replace("{url} {port} {redis_port} {db_host} {db_port} {product}"), 0))
	assert.False(t, s.CustomersDiffer())
	s.Order.Program = "buy {order}"
	assert.True(t, s.CustomersDiffer())
}

// withShell returns a shop that runs shell commands.
func withShell(t *testing.T) *Shop {
	t.Helper()
	bed, _, err := rig.OpenForeign(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bed.Close()) })
	return &Shop{Bed: bed}
}
