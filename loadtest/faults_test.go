package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

func TestFaultsOnTheEmbeddedRedis(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be stopped here")
	}
	t.Parallel()
	stockapi(t)
	dir, tmp := t.TempDir(), ownTemp(t)
	code, stdout, stderr := tmp.measured(t, "--backend", "embedded", "--at-once", "4", "--verbose", "--out", dir,
		"--scenarios", "crash,late-release,check-delete-gap,pause,write-only-fence",
		"--rungs", "v1,v2,v3,v5.5,v15,v15-write-only,v17")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^ +v1 +v2 +v3 +v5\.5 +v15 +v15- +v17$`, stdout)
	assert.Regexp(t, `(?m)^crash +L +ok +ok +ok +ok +ok +ok$`, stdout)
	assert.Regexp(t, `(?m)^late-release +ok +SER +SE +ok +ok +ok +–$`, stdout)
	assert.Regexp(t, `(?m)^check-delete-gap +ok +R +R +ok +ok +ok +–$`, stdout)
	assert.Regexp(t, `(?m)^pause +ok +SE +SE +SE +E +E +ok$`, stdout)
	assert.Regexp(t, `(?m)^write-only-fence +– +– +– +– +E +SE +–$`, stdout)
	told := strings.Join(strings.Fields(stdout), " ") // however it was wrapped
	assert.Regexp(t, `crash v1: order 1 on a, killed before set/stock at .*: a fresh request did not get through `+
		`in \d+\.\d+s, b answered: 423`, told)
	assert.Regexp(t, `pause v5.5: b sold unit 98 to order 2 at \+\d\.\d+ s; a, stopped for \d\.\d+ s before set/stock `+
		`under a lease of \d\.\d+ s, `+
		`sold unit 98 again to order 1 at \+\d\.\d+ s`, told)
	assert.Regexp(t, ` v3: order 1 on a, held for \d\.\d+ s before its release .* removed \S+ at .* `+
		`although order 2 on b had taken it`, told)
	code, again, _ := loadtest(t, "audit", "--verbose", dir)
	assert.Equal(t, asExpected, code)
	assert.Equal(t, stdout, longerLease.ReplaceAllString(again, "$1$2"))
	assert.Empty(t, tmp.left(t))

	run, err := history.Read(dir)
	require.NoError(t, err)
	killed := run.Cells[0].Ops[slices.IndexFunc(run.Cells[0].Ops,
		func(op history.Op) bool { return op.Order == run.Cells[0].Product+"-1" })]
	assert.Equal(t, history.NotSold, killed.Outcome)
	assert.Contains(t, killed.Detail, "a was killed (crash@before:set/stock) "+
		"before this order's write of the stock was sent")
}

func TestFaultsOfTheNetworkAndTheServers(t *testing.T) {
	t.Parallel()
	stockapi(t)
	tmp := ownTemp(t)
	code, stdout, stderr := tmp.measured(t, "--backend", "embedded", "--at-once", "4",
		"--rungs", "v4,v5,v5.5,v6,v15",
		"--scenarios", "cut-off,reply-lost,late-reply,redis-down,minority-down,majority-down,"+
			"quorum-returns,node-restart,delayed-restart,clock-jump,failover")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^cut-off +SE +SE +ok +ok +ok$`, stdout)
	assert.Regexp(t, `(?m)^reply-lost +L +ok +ok +ok +ok$`, stdout)
	assert.Regexp(t, `(?m)^majority-down +– +– +– +L +–$`, stdout)
	assert.Regexp(t, `(?m)^failover +nr +nr +nr +– +nr$`, stdout)
	assert.Regexp(t, `b sold unit 98 to order 2 at \S+ s; a, one of whose three nodes `+
		`restarted empty,\s+sold\s+unit\s+98\s+again`, stdout)
	assert.Regexp(t, `needs redis-server`, stdout, "what cannot be had here has not passed")
	assert.Empty(t, tmp.left(t))
}

func TestFailoverThroughSentinel(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "redis-server") {
			t.Fatal("there is no redis-server on PATH")
		}
		t.Skip("needs redis-server on PATH")
	}
	t.Parallel()
	stockapi(t)
	tmp := ownTemp(t)
	code, stdout, stderr := tmp.measured(t, "--backend", "redis-server",
		"--rungs", "v5.5,v5.7,v6,v15,v17",
		"--scenarios", "failover,failover-lagging,node-failover,node-failover-delayed,split-brain,"+
			"split-brain-min-replicas,split-brain-in-lag,stock-failover")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^failover +SE +ok +– +E +–$`, stdout)
	assert.Regexp(t, `(?m)^failover-lagging +– +SE +– +– +–$`, stdout)
	assert.Regexp(t, `(?m)^node-failover +– +– +SE +– +–$`, stdout)
	assert.Regexp(t, `(?m)^node-failover-delayed +– +– +ok +– +–$`, stdout)
	assert.Regexp(t, `(?m)^split-brain +SE +ok +– +E +–$`, stdout)
	assert.Regexp(t, `(?m)^split-brain-min-replicas +ok +ok +– +– +–$`, stdout)
	assert.Regexp(t, `(?m)^split-brain-in-lag +SE +ok +– +– +–$`, stdout)
	assert.Regexp(t, `(?m)^stock-failover +S +S +S +S +S$`, stdout)
	assert.Empty(t, tmp.left(t))
}

// TestAWrongExpectationIsASurprise turns one line of the table round: the same cell is then not as expected.
func TestAWrongExpectationIsASurprise(t *testing.T) {
	stockapi(t)
	i := slices.IndexFunc(catalog.Table, func(s catalog.Scenario) bool { return s.Name == "check-delete-gap" })
	e := catalog.Table[i].Expect
	v3 := e[slices.IndexFunc(e, func(e catalog.Expectation) bool { return e.Rung == "v3" })].Results
	defer func(was history.Result) { v3[history.OwnRelease] = was }(v3[history.OwnRelease])
	v3[history.OwnRelease] = history.OK
	code, stdout, _ := loadtest(t, "--backend", "embedded", "--scenarios", "check-delete-gap",
		"--rungs", "v3")
	assert.Equal(t, surprised, code)
	assert.Regexp(t, `check-delete-gap R~?!`, stdout)
	assert.Contains(t, stdout, "check-delete-gap v3 owner-check: own-release was expected to be ok and is BROKEN")
}
