package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// told makes a cell whose stock broke, with that story.
func told(name, rung, story string) *history.Cell {
	c := asExpected(name, rung)
	c.Findings[0].Result, c.Findings[0].Because = history.Broken, story
	return c
}

func TestStoriesAreToldByScenarioAndSurprisesFirst(t *testing.T) {
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Stories(catalog.Assess([]*history.Cell{
		told("two-instances", "v0", "one"), told("two-instances", "v0.5", "two"), asExpected("two-instances", "v4"),
		told("pause", "v4", "three"), told("pause", "v15", "four"),
	}))
	assert.Equal(t, `broken, and not as expected:
  pause v15  four
two-instances: the same, over two instances or more
  v0    one
  v0.5  two
pause: SIGSTOP at the last instant before the write, until a second has sold
  v4  three

`, out.String())
	out.Reset()
	terminal.Printer{Writer: &out}.Stories(catalog.Assess([]*history.Cell{asExpected("pause", "v17")}))
	assert.Empty(t, out.String())
}

func wrapped(story string) []string {
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Stories(catalog.Assess([]*history.Cell{told("pause", "v4", story)}))
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")[1:]
}

func TestStoriesAreWrappedWithoutLosingAWord(t *testing.T) {
	story := strings.TrimSpace(strings.Repeat("b sold unit 98 to order 2 at +0.521 s; a, stopped for 10.5 ms, – ", 9))
	lines := wrapped(story)
	assert.Equal(t, "v4 "+story, strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 120)
		assert.NotRegexp(t, `^\s+m?s\b|(order|unit|\s)$`, line, "a number stays with what it is of")
	}
	full := "xx" + strings.Repeat(" x", 56)
	assert.Equal(t, []string{"  v4  " + full, "      " + full, "      x"}, wrapped(full+" "+full+" x"))
}

func TestALineOfACellThatIsNotAsExpectedSaysSo(t *testing.T) {
	assert.Equal(t, "pause v4 lua-release: BROKEN stock, exclusion: three", terminal.Line(told("pause", "v4", "three")))
	assert.Equal(t, "! pause v17 atomic: stock was expected to be ok and is BROKEN: five",
		terminal.Line(told("pause", "v17", "five")))
	assert.Equal(t, "pause v1 setnx: needs luck",
		terminal.Line(&history.Cell{Scenario: "pause", Rung: "v1", Name: "setnx", NotRun: "needs luck"}))
}
