package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/trial"
	"stockapi/loadtest/trial/sale"
)

// The shops that these tests try.
const (
	plantedShop = "trial/testdata/planted/shop.py"
	brokenShop  = "trial/testdata/broken/shop.py"
)

// pythonWithRedis returns a Python with a client of Redis. Only Debian's Python has Debian's client.
func pythonWithRedis(t *testing.T) string {
	t.Helper()
	backendtest.Require(t)
	backendtest.Long(t)
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import redis").Run() == nil {
			return python
		}
	}
	const missing = "no python3 with a client of Redis"
	if slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "python3") {
		t.Fatal(missing + ", and STOCKAPI_REQUIRE asks for it")
	}
	t.Skip(missing)
	return ""
}

// complaint returns the error of a run, and the lines after it, without its progress.
func complaint(stderr string) (line string, more []string) {
	_, text, _ := strings.Cut("\n"+stderr, "\nloadtest: ")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[0], lines[1:]
}

// A shop that cannot be tried gets one line, with a remedy, and leaves nothing.
func TestTryShopErrors(t *testing.T) {
	backendtest.Require(t)
	backendtest.Long(t)
	need(t, "python3")
	for _, one := range []struct {
		why  string
		args []string // before --
		want string
		more []string
	}{
		{"dies", nil, `^the shop died at start \(exit status 1\); its last lines:$`,
			[]string{"  reading the configuration", "  no price list"}},
		{"deaf", []string{"--within", "1s"},
			`^the shop does not listen on port \d+, which is \$PORT and {port}, within 1s, without any output$`, nil},
		{"untouched", nil, `sent nothing to the Redis at \$REDIS_URL \({redis}\); POST /decrease was answered 200 {}$`, nil},
		{"reads", nil, `it sold without writing ProductStock_10000: .* --stock, or, if it is in a database, .* --sold$`, nil},
		{"reads", []string{"--sold", "{}"}, `in a database, --set and --left$`, nil},
		{"reads", []string{"--stock", "HSET goods {product} {n}"}, `it sold without writing goods: .* --stock`, nil},
		{"shelf", nil, `only one number decreased: try --stock 'HSET shelf {product} {n}'$`, nil},
		{"401", nil, `answered 401 {}: does it need a header\? --header `, nil},
		{"401", []string{"--header", "Cookie: s3cret", "--header", "X-User: u{i}"},
			`answered 401 {}: it was sent with Cookie, X-User \({i} was 1\): is the value right\?$`, nil},
		{"429", nil, `answered 429 {}: it limits the rate of orders: `, nil},
		{"202", nil, `answered 202 {}: 202 means accepted, not sold, `, nil},
		{"500", nil, `answered 500 {}; last output: KeyError: 'price'$`, nil},
		{"cluster", nil, `connect without Redis Cluster$`, nil},
		{"tls", nil, `connect with redis:// instead of rediss://$`, nil},
		{"sells-out", nil, `the first order did not sell: POST /decrease was answered 409 {}; the stock is in ` +
			`ProductStock_10000 of database 0; .* --order, .* --sold$`, nil},
		{"sells-out", []string{"--left", "echo 9"}, `was answered 409 {}; no units were put: give --set; give the request`,
			nil},
		{"sells-out", []string{"--set", "true {n}"}, `was answered 409 {}; give the request by `, nil},
		{"other-hash", nil, `it read another key: try --stock 'HSET inventory {product} {n}'$`, nil},
		{"hands-over", nil, "answered 200 {}; the other instance sold: it took the order from `jobs:1`, and wrote " +
			"ProductStock_10000; a trial needs ", nil},
		{"lock-only", nil, "it touched only `lock:10000`, which is gone again: .* --db, --set and --left$", nil},
		{"html-200", nil, `POST /decrease was answered 200 with an HTML page: is the path right\? --order`, nil},
		{"html-404", nil, `POST /decrease was answered 404 with an HTML page: is the path right\? --order`, nil},
		{"echoes", []string{"--header", "X-Key: hush-{i}"}, `answered 500 you are \*\*\*; last output: error: no such ` +
			`key \*\*\*$`, nil},
		{"hangs-up", nil, `POST /decrease got no answer: .*EOF$`, nil},
	} {
		t.Run(strings.Join(append(one.args, one.why), " "), func(t *testing.T) {
			t.Parallel()
			dir := ownTemp(t)
			args := append([]string{"try", "--no-out"}, one.args...)
			code, stdout, stderr := dir.loadtest(t, append(args, "--", "python3", brokenShop, one.why)...)
			line, more := complaint(stderr)
			assert.Equal(t, couldNotRun, code)
			assert.Empty(t, stdout)
			assert.Regexp(t, one.want, line)
			assert.Equal(t, one.more, append([]string(nil), more...))
			assert.Empty(t, dir.left(t))
		})
	}
}

