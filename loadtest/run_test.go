package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// Errors take one line, and exit with 2.
func TestRunErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cases := []struct{ args, want string }{
		{"--requests 0", "--requests must lie between"},
		{"--at-once 65", "--at-once must lie between 1 and 64"},
		{"--requests many", "--requests"},
		{"--requests 99999999999999999999", "--requests"},
		{"--concurrency=-1", "--concurrency must lie between"},
		{"--stock 0", "--stock must lie between"},
		{"--instances 1", "--instances must lie between"},
		{"--repeat 0", "--repeat must lie between"},
		{"--rate NaN --requests 1", "--rate must lie between"},
		{"--predict", "--predict asks about 12 cells at most, and this run has "},
		{"--wait=-1s", "--wait must lie between"},
		{"--ttl 1ms", "--ttl must lie between"},
		{"--work 2h", "--work must lie between"},
		{"--rungs v4,v44", `there is no rung "v44", did you mean "v4"?`},
		{"--rungs rain", `there is no rung "rain"; there are v0, nolock,`},
		{"--rungs= --requests 0", "--rungs is empty: name at least one, or leave it out"},
		{"--scenarios= --requests 0", "--scenarios is empty: name at least one, or leave it out"},
		{"--targets= --requests 0", "--targets is empty"},
		{"--scenarios puase", `there is no scenario "puase", did you mean "pause"?`},
		{"--rungs v0,v0.5 --scenarios pause", "no cell is left: pause does not apply to v0: it guards nothing"},
		{"--scenarios failover --backend embedded",
			"none of the cells can be run here: the first needs redis-server; use --backend redis-server"},
		{"--scenarios pause --targets http://127.0.0.1:1",
			"none of the cells can be run here: the first needs instances of its own; leave out --targets"},
		{"--scenarios two-instances --targets http://127.0.0.1:1", "the first needs two targets; name two with --targets"},
		{"--rungs v12-session --sql sqlite", "the first needs MariaDB or PostgreSQL; use --sql with a server"},
		{"--scenarios rain", `there is no scenario "rain"; there are one-instance, two-instances`},
		{"--targets http://127.0.0.1:1,http://127.0.0.1:1/", "--targets: http://127.0.0.1:1 is named twice: name each"},
		{"--targets localhost:5000",
			`--targets: "localhost:5000" is not a URL such as http://127.0.0.1:5000, did you mean "http://localhost:5000"?`},
		{"--targets http://127.0.0.1:1,5100", `--targets: "5100" is not a URL such as http://127.0.0.1:5000` + "\n"},
		{"--targets http://u:20260101@127.0.0.1:5000", "--targets: number 1 is not a URL such as"},
		{"--backend memcached", `--backend: "memcached" is neither auto, embedded, redis-server nor a URL such as`},
		{"--backend redis-sever", `did you mean "redis-server"?`},
		{"--backend embed", `did you mean "embedded"?`},
		{"--sql postgress", `did you mean "postgres"?`},
		{"--sql oracle", `--sql: "oracle" is neither auto, sqlite, mariadb, postgres nor a DSN that begins`},
		{"--out " + file, "--out"},
		{"--backend redis://:20260101#pass@127.0.0.1:1", "--backend: a URL with a raw # is not used: write # as %23"},
		{"--sql mysql://u:20260101#pass@127.0.0.1/shop", "--sql: a URL with a raw # is not used: write # as %23"},
		{"--targets http://20260101#pass@127.0.0.1:5000", "--targets: number 1 is not a URL such as"},
		{"--backend redis://127.0.0.1:1", "no Redis at redis://127.0.0.1:1"},
		{"--targets http://127.0.0.1:1 --rungs v4 --scenarios one-instance", "connection refused"},
		{"audit " + file, "not a usable history: it is cut short"},
		{"audit /nonexistent", "/nonexistent"},
		{"bogus", "unexpected argument bogus: it is no command, scenario or rung: see loadtest --help and loadtest list\n"},
		{"puase v4", `there is no scenario or rung "puase", did you mean "pause"?`},
		{"--scenarios PAUSE --rungs V0 NoLock", "no cell is left: pause does not apply to v0: it guards nothing"},
		{"lits", `unexpected argument lits, did you mean "list"?`},
		{"v44 pause", `there is no scenario or rung "v44", did you mean "v4"?`},
		{"lst", `unexpected argument lst, did you mean "list"?`},
		{"--bogus", "unknown flag --bogus"},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			code, _, stderr := loadtest(t, strings.Fields(c.args)...)
			assert.Equal(t, couldNotRun, code)
			assert.Contains(t, stderr, c.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

// A missing server is reported before any other is started.
func TestMissingServers(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for args, want := range map[string]string{
		"--backend redis-server": "there is no redis-server on PATH, nor a valkey-server: install one, or use " +
			"--backend embedded",
		"--scenarios failover":         "the first needs redis-server; install it, or choose other --scenarios",
		"--rungs v13":                  "the first needs ZooKeeper; install Debian's package zookeeper, or name a server",
		"--rungs v14 --scenarios herd": "the first needs ZooKeeper; ",
	} {
		code, stdout, stderr := loadtest(t, strings.Fields(args)...)
		assert.Equal(t, couldNotRun, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, want)
		assert.Equal(t, "loadtest: ", stderr[:10], "nothing was started")
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// The first run prints what it waits for, also without a terminal.
func TestBuildIsAnnounced(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("LOADTEST_STOCKAPI", "")
	code, _, stderr := loadtest(t, "--backend", "embedded", "--rungs", "v4")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `^building stockapi…\nloadtest: found no stockapi .* cannot build one here: .*\n$`, stderr)
}

// Keys that may be left are reported on a line of their own, beside other errors.
func TestKeysLeftAreReported(t *testing.T) {
	for _, err := range []error{nil, errors.New("interrupted")} {
		var out, errs bytes.Buffer
		code := (&runFlags{}).finish(&history.Run{}, err, errors.New("503"), false, &out, &errs)
		assert.Equal(t, couldNotRun, code)
		assert.Equal(t, 2, strings.Count(errs.String(), "\n"), &errs)
		assert.Contains(t, errs.String(), "keys may be left on the backend: 503")
	}
}

// A run without a surprise but with an unmeasured cell proves nothing.
func TestExitCodes(t *testing.T) {
	surprise := &catalog.Row{Surprises: []string{"x"}}
	invalid, good := &catalog.Row{Invalid: []string{"y"}}, &catalog.Row{Met: 1}
	assert.Equal(t, asExpected, codeOf([]*catalog.Row{good}, true))
	assert.Equal(t, couldNotRun, codeOf([]*catalog.Row{good, invalid}, true))
	assert.Equal(t, surprised, codeOf([]*catalog.Row{surprise, invalid}, false))
	unknown := &catalog.Row{Unknown: []string{"z"}}
	assert.Equal(t, couldNotRun, codeOf([]*catalog.Row{good, unknown}, true))
	assert.Equal(t, surprised, codeOf([]*catalog.Row{surprise, unknown}, false))
}

func TestHelp(t *testing.T) {
	code, stdout, _ := loadtest(t, "--help")
	assert.Equal(t, asExpected, code)
	for _, want := range []string{"Examples", "Exit codes", "--targets", "--rate", "audit <file>",
		"LOADTEST_ADMIN_TOKEN", "Selection:", "Load:", "Servers:", "Output:"} {
		assert.Contains(t, stdout, want)
	}
	assert.NotContains(t, stdout, "guardian")
}

func TestListOfAll(t *testing.T) {
	code, stdout, _ := loadtest(t, "list", "all")
	assert.Equal(t, asExpected, code)
	assert.Regexp(t, `v0.5 mutex: stock, exclusion BROKEN; liveness ok: each instance has its own mutex`, stdout)
	assert.Regexp(t, `v16, v17: does not apply: it has no lock`, stdout)
}

// Without names list prints a line per scenario, and how to see more.
func TestListOfTheScenarios(t *testing.T) {
	code, stdout, _ := loadtest(t, "list")
	assert.Equal(t, asExpected, code)
	assert.Equal(t, len(scenario.Table)+2, strings.Count(stdout, "\n"))
	assert.Contains(t, stdout, "\npause: SIGSTOP")
	assert.Contains(t, stdout, "list pause v4")
}

func TestListOfNames(t *testing.T) {
	code, stdout, _ := loadtest(t, "list", "pause")
	assert.Equal(t, asExpected, code)
	assert.True(t, strings.HasPrefix(stdout, "pause: SIGSTOP"), stdout)
	assert.Contains(t, stdout, "\n  v1.5–v4: stock, exclusion BROKEN; own-release, liveness ok: a stopped process ")
	assert.Contains(t, stdout, "\n  v0.5 mutex: does not apply: its mutex ")
	assert.Less(t, strings.Count(stdout, "\n"), 25, "rungs that share a reason share a line")

	code, both, _ := loadtest(t, "list", "lua-release", "pause", "v17", "crash")
	assert.Equal(t, asExpected, code)
	assert.Equal(t, 2*(1+2+1), strings.Count(both, "\n"))
	assert.Regexp(t, `(?s)^crash: .* v4 .* v17 .*\npause: .* v4 lua-release: stock, exclusion BROKEN; .* v17 `, both)
}

// The list of a rung has a line per scenario that applies, the broken ones first.
func TestListOfRung(t *testing.T) {
	for _, name := range []string{"v4", "lua-release"} {
		code, stdout, _ := loadtest(t, "list", name)
		assert.Equal(t, asExpected, code)
		assert.Regexp(t, `(?s)^v4 lua-release\n  slow-work: stock, exclusion BROKEN; own-release, liveness ok: an atomic.*\n`+
			`  crash: ok: the TTL ends .*\n  does not apply: explicit-lease, write-only-fence, .*\n$`, stdout)
		assert.Less(t, strings.Count(stdout, "\n"), 27)
		for _, s := range scenario.Table {
			assert.Contains(t, stdout, s.Name)
		}
	}
	_, stdout, _ := loadtest(t, "list", "v4", "pause")
	assert.True(t, strings.HasPrefix(stdout, "pause: SIGSTOP"), stdout)
}

func TestListErrors(t *testing.T) {
	for _, args := range []string{"v44", "pause rain", "--width 12", "--width wide"} {
		code, stdout, stderr := loadtest(t, append([]string{"list"}, strings.Fields(args)...)...)
		assert.Equal(t, couldNotRun, code, args)
		assert.Empty(t, stdout, args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	_, _, stderr := loadtest(t, "list", "rain")
	var names []string
	for _, s := range scenario.Table {
		names = append(names, s.Name)
	}
	assert.Contains(t, stderr, `there is no scenario or rung "rain"; there are `+strings.Join(names, ", ")+", v0, nolock")
}

// At each width list prints the same words.
func TestListFitsItsWidth(t *testing.T) {
	_, whole, _ := loadtest(t, "list", "all")
	for _, width := range []int{40, 80, 200, 1000} {
		code, stdout, stderr := loadtest(t, "list", "all", "--width", strconv.Itoa(width))
		assert.Equal(t, asExpected, code, stderr)
		for line := range strings.Lines(stdout) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width)
		}
		said := strings.Join(strings.Fields(stdout), " ")
		for _, s := range scenario.Table {
			for _, e := range s.Expect {
				assert.Contains(t, said, e.Why)
			}
		}
		if width == 1000 {
			assert.Equal(t, whole, stdout)
		}
	}
	_, narrow, _ := loadtest(t, "list", "--width", "80", "slow-work", "v4", "v16", "v0.5")
	assert.Equal(t, `slow-work: the work takes 2.5 leases in a healthy process
  v4 lua-release: stock, exclusion BROKEN; own-release, liveness ok: an
      atomic release comes too late: the harm is done
  v16 cas: stock, liveness ok: the slow order finds that the stock has
      changed, writes nothing and retries
  v0.5 mutex: does not apply: its mutex does not reach other processes:
      two-instances breaks it without any fault

`, narrow)
}

// Runs on instances that run already, without faults.
func TestTargets(t *testing.T) {
	twice, lacking := bigShop(), bigShop()
	twice.tell = sellsTwice
	lacking.edit = map[string]func(map[string]any){"GET /rungs": func(doc map[string]any) {
		for _, rung := range doc["rungs"].([]any) {
			rung.(map[string]any)["available"], rung.(map[string]any)["needs"] = false, []string{"five nodes"}
		}
	}}
	for name, c := range map[string]struct {
		shop *instance
		args string
		code int
		says []string
	}{
		"a lock that fails": {twice, "--rungs v4 --scenarios one-instance,two-instances --repeat 2", surprised, []string{
			`! v4 lua-release`,
			`one-instance v4 .*: fake sold unit \d1 to order \d+ at \+\d\.\d+ s; fake sold unit \d1 again to order \d+ at`,
			`NOT as expected \(0 of 4 cells are\):`,
			`two-instances v4 lua-release \(repetition 2\): stock was expected to be ok and is BROKEN`,
		}},
		"a rung that unexpectedly holds": {bigShop(), "--rungs v0 --scenarios one-instance", surprised,
			[]string{`stock was expected to be BROKEN and is ok`}},
		"an unavailable rung": {lacking, "--rungs v4 --scenarios one-instance", couldNotRun,
			[]string{`needs five nodes`, `none of the cells could be run`}},
		"faults": {bigShop(), "--rungs v4 --scenarios one-instance,crash,pause", asExpected,
			[]string{`not run, 2: needs instances of its own`, `as expected \(1 of 1 cells; 2 not run\)`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			urls, dir := c.shop.serve(t)+","+c.shop.serve(t), t.TempDir()
			args := append(strings.Fields(c.args), "--targets", urls, "--out", dir)
			code, stdout, stderr := loadtest(t, args...)
			assert.Equal(t, c.code, code, stdout+stderr)
			for _, says := range c.says {
				assert.Regexp(t, says, strings.Join(strings.Fields(stdout+stderr), " "))
			}
			assert.Empty(t, c.shop.products(), "it removes its products")
		})
	}
}

// By the contract a service may lack the DELETE routes: then keys stay, but the verdicts count.
func TestTargetsWithoutRemoval(t *testing.T) {
	t.Parallel()
	shop := bigShop()
	shop.without = []string{"DELETE /locks/{product}", "DELETE /stock/{product}"}
	code, stdout, stderr := loadtest(t, "--targets", shop.serve(t), "--rungs", "v4", "--scenarios", "one-instance")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stderr, "keys may be left on the backend: DELETE ")
}

func TestOpenLoopSendsAll(t *testing.T) {
	t.Parallel()
	shop := bigShop()
	code, stdout, _ := loadtest(t, "--targets", shop.serve(t), "--rungs", "v4", "--scenarios", "one-instance",
		"--rate", "500", "--requests", "111")
	want := asExpected
	if strings.Contains(stdout, "the client did not get the processor") { // it sent all, but its latencies are invalid
		want = couldNotRun
	}
	assert.Equal(t, want, code, stdout)
	assert.Equal(t, 111+1, shop.arrived())
	assert.Contains(t, stdout, "500/s in an open loop")
}

// Only a run without names, the first one, prints what to run next.
func TestFirstRunPrintsNextSteps(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	shop := bigShop()
	targets := []string{"--targets", shop.serve(t) + "," + shop.serve(t), "--requests", "10", "--stock", "3"}
	for _, c := range []struct {
		args  []string
		cells string
		next  bool
	}{
		{nil, "of 16 cells", true},
		{[]string{"all"}, "of 20 cells", false},
		{[]string{"--rungs", "v4"}, "of 2 cells", false},
	} {
		code, stdout, stderr := loadtest(t, append(c.args, targets...)...)
		assert.Regexp(t, c.cells, stdout, stderr)
		assert.Equal(t, c.next, strings.Contains(stdout, "Every rung: `go run ./loadtest all`"), "%d %s", code, stdout)
	}
}

// A run is kept by default, but not with --no-out, or if it cannot be written.
func TestRunIsKept(t *testing.T) {
	t.Chdir(t.TempDir())
	defaultOut = "out"
	defer func() { defaultOut = "" }()
	url := bigShop().serve(t)
	run := func(flags ...string) (stdout, stderr string) {
		flags = append(flags, "--targets", url, "--requests", "10", "--stock", "3", "--rungs", "v4")
		_, stdout, stderr = loadtest(t, flags...)
		return stdout, stderr
	}
	stdout, _ := run("--no-out")
	assert.NotContains(t, stdout, "page:")
	assert.NoDirExists(t, "out")
	for range 2 {
		stdout, _ = run()
		assert.Regexp(t, `\npage: out.report.html\n[^\n]*\n$`, stdout)
		assert.FileExists(t, "out/report.html")
	}
	require.NoError(t, os.Remove("out/matrix.txt"))
	require.NoError(t, os.MkdirAll("out/matrix.txt/mine", 0o700))
	stdout, stderr := run()
	assert.Contains(t, stderr, "out/matrix.txt")
	assert.Contains(t, stdout, "as expected")
	assert.NotRegexp(t, "page: |matrix.txt", stdout, "they could not be written")
	require.NoError(t, os.RemoveAll("out"))
	require.NoError(t, os.WriteFile("out", nil, 0o600))
	stdout, stderr = run()
	assert.Contains(t, stderr, "this run is not kept: ")
	assert.Contains(t, stdout, "as expected")
	assert.NotContains(t, stdout, "page:")
}
