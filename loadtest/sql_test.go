package main

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
)

// databaseIsHere runs what needs no time on that kind of server, and skips the test where there is none, or fails it
// where STOCKAPI_REQUIRE asks for one.
func databaseIsHere(t *testing.T, kind string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no process can be stopped here")
	}
	code, _, stderr := measured(t, "--stockapi", stockapi(t), "--backend", "embedded", "--sql", kind,
		"--rungs", "v12", "--scenarios", "nested")
	if code == couldNotRun && strings.Contains(stderr, "install it") &&
		!strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), kind) {
		t.Skip(stderr)
	}
	require.Equal(t, asExpected, code, stderr)
}

func TestLocksOnDatabaseServers(t *testing.T) {
	for _, kind := range []string{cluster.MariaDB, cluster.Postgres} {
		t.Run(kind, func(t *testing.T) {
			databaseIsHere(t, kind)
			path, left := stockapi(t), ownTemp(t)
			code, stdout, stderr := measured(t, "--stockapi", path, "--backend", "embedded", "--sql", kind, "--at-once", "4",
				"--rungs", "v12,v12-session",
				"--scenarios", "two-instances,pause,nested,cut-off,reply-lost,late-reply,redis-down,node-restart,clock-jump")
			assert.Equal(t, asExpected, code, stdout+stderr)
			assert.Regexp(t, `(MariaDB|PostgreSQL), its own, at 127\.0\.0\.1:`, stdout)
			assert.Regexp(t, `(?m)^pause +SE +ok$`, stdout)
			assert.Regexp(t, `(?m)^node-restart +ok +E$`, stdout)
			assert.Regexp(t, `(?m)^clock-jump +SE +ok$`, stdout)
			assert.Empty(t, left())
		})
	}
}

func TestLocksInAFile(t *testing.T) {
	path, left := stockapi(t), ownTemp(t)
	code, stdout, stderr := measured(t, "--stockapi", path, "--backend", "embedded", "--sql", "sqlite",
		"--rungs", "v12,v12-session",
		"--scenarios", "two-instances,nested,cut-off,node-restart")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^backend .*, v12 in an SQLite file$`, stdout)
	assert.Regexp(t, `(?m)^nested +ok +n/r$`, stdout)
	assert.Regexp(t, `(?m)^cut-off +n/r +n/r$`, stdout)
	assert.Contains(t, stdout, "not run, 3: needs MariaDB or PostgreSQL\n")
	assert.Contains(t, stdout, "not run, 2: needs MariaDB or PostgreSQL: a lock in a file has no server, "+
		"and no way to it\n")
	assert.Empty(t, left())
}

func TestNoDatabaseOutlivesALoadtestThatIsKilled(t *testing.T) {
	for _, kind := range []string{cluster.MariaDB, cluster.Postgres} {
		t.Run(kind, func(t *testing.T) {
			needsProc(t)
			databaseIsHere(t, kind)
			path, left := stockapi(t), ownTemp(t)
			killedUnderWay(t, func() {
				assert.Contains(t, strings.Join(left(), "\n"), "connections=400", "the server")
			}, "--stockapi", path, "--backend", "embedded", "--sql", kind, "--rungs", "v12-session", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(left()) == 0 }, 20*time.Second, 20*time.Millisecond)
		})
	}
}
