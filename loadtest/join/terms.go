package join

import (
	"fmt"
	"strings"

	"stockapi/loadtest/latch"
)

// Terms are what the parties of a run have to agree on: parties that load the same shop differently, or different
// shops, prove nothing together.
type Terms []Term

// Term is one of them: the flag that sets it, and its value in one line.
type Term struct{ Flag, Value string }

// longest is how much of a value is worth showing.
const longest = 60

func (t Terms) text() string {
	var lines []string
	for _, term := range t {
		lines = append(lines, term.Flag+" "+term.Value)
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
		if i >= len(theirs) {
			break
		}
		flag, value, _ := strings.Cut(theirs[i], " ")
		switch {
		case flag != term.Flag:
		case value == term.Value:
			continue
		case len(value)+len(term.Value) > longest:
			return fmt.Errorf("the parties of %s disagree on %s: give all the same", o.Name, flag)
		default:
			return fmt.Errorf("the parties of %s disagree: %s is %q here and %q with those who came first", o.Name, flag, term.Value, value)
		}
		break
	}
	return fmt.Errorf("the parties of %s are of different versions of loadtest: give all the same", o.Name)
}
