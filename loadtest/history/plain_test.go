package history

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlainIsSafeForTerminals(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "a sold unit 7 – again, 无锁\u00a0!": "a sold unit 7 – again, 无锁\u00a0!",
		"\x1b[2J\x1b]0;title\a": `\x1b[2J\x1b]0;title\a`,
		"ok\r\nas expected\t":   "ok  as expected ",
		"\x9b31m":               "\uFFFD31m",
		"\u009b31m":             `\u009b31m`,
		"\u202egnol\u2066":      `\u202egnol\u2066`,
		"line\u2028line":        "line line",
		"\x00\x7f":              `\x00\x7f`,
		"zero\u200bwidth":       `zero\u200bwidth`,
	} {
		assert.Equal(t, want, Plain(given))
		assert.Equal(t, want, Plain(want), "once is enough")
	}
}

func TestPlainCutsLongText(t *testing.T) {
	assert.Less(t, len(Plain(strings.Repeat("\x1b", 5_000_000))), 20_000)
}

// No name or text in a forged file may move the cursor, clear the screen, begin a new line, or reverse the direction of
// the text.
func TestFileTextsArePlain(t *testing.T) {
	const evil = "\x1b[2J\u009b1A\nas expected (99 of 99 cells)\r\u202e"
	given := &Run{ID: evil, Interrupted: evil, Machine: Machine{OS: evil}, Backend: Backend{Text: evil}, Cells: []*Cell{
		{Scenario: evil, Rung: evil, Name: evil, NotTested: &NotTested{Reason: evil},
			Aborted: evil, Instances: []Instance{{Name: evil}},
			Faults: []Fault{{Text: evil}}, Client: &Client{Errors: map[string]int{evil: 1}},
			Findings: []Finding{{Verdict: Stock, Because: evil, Evidence: []Evidence{{Text: evil, Orders: []string{evil}}}}},
			Ops:      []Op{{Order: evil, Detail: evil, Lease: &Lease{Token: evil}, Trace: []Command{{Reply: evil}}}}},
	}}
	run, err := read(t, write(t, given))
	require.NoError(t, err)
	again := write(t, run)
	for _, acting := range []string{`\u001b`, "\u009b", `\n`, `\r`, "\u202e"} {
		assert.NotContains(t, again, acting)
	}
	assert.Contains(t, run.Cells[0].Findings[0].Because, `\x1b[2J`)
	assert.Equal(t, 1, run.Cells[0].Client.Errors[Plain(evil)])
}
