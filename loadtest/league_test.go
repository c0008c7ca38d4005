//go:build unix

package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
