package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9/helper"
)

// A condition is the comparison, by the server, of a string with an argument of the command that writes it: IFEQ, IFNE,
// and, with the digest of the string, IFDEQ and IFDNE. The zero condition is none.
type condition struct{ word, with string }

var conditions = []string{"ifeq", "ifne", "ifdeq", "ifdne"}

// conditionOf returns the condition of a SET, DELEX or DELIFEQ.
func conditionOf(args []string) condition {
	from := 2
	switch strings.ToLower(args[0]) {
	case "delifeq":
		if len(args) > from {
			return condition{"ifeq", args[from]}
		}
		return condition{}
	case "set":
		from = 3
	case "delex":
	default:
		return condition{}
	}
	for i := from; i+1 < len(args); i++ {
		if word := strings.ToLower(args[i]); slices.Contains(conditions, word) {
			return condition{word, args[i+1]}
		}
	}
	return condition{}
}

// Condition returns the option by which a command compares the string that it writes, such as IFEQ, "" if it has none.
func Condition(args []string) string {
	if len(args) == 0 || strings.EqualFold(args[0], "delifeq") {
		return ""
	}
	return strings.ToUpper(conditionOf(args).word)
}

// isEqual reports whether the command writes only what it names, and so depends on it. IFNE writes anything else.
func (c condition) isEqual() bool { return c.word == "ifeq" || c.word == "ifdeq" }

// holds reports whether the condition holds for a string, or for an absent key.
func (c condition) holds(had part) bool {
	same := had.there && c.with == had.value
	if c.word == "ifdeq" || c.word == "ifdne" {
		same = had.there && strings.EqualFold(c.with, digestOf(had.value))
	}
	return same == c.isEqual()
}

// digestOf returns the digest of a string, as the server's DIGEST does.
func digestOf(value string) string { return fmt.Sprintf("%016x", helper.DigestString(value)) }

// held reports whether the condition of a line held, and whether that is known. Outside scripts and transactions the
// reply shows it, else what the line found.
func (c *execution) held(one *line, found *KeyState) (held, known bool) {
	test, single, none := conditionOf(one.args), !one.script && !c.exec, c.reply == "(nil)"
	switch {
	case test.word == "":
		return false, false
	case single && !settingOf(one.args).replies:
		return !none && c.reply != "0", true
	case single && none:
		return test.holds(part{}), true
	}
	return test.holds(found.part("")), !found.Opaque
}

// A use is a line that names a key, or what belongs to it.
type use struct {
	line
	own    bool // it names the key itself
	writes bool // it writes that, and may have had an effect
}

// uses returns the lines that isNamed matches. Those with a condition wrote the key only if that held for what the
// lines before them had left.
func (c *execution) uses(t table, key Key, isNamed func(table, *line) bool, was KeyState) (all []use) {
	for _, one := range c.on(t, isNamed) {
		if !was.Ends.IsZero() && one.at.After(was.Ends.Add(-rounding)) {
			was = KeyState{Opaque: true} // it may have expired
		}
		u := use{line: one, own: key.isIn(t, &one)}
		if u.writes = u.own && c.mayWrite(t, one, &was); u.writes {
			was = leftBy(one.args)
		}
		all = append(all, u)
	}
	return all
}

// leftBy returns what a write leaves of its key, as far as its arguments show that.
func leftBy(args []string) KeyState {
	w, known := writesOf[strings.ToLower(args[0])]
	switch {
	case known && removes(args):
		return KeyState{Kind: "none"}
	case known && settingOf(args).key && w.sets < len(args) && !settingOf(args).ifAbsent:
		return KeyState{Kind: "string", Parts: map[string]string{"": args[w.sets]}}
	}
	return KeyState{Opaque: true}
}
