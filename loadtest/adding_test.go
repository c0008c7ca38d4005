package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An addition is an edit of one file: what comes before the first text that has to be there, or the whole file.
type addition struct{ file, before, text string }

// newRung is v4 with a release of its own. These five edits are all that a rung takes; CONTRIBUTING.md says which.
var newRung = []addition{
	{"internal/lock/v44_added.go", "", `package lock

import (
	"context"
	_ "embed"
)

//go:embed v44_release.lua
var addedReleaseSource string

var addedRelease = newScript("release-added", addedReleaseSource)

// added is v44.
func added(rt runtime) TryLock {
	return func(ctx context.Context, key string, o Options) (*Lease, error) {
		token := newToken()
		if ok, err := rt.Redis.SetNX(ctx, key, token, o.TTL).Result(); err != nil {
			return nil, err
		} else if !ok {
			return nil, ErrBusy
		}
		unlock := func(ctx context.Context) error {
			return releaseResult(addedRelease.Run(ctx, rt.Redis, []string{key}, token).Int64())
		}
		return &Lease{Context: ctx, Token: token, unlock: unlock}, nil
	}
}
`},
	{"internal/lock/v44_release.lua", "", `-- Compares and deletes, as release.lua does.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`},
	{"internal/lock/ladder.go", `{Number: "v5", `, `{Number: "v44", Name: "added", build: added, Needs: redis,
		Sends: "set/lock eval:release-added",
		Does:  "as v4, by a script of its own", Defect: "as v4"},
	`},
	{"internal/lock/conformance_test.go", `"v5": `,
		`"v44": {holds, holds, holds, holds, breaks, holds, holds, breaks, holds, breaks, holds, breaks, none},
	`},
	{"loadtest/catalog/rung.go", `{Number: "v5", `,
		`{Number: "v44", Name: "added", Kind: Redis, Asked: locked, Shelf: plain,
		Lock:    Lock{Acquire: "set/lock"},
		Variant: Variant{Of: "v4"}},
	`},
}

// newScenario is a file, and its name in the list.
var newScenario = []addition{
	{"loadtest/scenario/drizzle.go", "", `package scenario

import (
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
)

var drizzle = declare(catalog.Scenario{
	Name:      "drizzle",
	Does:      "one order works for a while",
	Instances: 2,
}, injectDrizzle,
	on("v4 v44", holds, "it rains on everybody"),
	skipOthers("they stay at home"),
)

func injectDrizzle(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "1", client.Order{Fault: "hold@before:" + f.rung.Write})
	first.waitHeld()
	first.finish()
	first.recordFault(begun, "wet")
}
`},
	{"loadtest/scenario/table.go", "crash, slowWork,", "drizzle, "},
}

// A rung is five edits and a scenario is one file: with these alone the new rung is asked by the table of conformance
// and has its column in the matrix, and the new scenario its line.
func TestAddingARungAndAScenario(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds both programs anew")
	}
	t.Parallel()
	dir := t.TempDir()
	assigned := assignments(t)
	overlay := overlaid(t, dir, slices.Concat(assigned, newRung, newScenario))
	run := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "LOADTEST_STOCKAPI="+filepath.Join(dir, "stockapi"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	cells := func(rungs, scenarios string) (string, error) {
		return run(filepath.Join(dir, "loadtest"), "run", "--no-out", "--backend", "embedded", "--rungs", rungs,
			"--scenarios", scenarios)
	}
	out, err := run("go", "build", "-overlay", overlay, "-o", dir+string(filepath.Separator), "./cmd/stockapi",
		"./loadtest")
	require.NoError(t, err, out)
	rungs, all := "v4,v44", "as expected (6 of 6 cells)"
	if assigned != nil {
		out, err = cells("v99-stub", "two-instances")
		assert.Error(t, err, out)
		assert.Contains(t, out, "v99-stub stub: stock was expected to be ok and is BROKEN")
		rungs, all = "v4,v44,v99-solved", "as expected (8 of 8 cells)" // drizzle skips it
	}
	out, err = cells(rungs, "two-instances,drizzle,late-release")
	require.NoError(t, err, out)
	assert.Contains(t, out, all)
	asked, err := run("go", "test", "-overlay", overlay, "-v", "-run", "TestConformance$/embedded/rungs/v44/",
		"./internal/lock")
	require.NoError(t, err, asked)
	assert.Contains(t, asked, "--- PASS: TestConformance/embedded/rungs/v44/releases_only_its_own")
}

// assignments returns the edits of scripts/assign for two rungs that have to do what v4 does: v99-stub as it was
// assigned, and v99-solved, which is v4. It returns none where there is no bash.
func assignments(t *testing.T) (edits []addition) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil
	}
	known := []string{"internal/lock/ladder.go", "internal/lock/conformance_test.go", "loadtest/catalog/rung.go"}
	dir := t.TempDir()
	for _, file := range append(known, "scripts/assign") {
		text, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	for _, name := range []string{"stub", "solved"} {
		out, err := exec.Command(bash, filepath.Join(dir, "scripts/assign"), "v4", name).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, file := range append(known, "internal/lock/v99_stub.go") {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		edits = append(edits, addition{file, "", string(text)})
	}
	v4, err := os.ReadFile("../internal/lock/v4_lua_release.go")
	require.NoError(t, err)
	solved := strings.ReplaceAll(string(v4), "luaRelease", "solvedLock")
	return append(edits, addition{"internal/lock/v99_solved.go", "", solved})
}

// overlaid writes the changed files, and the file that the go command's -overlay takes. A file can be edited twice.
func overlaid(t *testing.T, dir string, edits []addition) (overlay string) {
	t.Helper()
	replace := map[string]string{}
	for i, e := range edits {
		original, err := filepath.Abs(filepath.Join("..", e.file))
		require.NoError(t, err)
		text := e.text
		if e.before != "" {
			old, err := os.ReadFile(cmp.Or(replace[original], original))
			require.NoError(t, err)
			require.Contains(t, string(old), e.before, e.file)
			text = strings.Replace(string(old), e.before, e.text+e.before, 1)
		}
		replace[original] = filepath.Join(dir, string(rune('a'+i)))
		require.NoError(t, os.WriteFile(replace[original], []byte(text), 0o600))
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}