// Errors of the command line come before anything is started.
func TestTryFlagErrors(t *testing.T) {
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{}, `name the command line of the shop after --`},
		{[]string{"--"}, `name the command line of the shop after --`},
		{[]string{"--order", "buy", "--", "shop"}, `--order: "buy" is not a request such as POST /decrease`},
		{[]string{"--slow", "buy", "--", "shop"}, `--slow: "buy" is not a request`},
		{[]string{"--order-run", "buy", "--order", "POST /", "--", "shop"}, `^try: --order is for a request, and `},
		{[]string{"--order-run=buy", "--slow=POST /", "--", "shop"}, `^try: --slow is for a request, .*: leave one of them`},
		{[]string{"--order-run", "buy", "--header", "A: b", "--", "shop"}, `^try: --header is for a request, `},
		{[]string{"--order-run", " ", "--", "shop"}, `--order-run: write a command that orders a unit, such as: curl `},
		{[]string{"--order-run", "buy {db_port}", "--", "shop"}, `{db_port} in --order-run needs --db HOST:PORT$`},
		{[]string{"--header", "Bearer t", "--", "shop"}, `--header: "Bearer t" is not a header such as Authorization: `},
		{[]string{"--units", "0", "--", "shop"}, `--units must lie between 1 and 1000000000$`},
		{[]string{"--units", "9223372036854775807", "--", "shop"}, `--units must lie between 1 and 1000000000$`},
		{[]string{"--play", "a>99999999999999999999", "--", "shop"}, `--play: .*: unknown mark "99999999999999999999": `},
		{[]string{"--sold", "(", "--", "shop"}, `--sold: .*missing closing \)`},
		{[]string{"--stock", "INCRBY s {n}", "--", "shop"}, `^--stock takes SET KEY {n} or HSET KEY FIELD {n}`},
		{[]string{"--stock", "", "--", "shop"}, `^try: --stock takes SET KEY {n}`},
		{[]string{"--only", "bussy", "--", "shop"}, `^no cell "bussy": the cells are one-instance, `},
		{[]string{"--only", "reply-lost x", "--", "shop"}, `^no cell "reply-lost x": .*, request-lost N, `},
		{[]string{"--play", "a>wirte", "--", "shop"}, `--play: "a>wirte" is not a step of a fault: unknown mark "wirte"`},
		{[]string{"--stock", "SET s {n}", "--db", "127.0.0.1:1", "--", "shop"}, `--stock names a stock in this Redis, `},
		{[]string{"--stock", "SET s {n}", "--sales", "count", "--", "shop"}, `--stock names a stock in this Redis, `},
		{[]string{"--stock", "", "--set", "put 100", "--", "shop"}, `^try: --stock takes SET KEY {n}`},
		{[]string{"--stock=SET s {n}", "--left", "count", "--", "shop"}, `: leave one of them out; the shop may use `},
		{[]string{"--set", "put 100", "--", "shop"}, `--set lacks {n}, the number .*, or give --stock, too,`},
		{[]string{"--db", "5432", "--", "shop"}, `--db: .* write HOST:PORT$`},
		{[]string{"--db", "h:99999", "--", "shop"}, `--db: "99999" is no port: write HOST:PORT$`},
		{[]string{"--db", "h:0", "--", "shop"}, `--db: "0" is no port: write HOST:PORT$`},
		{[]string{"--sales", "echo 1", "--", "shop"}, `--sales is compared with what --left prints: give --left, too$`},
		{[]string{"--redis-at", "redis:6379", "--", "shop"}, `--redis-at: "redis" is no IP address: .* or localhost$`},
		{[]string{"--db-at", "5432", "--", "shop"}, `--db-at: .* write HOST:PORT$`},
		{[]string{"--port-at", "0", "--", "shop"}, `--port-at must lie between 1 and 65535$`},
		{[]string{"--port-at", "6379", "--redis-at", "localhost:6379", "--", "shop"}, `--port-at 6379 is the port of --r`},
		{[]string{"--", "CACHE_URL={redis}", "shop"}, `no shell runs the command line of .* put env before CACHE_URL=`},
		{[]string{"--quik", "--", "shop"}, `unknown flag --quik: see loadtest try --help`},
		{[]string{"--", "shop", "--port={port}", "{db_port}"}, `^try: {db_port} in the command line .* needs --db HOST:`},
		{[]string{"--play", "pause", "--", "shop"}, `--play: "pause" is not a step of a fault: use one of arrive-a `},
		{[]string{"--every", "--quick", "--", "shop"}, `^try: --every plays schedules of its own, .*: leave out --quick$`},
		{[]string{"--every", "--units=3", "--", "shop"}, `^try: --every plays schedules .*: leave out --units$`},
		{[]string{"--every", "--only", "late,bussy", "--", "shop"}, `--only: no fault "bussy": .* are none, lose-request, `},
		{[]string{"--every", "--left", "count", "--", "shop"}, `^try: --every is for a stock in Redis: .*leave out --every$`},
		{[]string{"--every", "--for", "1ms", "--", "shop"}, `^try: --for is 1ms: it takes at least 1s$`},
		{[]string{"--every", "--changes", "99", "--", "shop"}, `^try: --changes must lie between 0 and 20$`},
		{[]string{"--changes", "2", "--", "shop"}, `^try: --changes bounds --every: give that, too$`},
		{[]string{"--cells"}, `^try: --cells plays no cell: leave out --no-out$`},
	} {
		code, _, stderr := loadtest(t, append([]string{"try", "--no-out"}, one.args...)...)
		line, more := complaint(stderr)
		assert.Equal(t, couldNotRun, code, one.args)
		assert.Regexp(t, one.want, line)
		assert.Empty(t, more)
	}
}

