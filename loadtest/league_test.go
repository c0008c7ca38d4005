//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// TestLeague tries a lock of the league in Python, in Node and in Go: each breaks as its manifest expects. It installs
// them, and so runs only where STOCKAPI_REQUIRE names the league.
func TestLeague(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "league") {
		t.Skip("STOCKAPI_REQUIRE does not name the league")
	}
	out, err := exec.Command("../league/run", "redis-py", "redlock5", "redsync").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// TestLeagueTellsOfACell has league/run read a cell as try writes it: a defect that the manifest does not expect.
func TestLeagueTellsOfACell(t *testing.T) {
	need(t, "python3")
	slept := []string{"Bert slept on for 1.5s though the lock was free"}
	told, err := json.Marshal(map[string]any{"cells": []*history.Cell{{Kind: history.Trial, Scenario: "crash 1",
		Remarks:  slept,
		Defect:   &history.Defect{Cause: "the lock has no TTL", Shown: "a fresh request was not answered"},
		Findings: []history.Finding{{Verdict: history.Liveness, Result: history.Broken}}}}})
	require.NoError(t, err)
	const script = `
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader("run", "../league/run")
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
sys.dont_write_bytecode = True
loader.exec_module(run)
run.attempt = lambda shop, only=(): json.loads(sys.argv[1])
shop, families = {"name": "one", "family": "none"}, {"none": {"breaks": {}}}
told = run.judge(shop, families)
print(run.line(shop, families, told))
print(*run.sentences(told), run.entry(shop, told, "crash"), run.unknown([(shop, told)]), sep="\n")
`
	out, err := exec.Command("python3", "-c", script, string(told)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, `one: SURPRISE: crash 1: expected nothing; then L 10 times
* crash 1 L, **defect**, the lock has no TTL: a fresh request was not answered.
* crash 1, remark: Bert slept on for 1.5s though the lock was free.
**L**
Of 1 cells with a defect 0 have one of unknown cause.
`, string(out))
}

// TestWhichLock holds README's rows of locks that people use to what the league found.
func TestWhichLock(t *testing.T) {
	league, readme := tableOf(t, "../docs/league.md", "| shop |"), tableOf(t, "../README.md", "| you use |")
	found := map[string][2]string{}
	for _, row := range league[1:] {
		var breaks []string
		for i := 3; i < len(row); i++ {
			switch column := league[0][i]; {
			case strings.Contains(row[i], "**"):
				breaks = append(breaks, "**"+column+"**")
			case strings.HasPrefix(row[i], "("):
				breaks = append(breaks, "("+column+")")
			case row[i] != "ok" && row[i] != "–":
				breaks = append(breaks, column)
			}
		}
		found[row[0]] = [2]string{row[2], strings.Join(breaks, ", ")}
	}
	named := 0
	for _, row := range readme[1:] {
		for _, shop := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[0], -1) {
			named++
			assert.Equal(t, [2]string{row[1], row[2]}, found[shop[1]], shop[1])
		}
	}
	assert.Len(t, found, named, "README names each shop of the league once")
}

// tableOf returns the cells of a document's table, its header first. The header's row begins like that.
func tableOf(t *testing.T, path, header string) (rows [][]string) {
	t.Helper()
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(document), "\n"+header)
	require.True(t, found, "%s has no table that begins with %s", path, header)
	for line := range strings.Lines(header + rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}
