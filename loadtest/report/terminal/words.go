package terminal

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Line describes a finished cell on one line, during the run: its verdict and its story, or its surprises after a "!".
func Line(c *catalog.Assessment) string {
	if c.NotTested != nil {
		return fmt.Sprintf("%s: %s", c.Title(), c.WhyNot())
	}
	if c.Invalid != "" {
		return "! " + c.Invalid
	}
	if said := slices.Concat(c.Surprises, c.Unknown); len(said) > 0 {
		return "! " + strings.Join(said, "; ")
	}
	line := fmt.Sprintf("%s: %s", c.Title(), verdict(c))
	if story := audit.Story(c.Findings); story != "" {
		line += ": " + story
	}
	return line
}

// Summary prints the last lines: as expected or not, the surprises, and the cells that were not measured. It returns
// whether there are no surprises.
func (p Printer) Summary(o Run) bool {
	words, _ := o.Headline()
	good, details := true, false
	for _, r := range o.Rows {
		good = good && len(r.Surprises) == 0
		details = details || len(r.Surprises)+len(r.Unknown)+len(r.Invalid) > 0
	}
	if details {
		words += ":"
	}
	p.wrapped("", 2, words)
	for _, r := range o.Rows {
		for _, s := range slices.Concat(r.Surprises, r.Unknown, r.Invalid) {
			p.wrapped("  ", 4, s)
		}
	}
	return good
}

// Headline sums up a run in one line. good means that the run was finished, and every cell was measured and is as
// expected.
func (o Run) Headline() (words string, good bool) {
	if words, good = o.class(); words != "" {
		return words, good
	}
	met, ran, skipped, invalid, unknown, surprises := 0, 0, 0, 0, 0, 0
	for _, r := range o.Rows {
		met, ran, skipped = met+r.Met, ran+r.Ran(), skipped+len(r.Cells)-r.Ran()
		invalid, surprises = invalid+len(r.Invalid), surprises+len(r.Surprises)
		for _, c := range r.Cells {
			if len(c.Unknown) > 0 && len(c.Surprises) == 0 {
				unknown++
			}
		}
	}
	others := ifAny(unknown, "; %d unknown", unknown) + ifAny(invalid, "; %d not valid", invalid) +
		ifAny(skipped, "; %d not run", skipped)
	switch {
	case surprises > 0:
		words = fmt.Sprintf("NOT as expected (%d of %d cells are%s)", met, ran, others)
	case invalid+unknown > 0:
		words = fmt.Sprintf("no surprises, but not everything was measured (%d of %d cells are as expected%s)", met, ran,
			others)
	case o.Interrupted:
		words = "as expected so far"
		if others != "" {
			words += " (" + strings.TrimPrefix(others, "; ") + ")"
		}
	case ran == 0:
		words = fmt.Sprintf("nothing was measured (%d of %d cells%s)", met, ran, others)
	default:
		words, good = fmt.Sprintf("as expected (%d of %d cells%s)", met, ran, others), true
	}
	return o.interrupted(ran+skipped) + words, good
}

// class sums up the rounds of a stage, "" for another run. Rounds are played, not measured.
func (o Run) class() (words string, good bool) {
	played, astray := 0, 0
	for _, r := range o.Rows {
		for _, c := range r.Cells {
			if c.Kind != history.Stage {
				return "", false
			}
			played++
			astray += min(len(c.Astray), 1)
		}
	}
	words = plural(played, "round was played", "rounds were played")
	switch {
	case played == 0:
		return "", false
	case astray == 0:
		return words + ", as scripted", true
	}
	return fmt.Sprintf("%s; %d departed from the script", words, astray), false
}

// interrupted describes how far an interrupted run got; "" if the run was finished.
func (o Run) interrupted(measured int) string {
	switch {
	case !o.Interrupted:
		return ""
	case o.Selected == 0:
		return fmt.Sprintf("interrupted after %s, ", plural(measured, "cell", "cells"))
	}
	return fmt.Sprintf("interrupted after %d of %d cells, ", measured, o.Selected)
}
