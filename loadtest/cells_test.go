package main

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// Whole runs on servers of their own: the matrix, the stories, and the audit of their files. CI runs all cells of the
// table with Sentinel, MariaDB and PostgreSQL, too.
func TestCells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  string
		says  []string
		check func(t *testing.T, dir string)
	}{
		"embedded": {args: "--backend embedded --at-once 8 --requests 150 --stock 50 --rungs v0.5,v1,v3,v5.5,v6,v15,v17 " +
			"--scenarios two-instances,crash,late-release,check-delete-gap,pause,cut-off,reply-lost,majority-down," +
			"node-restart,failover", says: []string{
			`(?m)^ +v0\.5 +v1 +v3 +v5\.5 +v6 +v15 +v17$`,
			`(?m)^two-instances +SE +ok +ok +ok +ok +ok +ok$`,
			`(?m)^crash +– +L +ok +ok +ok +ok +ok$`,
			`(?m)^late-release +– +ok +SE +ok +ok +ok +–$`,
			`(?m)^check-delete-gap +– +ok +R +ok +ok +ok +–$`,
			`(?m)^pause +– +ok +SE +SE +SE +E +ok$`,
			`(?m)^cut-off +– +L +SE +ok +ok +ok +ok$`,
			`(?m)^reply-lost +– +L +L +ok +ok +ok +–$`,
			`(?m)^majority-down +– +– +– +– +L +– +–$`,
			`(?m)^node-restart +– +SE +SE +SE +SE +E +–$`,
			`(?m)^failover +– +nr +nr +nr +– +nr +–$`,
			`needs redis-server`,
			`Do not compare the rungs' speed here`,
			`v0\.5: [ab] sold unit \d+ to order \d+ at .* again to order \d+ at`,
			`v5\.5 bounded 2 ok 50 100 0 0 0 0 0 0`,
			`crash v1: Anna on a, killed before set/stock at .*: a fresh request did not get through in \d+\.\d+s, ` +
				`b answered: 423`,
			`pause v5\.5: b sold unit 98 to Bert at \+\d\.\d+ s; a, stopped for \d\.\d+ s before set/stock under a lease ` +
				`of \d\.\d+ s, sold unit 98 again to Anna at \+\d\.\d+ s`,
			` v3: Anna on a, held for \d\.\d+ s before its release .* removed \S+ at .* although Bert on b had taken it`,
			`v6: b sold unit 98 to Bert at \S+ s; a, one of whose three nodes restarted empty, sold unit 98 again`,
			`as expected \(46 of 46 cells; 4 not run\)`,
		}, check: killedOrder},
		"a file": {args: "--backend embedded --sql sqlite --rungs v12,v12-session " +
			"--scenarios two-instances,nested,cut-off,node-restart", says: []string{
			`(?m)^backend .*, v12 in an SQLite file$`, `(?m)^nested +ok +nr$`, `(?m)^cut-off +nr +nr$`,
			`(?m)^not run, 4: needs MariaDB or PostgreSQL$`,
			`not run, 2: needs MariaDB or PostgreSQL: a lock in a file has no server, and no link to one`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("no process can be stopped here")
			}
			stockapi(t)
			dir, tmp := t.TempDir(), ownTemp(t)
			code, stdout, stderr := untilMeasured(t, tmp.loadtest, append(strings.Fields(c.args), "--verbose", "--out", dir)...)
			assert.Equal(t, asExpected, code, stdout+stderr)
			told := strings.Join(strings.Fields(stdout), " ") // unwrapped
			for _, says := range c.says {
				if !strings.HasPrefix(says, "(?m)") {
					assert.Regexp(t, says, told)
				} else {
					assert.Regexp(t, says, stdout)
				}
			}
			assert.Empty(t, tmp.left(t))
			code, again, _ := loadtest(t, "audit", "--verbose", dir)
			assert.Equal(t, asExpected, code)
			assert.Equal(t, stdout, longerLease.ReplaceAllString(again, "$1$2"))
			if c.check != nil {
				c.check(t, dir)
			}
		})
	}
}

// killedOrder checks the order whose instance was killed: it is known to have sold nothing.
func killedOrder(t *testing.T, dir string) {
	t.Helper()
	run, err := history.Open(dir)
	require.NoError(t, err)
	c := run.Cells[slices.IndexFunc(run.Cells, func(c *history.Cell) bool {
		return c.Scenario == "crash" && c.Rung == "v1"
	})]
	killed := c.Ops[slices.IndexFunc(c.Ops, func(op history.Op) bool { return op.Order == c.Product+"-anna" })]
	assert.Equal(t, history.NotSold, killed.Outcome)
	assert.Contains(t, killed.Detail,
		"a was killed before this order's write of the stock was sent")
}
