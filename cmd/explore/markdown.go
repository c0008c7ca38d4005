package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"stockapi/internal/explore"
	"stockapi/loadtest/history"
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
	return os.WriteFile(f.Markdown, []byte(before+tableBegins+tableOf(tasks)+tableEnds+after), 0o644)
}

// A shortest holds the shortest counterexamples of a rung, one for each verdict, under all that it was explored under.
type shortest struct {
	rung     string
	found    map[history.Verdict]explore.Counterexample
	best     history.Verdict // of the shortest of all, "" if there is none
	sentence string          // about that
}

// tableOf returns a row for each rung.
func tableOf(tasks []*task) string {
	all := shortestOf(tasks)
	verdicts := brokenIn(all)
	var text strings.Builder
	text.WriteString("\n| rung | the shortest of all, in a sentence |")
	for _, v := range verdicts {
		fmt.Fprintf(&text, " %s |", v)
	}
	text.WriteString("\n|---|---|" + strings.Repeat("---|", len(verdicts)) + "\n")
	for _, one := range all {
		text.WriteString(one.row(verdicts))
	}
	text.WriteString("\n")
	return text.String()
}

// brokenIn lists the verdicts that any of the rungs breaks.
func brokenIn(all []shortest) (verdicts []history.Verdict) {
	for _, v := range explore.Verdicts {
		if slices.ContainsFunc(all, func(s shortest) bool { _, ok := s.found[v]; return ok }) {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// row returns the row of a rung: its traces, with the shortest of all in bold.
func (s shortest) row(verdicts []history.Verdict) string {
	row := fmt.Sprintf("| %s | %s |", s.rung, cmp.Or(s.sentence, nothingFound))
	for _, v := range verdicts {
		switch found, ok := s.found[v]; {
		case !ok:
			row += " |"
		case v == s.best:
			row += fmt.Sprintf(" **`%s`** |", found.Trace)
		default:
			row += fmt.Sprintf(" `%s` |", found.Trace)
		}
	}
	return row + "\n"
}

// shortestOf returns the shortest counterexamples of each rung, in the order of the rungs.
func shortestOf(tasks []*task) (all []shortest) {
	for _, one := range tasks {
		if n := len(all); n == 0 || all[n-1].rung != one.rung {
			all = append(all, shortest{rung: one.rung, found: map[history.Verdict]explore.Counterexample{}})
		}
		all[len(all)-1].add(one)
	}
	return all
}

// add takes the counterexamples of a cell that are shorter than those before.
func (s *shortest) add(one *task) {
	for i, found := range one.cell.Found {
		if best, ok := s.found[found.Verdict]; ok && !isShorter(found, best) {
			continue
		}
		s.found[found.Verdict] = found
		if s.best == "" || s.best == found.Verdict || isShorter(found, s.found[s.best]) {
			s.best, s.sentence = found.Verdict, one.stories[i].Sentence(found.Violation)
		}
	}
}

// isShorter compares counterexamples: by their faults, then their switches, then their steps.
func isShorter(a, b explore.Counterexample) bool {
	return cmp.Or(a.Faults-b.Faults, a.Switches-b.Switches, len(a.Trace.Steps)-len(b.Trace.Steps)) < 0
}
