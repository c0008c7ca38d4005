package history

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlainDoesNothingToATerminal(t *testing.T) {
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

func TestPlainCutsALongText(t *testing.T) {
	assert.Less(t, len(Plain(strings.Repeat("\x1b", 5_000_000))), 20_000)
}
