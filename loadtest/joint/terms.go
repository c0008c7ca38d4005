package joint

import (
	"fmt"
	"strings"

	"stockapi/loadtest/latch"
)

// Terms are the settings that the parties of a run have to agree on: parties with different loads, or different shops,
// prove nothing together.
type Terms []Term

// A Term is one setting: the flags that set it, and its value in one line.
type Term struct{ Flag, Value string }

// maxShown is the length up to which two differing values are shown.
const maxShown = 160

// text renders the terms, one per line.
func (t Terms) text() string {
	var lines []string
	for _, term := range t {
		lines = append(lines, term.Flag+"\t"+term.Value)
	}
	return strings.Join(lines, "\n")
}

// differ says in one line how the others' terms differ.
func (t Terms) differ(o Options, other *latch.TermsError) error {
	if other.Parties != o.Parties {
		return fmt.Errorf("the parties of %s disagree: --parties is %d here and %d with those who came first", o.Name,
			o.Parties, other.Parties)
	}
	theirs := strings.Split(other.Terms, "\n")
	for i, term := range t {
		flag, value, _ := strings.Cut(theirs[min(i, len(theirs)-1)], "\t")
		switch {
		case flag != term.Flag:
			return fmt.Errorf("the parties of %s are of different versions of loadtest: give all the same", o.Name)
		case value == term.Value:
		case len(value)+len(term.Value) > maxShown:
			return fmt.Errorf("the parties of %s disagree on %s: give all the same", o.Name, flag)
		default:
			return fmt.Errorf("the parties of %s disagree: %s is %q here and %q with those who came first", o.Name, flag,
				term.Value, value)
		}
	}
	return fmt.Errorf("the parties of %s are of different versions of loadtest: give all the same", o.Name)
}
