package terminal

import (
	"fmt"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Line describes a finished cell in one line, during the run: its verdict and its story, or after a "!" what is not as
// expected.
func Line(c *history.Cell) string {
	if c.NotRun != "" {
		return fmt.Sprintf("%s: %s", c.Title(), c.NotRun)
	}
	if why := catalog.Invalid(c); why != "" {
		return "! " + why
	}
	if surprises := catalog.Surprises(c); len(surprises) > 0 {
		return "! " + strings.Join(surprises, "; ")
	}
	line := fmt.Sprintf("%s: %s", c.Title(), verdict(c))
	if story := audit.Story(c.Findings); story != "" {
		line += ": " + story
	}
	return line
}

// Summary prints the last lines: as expected, or what was not, and which cells are no measurement of their rungs. It
// returns whether all that was measured is as expected.
func (p Printer) Summary(o Outcome) bool {
	words, _ := o.Headline()
	good, details := true, false
	for _, r := range o.Rows {
		good = good && len(r.Surprises) == 0
		details = details || len(r.Surprises)+len(r.Invalid) > 0
	}
	if details {
		words += ":"
	}
	p.wrapped("", 2, words)
	for _, r := range o.Rows {
		for _, s := range append(r.Surprises, r.Invalid...) {
			p.wrapped("  ", 4, s)
		}
	}
	return good
}

// Headline says in one line how a run came out. It is good if the run was finished, and all of it was measured and is
// as expected.
func (o Outcome) Headline() (words string, good bool) {
	met, ran, skipped, invalid, surprises := 0, 0, 0, 0, 0
	for _, r := range o.Rows {
		met, ran, skipped = met+r.Met, ran+r.Ran(), skipped+len(r.Cells)-r.Ran()
		invalid, surprises = invalid+len(r.Invalid), surprises+len(r.Surprises)
	}
	others := ""
	if invalid > 0 {
		others += fmt.Sprintf("; %d not valid", invalid)
	}
	if skipped > 0 {
		others += fmt.Sprintf("; %d not run", skipped)
	}
	switch {
	case surprises > 0:
		words = fmt.Sprintf("NOT as expected (%d of %d cells are%s)", met, ran, others)
	case invalid > 0:
		words = fmt.Sprintf("nothing was found that is not as expected, but not all was measured "+
			"(%d of %d cells are as expected%s)", met, ran, others)
	case o.Interrupted:
		words = "so far as expected"
		if others != "" {
			words += " (" + strings.TrimPrefix(others, "; ") + ")"
		}
	case ran == 0:
		words = fmt.Sprintf("nothing was measured (%d of %d cells%s)", met, ran, others)
	default:
		words, good = fmt.Sprintf("as expected (%d of %d cells%s)", met, ran, others), true
	}
	return o.interrupted() + words, good
}

// interrupted says how far an interrupted run came; it is empty if the run was finished.
func (o Outcome) interrupted() string {
	measured := 0
	for _, r := range o.Rows {
		measured += len(r.Cells)
	}
	switch {
	case !o.Interrupted:
		return ""
	case o.Selected == 0:
		return fmt.Sprintf("interrupted after %s, ", plural(measured, "cell", "cells"))
	}
	return fmt.Sprintf("interrupted after %d of %d cells, ", measured, o.Selected)
}
