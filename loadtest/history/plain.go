package history

import (
	"strconv"
	"strings"
	"unicode"
)

// maxPlain bounds what is printed of a text, in bytes.
const maxPlain = 4 << 10

// Plain returns a text fit to be printed. What a service answers, and what a file says that somebody else made, may
// hold characters that a terminal obeys. Each of them, and each that hides or reorders others, is written out, such as
// \x1b. White space becomes a blank, so that the text stays on its line. A text without such characters is returned as
// it is, up to 4 KB.
func Plain(s string) string {
	if len(s) > maxPlain {
		s = s[:maxPlain] + "…"
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

// acts reports whether a character is more than a sign on the screen: a control, a line's end, or a mark of direction.
func acts(r rune) bool { return !unicode.IsGraphic(r) }
