package main

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/cluster"
)

// skipWithout skips the test if a run says that such a server is not installed, unless STOCKAPI_REQUIRE asks for one.
func skipWithout(t *testing.T, kind, stderr string) {
	t.Helper()
	if strings.Contains(stderr, "install it") && !strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), kind) {
		t.Skip(stderr)
	}
}

func TestLocksOnDatabaseServers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no process can be stopped here")
	}
	for _, kind := range []string{cluster.MariaDB, cluster.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			stockapi(t)
			tmp := ownTemp(t)
			code, stdout, stderr := tmp.measured(t, "--backend", "embedded", "--sql", kind, "--at-once", "4",
				"--rungs", "v12,v12-session",
				"--scenarios", "two-instances,pause,nested,cut-off,reply-lost,late-reply,redis-down,node-restart,clock-jump")
			if code == couldNotRun {
				skipWithout(t, kind, stderr)
			}
			assert.Equal(t, asExpected, code, stdout+stderr)
			assert.Regexp(t, `(MariaDB|PostgreSQL), its own, at 127\.0\.0\.1:`, stdout)
			assert.Regexp(t, `(?m)^pause +SE +ok$`, stdout)
			assert.Regexp(t, `(?m)^node-restart +ok +E$`, stdout)
			assert.Regexp(t, `(?m)^clock-jump +SE +ok$`, stdout)
			assert.Empty(t, tmp.left(t))
		})
	}
}

func TestLocksInAFile(t *testing.T) {
	t.Parallel()
	stockapi(t)
	tmp := ownTemp(t)
	code, stdout, stderr := tmp.measured(t, "--backend", "embedded", "--sql", "sqlite",
		"--rungs", "v12,v12-session",
		"--scenarios", "two-instances,nested,cut-off,node-restart")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^backend .*, v12 in an SQLite file$`, stdout)
	assert.Regexp(t, `(?m)^nested +ok +nr$`, stdout)
	assert.Regexp(t, `(?m)^cut-off +nr +nr$`, stdout)
	assert.Contains(t, stdout, "not run, 4: needs MariaDB or PostgreSQL\n")
	assert.Contains(t, stdout, "not run, 2: needs MariaDB or PostgreSQL: a lock in a file has no server, "+
		"and no way to it\n")
	assert.Empty(t, tmp.left(t))
}

func TestNoDatabaseOutlivesALoadtestThatIsKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{cluster.MariaDB, cluster.Postgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			needsProc(t)
			stockapi(t)
			tmp := ownTemp(t)
			tmp.killedUnderWay(t, func(said string) {
				skipWithout(t, kind, said)
				assert.Contains(t, strings.Join(tmp.left(t), "\n"), "connections=400", "the server")
			}, "--backend", "embedded", "--sql", kind, "--rungs", "v12-session", "--repeat", "500")
			assert.Eventually(t, func() bool { return len(tmp.left(t)) == 0 }, 20*time.Second, 20*time.Millisecond)
		})
	}
}