func TestTryMissingPrograms(t *testing.T) {
	backendtest.Require(t)
	code, _, stderr := loadtest(t, "try", "--no-out", "--", "no-such-shop")
	line, _ := complaint(stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Equal(t, `cannot start the shop: exec: "no-such-shop": executable file not found in $PATH`, line)
	t.Setenv("PATH", t.TempDir())
	code, _, stderr = loadtest(t, "try", "--no-out", "--", os.Args[0])
	line, _ = complaint(stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `^this needs a redis-server or valkey-server on PATH: install one`, line)
}

// A trial tells a defect from a break by design. audit and report judge its files the same.
func TestTryOutput(t *testing.T) {
	t.Parallel()
	python, out := pythonWithRedis(t), filepath.Join(t.TempDir(), "out")
	args := []string{"try", "--only", "delayed-release", "--only", "slow-work", "--only", "check-delete-gap", "--out", out}
	code, stdout, stderr := loadtest(t, append(args, "--", python, plantedShop, "del-without-look")...)
	assert.Equal(t, surprised, code, stderr)
	assert.Regexp(t, "^lock: string `lock:10000`, SET NX PX 2000; .*; closest rung: v2\n", stdout)
	assert.Regexp(t, `\ndelayed-release 1 +BROKEN +BROKEN +BROKEN +ok +DEFECT\n`, stdout)
	assert.Regexp(t, `\nslow-work +BROKEN +BROKEN `, stdout) // Anna's late DEL may meet a lock that Bert still holds
	assert.Regexp(t, "\nDEFECT in delayed-release 1, delayed-release 2(, slow-work)?: it releases the lock without "+
		"comparing its value\n"+
		"  delayed-release 1: Anna on a, its release held for ", stdout)
	assert.Contains(t, stdout, "\nnot tested: check-delete-gap: the lock is released by one command\n")
	assert.NotContains(t, stdout, "no defect in")
	assert.True(t, strings.HasSuffix(stdout, "\n\nloadtest "+strings.Join(args, " ")+" -- "+python+" "+plantedShop+
		" del-without-look\n"), stdout)
	assert.Contains(t, stderr, "not covered: Redis Cluster, Sentinel, TLS, a lock in the database itself\n")
	code, again, stderr := loadtest(t, "audit", out)
	assert.Equal(t, surprised, code)
	assert.Empty(t, stderr)
	assert.Regexp(t, `\ntry delayed-release 1 +SER!\n`, again)
	assert.Regexp(t, `\ntry slow-work +SE`, again)
	assert.Contains(t, again, "try delayed-release 1 shop.py: a defect: it releases the lock")
	assert.Less(t, strings.Index(again, "try delayed-release 1 shop.py: "),
		strings.Index(again, "try slow-work shop.py: "))
	page := filepath.Join(t.TempDir(), "page.html")
	_, _, stderr = loadtest(t, "report", out, "-o", page)
	assert.Empty(t, stderr)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "0 buyers")
}

