package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"stockapi/internal/explore"
)

// The marks between which --markdown puts its table.
const (
	tableBegins = "<!-- explore: the shortest way to break each rung -->\n"
	tableEnds   = "<!-- explore ends -->\n"
)

// writeMarkdown puts the table of the shortest counterexamples into the document that --markdown names.
func (f *flags) writeMarkdown(tasks []*task, r *results) error {
	if f.Markdown == "" {
		return nil
	}
	if r.interrupted {
		return errors.New("the table needs all cells, and is as it was")
	}
	text, err := os.ReadFile(f.Markdown)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q", f.Markdown, strings.TrimSpace(tableBegins),
			strings.TrimSpace(tableEnds))
	}
	return os.WriteFile(f.Markdown, []byte(before+tableBegins+table(tasks)+tableEnds+after), 0o644)
}

// A shortest is the shortest counterexample of a rung, under all that it was explored under.
type shortest struct {
	rung, fault string
	found       explore.Counterexample
	sentence    string
}

// table returns a row for each rung.
func table(tasks []*task) string {
	var text strings.Builder
	text.WriteString("\n| rung | breaks | how | steps | trace |\n|---|---|---|---|---|\n")
	for _, one := range shortestOf(tasks) {
		text.WriteString(one.row())
	}
	text.WriteString("\n")
	return text.String()
}

// row returns the row of a rung.
func (s shortest) row() string {
	if s.sentence == "" {
		return fmt.Sprintf("| %s | – | %s | | |\n", s.rung, nothingFound)
	}
	breaks := string(s.found.Verdict)
	if s.found.Faults > 0 {
		breaks += ", under *" + s.fault + "*"
	}
	return fmt.Sprintf("| %s | %s | %s | %d | `%s` |\n", s.rung, breaks, s.sentence, len(s.found.Trace.Steps),
		s.found.Trace)
}

// shortestOf returns the shortest counterexample of each rung, in the order of the rungs: fewest faults, then fewest
// switches, then fewest steps.
func shortestOf(tasks []*task) (all []shortest) {
	for _, one := range tasks {
		if n := len(all); n == 0 || all[n-1].rung != one.rung {
			all = append(all, shortest{rung: one.rung})
		}
		best := &all[len(all)-1]
		for i, found := range one.cell.Found {
			if best.sentence == "" || isShorter(found, best.found) {
				*best = shortest{one.rung, column(one.cell), found, one.stories[i].Sentence(found.Violation)}
			}
		}
	}
	return all
}

func isShorter(a, b explore.Counterexample) bool {
	return cmp.Or(a.Faults-b.Faults, a.Switches-b.Switches, len(a.Trace.Steps)-len(b.Trace.Steps)) < 0
}
