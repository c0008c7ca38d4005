package history

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// maxPlain bounds the printed part of a text, in bytes.
const maxPlain = 4 << 10

// Plain returns a text that is safe to print. The answers of a service and a foreign file may contain control
// characters of terminals. Each of them, and each character that hides or reorders others, is escaped, as \x1b is.
// White space becomes a blank, so that the text stays on its line. Other texts are returned as they are, up to 4 KB.
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

// MakePlain makes every text plain in the value that v points to, for answers of other programs and foreign files.
func MakePlain(v any) {
	eachText(reflect.ValueOf(v).Elem(), func(text reflect.Value) { text.SetString(Plain(text.String())) })
}

// Mask replaces every text in the value that v points to by what mask returns for it, except words of ours, which have
// types of their own, and names in maps.
func Mask(v any, mask func(string) string) {
	eachText(reflect.ValueOf(v).Elem(), func(text reflect.Value) {
		if text.Type() == reflect.TypeFor[string]() {
			text.SetString(mask(text.String()))
		}
	})
}

// eachText calls change with each text in v.
func eachText(v reflect.Value, change func(text reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		change(v)
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), change)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), change)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() { // unexported fields, as of time.Time, stay
				eachText(v.Field(i), change)
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

// acts reports whether a character is not graphic: a control, a line break, or a mark of direction.
func acts(r rune) bool { return !unicode.IsGraphic(r) }