func TestTryAsJSON(t *testing.T) {
	t.Parallel()
	python := pythonWithRedis(t)
	code, stdout, stderr := loadtest(t, "try", "--no-out", "--json", "--only", "busy", "--", python, plantedShop, "right")
	assert.Equal(t, asExpected, code, stderr)
	var told struct {
		Passport struct {
			Locks []string
			Token bool
		}
		Sale  []sale.Command
		Cells []struct {
			Scenario, Line string
			Findings       []struct{ Verdict, Result string }
		}
	}
	assert.Regexp(t, `^{\s+"defects": \[\],`, stdout)
	require.NoError(t, json.Unmarshal([]byte(stdout), &told), stdout)
	assert.Equal(t, []string{"lock:10000"}, told.Passport.Locks)
	assert.True(t, told.Passport.Token)
	require.NotEmpty(t, told.Sale)
	assert.Equal(t, "a>acquire", told.Sale[0].Mark)
	require.Len(t, told.Cells, 1)
	assert.Equal(t, "busy", told.Cells[0].Scenario)
	assert.Equal(t, "take.a>end.remove", told.Cells[0].Line)
	assert.Contains(t, stdout, `"line": "take.a>end.remove"`)
	assert.NotEmpty(t, told.Cells[0].Findings)
}

// The last line counts the cells that were not measured, and the exit code is 2, unless a defect was found.
func TestTryOnBusyMachine(t *testing.T) {
	ok := func() *history.Cell {
		return &history.Cell{Findings: []history.Finding{{Verdict: history.Valid, Result: history.OK}}}
	}
	void := func() *history.Cell {
		return &history.Cell{Findings: []history.Finding{{Verdict: history.Valid, Result: history.Invalid, Because: "slow"}}}
	}
	notTested := &history.Cell{NotTested: &history.NotTested{Reason: "the lock is not renewed"}}
	reason := func(text string) *history.Cell { return &history.Cell{NotTested: &history.NotTested{Reason: text}} }
	limited := &history.Cell{NotTested: &history.NotTested{Reason: "429"}, Findings: []history.Finding{
		{Verdict: history.Liveness, Result: history.Indeterminate, Because: "429"}}}
	defect, voidDefect := ok(), void()
	defect.Defect = &history.Defect{Cause: "the lock has no TTL"}
	voidDefect.Defect = defect.Defect
	failed := &history.Cell{Kind: history.Trial, NotTested: &history.NotTested{Reason: "no such file", Failed: true}}
	for _, one := range []struct {
		what  string
		cells []*history.Cell
		code  int
		last  string // a pattern of the end of what is printed
	}{
		{"all measured", []*history.Cell{ok(), notTested}, asExpected,
			`\nno defect in 1 cell; 1 not tested: the lock is not renewed`},
		{"some not measured", []*history.Cell{ok(), void(), notTested, void()}, couldNotRun,
			`\nno defect in 1 cell; 1 not tested: the lock is not renewed\n\n` +
				`2 of 3 cells were not measured: the machine was busy`},
		{"several reasons", []*history.Cell{ok(), ok(), limited, notTested, reason("no lock"), notTested, notTested, failed},
			couldNotRun, `\nno defect in 2 cells; 5 not tested: the lock is not renewed; 429; …\n\n` +
				`1 of 3 cells was not measured`},
		{"none measured", []*history.Cell{void()}, couldNotRun,
			`: slow\n\n1 of 1 cells was not measured: the machine was busy`},
		{"a defect outranks them", []*history.Cell{defect, void()}, surprised,
			`\nDEFECT in .*\n\n1 of 2 cells was not measured: the machine was busy`},
		{"a defect in an invalid cell", []*history.Cell{ok(), voidDefect}, surprised, `\nDEFECT in (?s:.*): slow`},
		{"one could not be played", []*history.Cell{ok(), failed}, couldNotRun, `\n1 of 2 cells was not measured`},
		{"none tested", []*history.Cell{notTested}, couldNotRun, `: the lock is not renewed`},
		{"none tested, with one line for it", []*history.Cell{limited}, couldNotRun, `liveness\n\nnot tested: cell-1: 429`},
	} {
		for i, c := range one.cells {
			c.Scenario = fmt.Sprint("cell-", i+1)
		}
		var out strings.Builder
		found := &terminal.Trial{Cells: one.cells}
		require.NoError(t, (&tryFlags{}).print(&out, &sale.Passport{}, found))
		assert.Regexp(t, `(?s)`+one.last+`\n$`, out.String(), one.what)
		assert.Equal(t, one.code, found.ExitCode(), one.what)
	}
}

