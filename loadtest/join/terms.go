package join

import (
	"fmt"
	"strings"

	"stockapi/loadtest/latch"
)

// Terms are what the parties of a run have to agree on: parties that load the same shop differently, or different
// shops, prove nothing together.
type Terms []Term

// Term is one of them: the flags that set it, and its value in one line.
type Term struct{ Flag, Value string }

// longest is how much of two values is worth showing.
const longest = 160

// text writes the terms down, a line each.
func (t Terms) text() string {
	var lines []string
	for _, term := range t {
		lines = append(lines, term.Flag+"\t"+term.Value)
	}
	return strings.Join(lines, "\n")
}

// differ says in one line what the others have come for instead.
func (t Terms) differ(o Options, other *latch.TermsError) error {
	if other.Parties != o.Parties {
		return fmt.Errorf("the parties of %s disagree: --parties is %d here and %d with those who came first", o.Name, o.Parties, other.Parties)
	}
	theirs := strings.Split(other.Terms, "\n")
	for i, term := range t {
		flag, value, _ := strings.Cut(theirs[min(i, len(theirs)-1)], "\t")
		switch {
		case flag != term.Flag:
			return fmt.Errorf("the parties of %s are of different versions of loadtest: give all the same", o.Name)
		case value == term.Value:
		case len(value)+len(term.Value) > longest:
			return fmt.Errorf("the parties of %s disagree on %s: give all the same", o.Name, flag)
		default:
			return fmt.Errorf("the parties of %s disagree: %s is %q here and %q with those who came first", o.Name, flag, term.Value, value)
		}
	}
	return fmt.Errorf("the parties of %s are of different versions of loadtest: give all the same", o.Name)
}
