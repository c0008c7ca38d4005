// Package plain makes the words of others fit to be printed. What a service answers, and what a file says that somebody
// else made, may hold characters that a terminal obeys.
package plain

import (
	"strconv"
	"strings"
	"unicode"
)

// maxText bounds what is printed of a text, in bytes.
const maxText = 4 << 10

// Text returns a text in which each character that a terminal would act upon, or that hides or reorders others, is
// written out, such as \x1b. White space becomes a blank, so that the text stays on its line. A text without such
// characters is returned as it is, up to 4 KB.
func Text(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD") // a byte such as 0x9b alone begins a control sequence too
	if strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !acts(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Texts returns each text as [Text] does.
func Texts(all []string) []string {
	var out []string
	for _, s := range all {
		out = append(out, Text(s))
	}
	return out
}

// acts reports whether a character is more than a sign on the screen: a control, a line's end, or a mark of direction.
func acts(r rune) bool { return !unicode.IsGraphic(r) }
