package history

import (
	"reflect"
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

// MakePlain makes each text plain that is in what v points to. It is for what another program answered, and for a file
// that somebody else may have made: whatever is printed of that is plain then.
func MakePlain(v any) { makePlain(reflect.ValueOf(v).Elem()) }

func makePlain(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Plain(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			makePlain(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			makePlain(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // those of others, such as time.Time, are not ours to change
				makePlain(v.Field(i))
			}
		}
	case reflect.Map:
		for _, name := range v.MapKeys() {
			value := v.MapIndex(name)
			v.SetMapIndex(name, reflect.Value{})
			v.SetMapIndex(reflect.ValueOf(Plain(name.String())), value)
		}
	}
}

// acts reports whether a character is more than a sign on the screen: a control, a line's end, or a mark of direction.
func acts(r rune) bool { return !unicode.IsGraphic(r) }
