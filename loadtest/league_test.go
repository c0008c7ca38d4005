//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial"
)

// TestLeague tries a lock of the league in Python, in Node and in Go: each breaks as its manifest expects. It installs
// them, so it runs only if STOCKAPI_REQUIRE names the league.
func TestLeague(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "league") {
		t.Skip("STOCKAPI_REQUIRE does not name the league")
	}
	out, err := exec.Command("../league/run", "redis-py", "redlock5", "redsync").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// leagueRun imports league/run.
const leagueRun = `
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader("run", "../league/run")
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
sys.dont_write_bytecode = True
loader.exec_module(run)
`

// TestLeagueReportsUnexpectedDefects feeds league/run a cell as try writes it, with a defect that the manifest does not
// expect.
func TestLeagueReportsUnexpectedDefects(t *testing.T) {
	need(t, "python3")
	slept := []string{"Bert slept for 1.5s while the lock was free"}
	told, err := json.Marshal(map[string]any{"cells": []*history.Cell{{Kind: history.Trial, Scenario: "crash 1",
		Remarks:  slept,
		Defect:   &history.Defect{Cause: "the lock has no TTL", Shown: "a fresh request was not answered"},
		Findings: []history.Finding{{Verdict: history.Liveness, Result: history.Broken}}}}})
	require.NoError(t, err)
	const script = leagueRun + `
run.attempt = lambda shop, only=(): json.loads(sys.argv[1])
shop, families = {"name": "one", "family": "none", "defect": "No TTL."}, {"none": {"breaks": {}}}
told = run.judge(shop, families)
print(run.line(shop, families, told), *run.defects([(shop, told)]), run.entry(shop, told, "crash"), sep="\n")
`
	out, err := exec.Command("python3", "-c", script, string(told)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, `one: SURPRISE: crash 1: expected nothing; then L 10 times
| one | No TTL. | crash 1 | `+"`league/run one`"+` |
**L**
`, string(out))
}

// TestLeagueNamesCells looks up each cell that the league names: in its manifest, in the columns of its table, and in
// the commands of its reports. It reads the columns of its table from what try --cells prints.
func TestLeagueNamesCells(t *testing.T) {
	need(t, "python3")
	known, number := map[string]bool{}, regexp.MustCompile(` \d+$`)
	for _, c := range trial.Cells() {
		fault, _, _ := strings.Cut(c.Name, " ")
		known[c.Name], known[fault] = true, true
	}
	var manifest struct {
		Families map[string]struct{ Breaks map[string]string }
		Shops    []struct{ Expected, Races map[string]string }
	}
	text, err := os.ReadFile("../league/manifest.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &manifest))
	named := []map[string]string{}
	for _, family := range manifest.Families {
		named = append(named, family.Breaks)
	}
	for _, shop := range manifest.Shops {
		named = append(named, shop.Expected, shop.Races)
	}
	_, cells, _ := loadtest(t, "try", "--cells", "--json")
	const script = leagueRun + `
run.subprocess.check_output = lambda command: sys.argv[1] if command[1:] == ["try", "--cells", "--json"] else None
print(json.dumps(run.COLUMNS), *run.columns(), sep="\n")
`
	out, err := exec.Command("python3", "-c", script, cells).CombinedOutput()
	require.NoError(t, err, "%s", out)
	columns, of := map[string]string{}, strings.Split(strings.TrimSpace(string(out)), "\n")
	require.NoError(t, json.Unmarshal([]byte(of[0]), &columns), "%s", out)
	assert.Equal(t, []string{"two-instances", "slow-work", "pause", "late", "crash", "delayed-release", "lost", "error",
		"hang-up", "key-removed", "busy", "after-release"}, of[1:])
	named = append(named, columns)
	for _, names := range named {
		for name := range names {
			of := number.ReplaceAllString(name, " N")
			assert.True(t, known[name] || known[of], "the league names %q, which is no cell", name)
		}
	}
	reports, err := os.ReadFile("../league/reports.json")
	require.NoError(t, err)
	for _, only := range regexp.MustCompile(`--only (?:'([^']*)'|(\S+))`).FindAllStringSubmatch(string(reports), -1) {
		for name := range strings.SplitSeq(only[1]+only[2], ",") {
			assert.True(t, known[name], "a report tries %q, which is no cell", name)
		}
	}
}

// TestReadmeLibraries looks up each shop of the league in README's table of libraries: the shop belongs to one row,
// which names its library. A comment in a row says which shops it is for: a family, or one shop with a defect.
func TestReadmeLibraries(t *testing.T) {
	var league struct {
		Shops []struct{ Name, Library, Family, Defect string }
	}
	manifest, err := os.ReadFile("../league/manifest.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(manifest, &league))
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	rows, inUse := map[string]string{}, map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|(.*?)<!-- league: (.*?) -->`).FindAllSubmatch(readme, -1) {
		use, id := string(row[1]), string(row[2])
		assert.NotContains(t, rows, id)
		rows[id] = use
	}
	for _, shop := range league.Shops {
		id := shop.Family
		if shop.Defect != "" {
			id = shop.Name
		}
		inUse[id] = true
		assert.Contains(t, rows[id], shop.Library, "README's row of %s, for the shop %s", id, shop.Name)
		assert.NotEmpty(t, shop.Library, shop.Name)
	}
	for id := range rows {
		assert.True(t, inUse[id], "README's row of %s is for no shop", id)
	}
}

// TestReadmeRungs checks that each link to a rung leads to its row of the ladder.
func TestReadmeRungs(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	ladder, err := os.ReadFile("../docs/ladder.md")
	require.NoError(t, err)
	links := regexp.MustCompile(`\[([^\]]*)\]\(docs/ladder\.md#(v[^)]*)\)`).FindAllSubmatch(readme, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		assert.Equal(t, string(link[1]), string(link[2]))
		assert.Contains(t, string(ladder), fmt.Sprintf(`<a id="%s"></a>%[1]s |`, link[2]))
	}
}
