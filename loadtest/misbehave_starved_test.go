//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// A client out of file descriptors measures itself: the shop is not accused for requests that never reached it.
func TestClientOutOfFileDescriptors(t *testing.T) {
	shop, _ := newShop()
	url, dir := shop.serve(t), t.TempDir()
	// The hard limit goes down as well: Go raises the soft one to it.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 48 && exec "$0" "$@"`, os.Args[0],
		"--targets", url, "--scenarios", "one-instance", "--rungs", "v4", "--requests", "400", "--concurrency", "200",
		"--out", dir)
	cmd.Env = append(os.Environ(), "LOADTEST_TEST_MAIN=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out.String())
	assert.Equal(t, couldNotRun, exit.ExitCode(), out.String())
	assert.Less(t, shop.arrived(), 400, "some were not sent")
	assert.Regexp(t, `(?i)too many open files|file descriptors|no files`, out.String())
	recorded, err := history.Open(dir)
	require.NoError(t, err)
	c := recorded.Cells[0]
	assert.Equal(t, history.Invalid, c.Finding(history.Valid).Result, out.String())
	for _, v := range history.Verdicts {
		assert.Contains(t, []history.Result{history.Indeterminate, history.NotApplicable}, c.Finding(v).Result, v)
	}
	assert.Positive(t, c.Tally().NotSent)
	assert.Zero(t, c.Tally().NotSold, "the shop did not answer these")
}