// --set puts the stock, or something else beside the stock of --stock.
func TestTryStockBesideSet(t *testing.T) {
	for flags, elsewhere := range map[string]bool{
		"": false, "--set=put{n}": true, "--left=count": true, "--db=h:1": true, "--stock HSET:s:f:{n} --set put": false,
	} {
		_, chosen, err := parse(append([]string{"try"}, append(strings.Fields(flags), "--", "shop")...), io.Discard,
			io.Discard)
		require.NoError(t, err)
		o, err := chosen.(*tryFlags).options(nil)
		require.NoError(t, err)
		assert.Equal(t, elsewhere, o.Shop.IsElsewhere(), flags)
	}
}

// The command of a trial can be pasted into a shell.
func TestTryPrintsItsCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"loadtest try --stock 'HSET shelf {product} {n}' -- python3 shop.py": {"try", "--stock", "HSET shelf {product} {n}",
			"--", "python3", "shop.py"},
		`loadtest try '--play=a>write.crash-a' -- sh -c 'echo '\''$PORT'\''' ''`: {"try", "--play=a>write.crash-a", "--",
			"sh", "-c", "echo '$PORT'", ""},
		"loadtest try --header 'Authorization: …' '--header=X-Key: …' -- shop": {"try", "--header", "Authorization: Bearer t",
			"--header=X-Key:secret", "--", "shop"},
	} {
		_, chosen, err := parse(args, io.Discard, io.Discard)
		require.NoError(t, err)
		f := chosen.(*tryFlags)
		o, err := f.options(nil)
		require.NoError(t, err)
		assert.Equal(t, want, (&terminal.Trial{Shop: *f.shopOf(o, nil)}).Command())
	}
}

// Nothing is measured if no cell applies, or the sale lacks the command of the chosen cell.
func TestTryMeasuresNothing(t *testing.T) {
	t.Parallel()
	python := pythonWithRedis(t)
	shop := []string{"--", python, plantedShop, "right"}
	code, stdout, _ := loadtest(t, append([]string{"try", "--no-out", "--only", "check-delete-gap"}, shop...)...)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stdout, "not tested: check-delete-gap: the lock is released by one command")
	code, _, stderr := loadtest(t, append([]string{"try", "--no-out", "--only", "reply-lost 9"}, shop...)...)
	line, _ := complaint(stderr)
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `^no cell "reply-lost 9": the cells are one-instance, `, line)
}

// Ctrl-C ends a trial and its shop.
func TestTryIsInterrupted(t *testing.T) {
	t.Parallel()
	python, dir := pythonWithRedis(t), ownTemp(t)
	cmd := dir.command("try", "--no-out", "--", python, plantedShop, "right")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	twoShops := func() bool { // and loadtest, whose command line names the shop
		return strings.Count(strings.Join(dir.left(t), "\n"), plantedShop) == 3
	}
	require.Eventually(t, twoShops, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.Equal(t, couldNotRun, cmd.ProcessState.ExitCode())
	line, more := complaint(errs.String())
	assert.Equal(t, "interrupted", line)
	assert.Empty(t, more)
	assert.NotContains(t, out.String(), "no defect in")
	assert.Empty(t, dir.left(t))
}

// --cells starts no shop, and takes no argument that it would ignore.
func TestTryPrintsCells(t *testing.T) {
	code, stdout, stderr := loadtest(t, "try", "--cells")
	assert.Equal(t, asExpected, code, stderr)
	assert.Regexp(t, `(?m)^cell +line +--quick +needs$`, stdout)
	assert.Regexp(t, `(?m)^busy +take\.a>end\.remove +yes +a lock; a command before the write$`, stdout)
	assert.Regexp(t, `(?m)^error-reply N +– +if it acquires +–$`, stdout)
	code, stdout, stderr = loadtest(t, "try", "--cells", "--json")
	assert.Equal(t, asExpected, code, stderr)
	assert.Contains(t, stdout, `"line": "a>N.lose-reply-a.a>end.b>end"`)
	var told []trial.Planned
	require.NoError(t, json.Unmarshal([]byte(stdout), &told))
	assert.Equal(t, trial.Cells(), told)
	for ignored, want := range map[string]string{"--quick": "leave out --quick", "shop": "leave out shop",
		"--header=X-Key: hush": "leave out --header", "--": "leave out -- and what follows"} {
		code, stdout, stderr = loadtest(t, "try", "--cells", ignored)
		line, _ := complaint(stderr)
		assert.Equal(t, couldNotRun, code)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasSuffix(line, want), line)
	}
}

// docs/try.md has each cell with its line and what it needs, and a star if --quick plays it.
func TestDocumentedCells(t *testing.T) {
	document, err := os.ReadFile("../docs/try.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(document), "| cell | fault | line | needs |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented []trial.Planned
	for row := range strings.Lines(table) {
		parts := strings.Split(strings.Trim(row, "|\n"), " | ")
		require.Len(t, parts, 4, row)
		var c trial.Planned
		c.Name, c.QuickIf, c.Quick = strings.Cut(strings.TrimSpace(parts[0]), ` \*`)
		c.QuickIf = strings.TrimPrefix(c.QuickIf, " if ")
		if c.Line = strings.Trim(parts[2], "`"); c.Line == "–" {
			c.Line = ""
		}
		if needs := strings.TrimSpace(parts[3]); needs != "–" {
			c.Needs = strings.Split(needs, "; ")
		}
		documented = append(documented, c)
	}
	assert.Equal(t, trial.Cells(), documented)
}
