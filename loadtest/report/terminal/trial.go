package terminal

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
)

// A Trial is the report of a user's own shop, on the terminal and on its page.
type Trial struct {
	Shop  history.Shop
	Cells []*history.Cell
	// Unfinished means that not all of the cells were played.
	Unfinished bool
}

// TrialOf returns the trial of a run, nil if the run is none.
func TrialOf(run *history.Run) *Trial {
	isTrial := func(c *history.Cell) bool { return c.Kind == history.Trial }
	if i := slices.IndexFunc(run.Cells, isTrial); i < 0 {
		return nil
	}
	t := &Trial{Cells: run.Cells, Unfinished: run.Interrupted != ""}
	if run.Shop != nil {
		t.Shop = *run.Shop
	}
	return t
}

// A Said is a statement about some cells. The first cell is the evidence.
type Said struct {
	Text  string
	First *history.Cell
	Cells []string // their names
}

// In returns the names of the cells.
func (s *Said) In() string { return strings.Join(s.Cells, ", ") }

// Lines returns the code of a defect's remedy, ready to paste.
func (s *Said) Lines() (all []string) {
	for _, line := range s.First.Defect.Lines {
		all = append(all, history.Plain(line))
	}
	return all
}

// sayings returns the statements about the cells, each once, in the order of the cells.
func (t *Trial) sayings(of func(*history.Cell) []string) (all []*Said) {
	for _, c := range t.Cells {
		for _, text := range of(c) {
			if text = history.Plain(text); text == "" {
				continue
			}
			i := slices.IndexFunc(all, func(s *Said) bool { return s.Text == text })
			if i < 0 {
				i, all = len(all), append(all, &Said{Text: text, First: c})
			}
			all[i].Cells = append(all[i].Cells, c.Scenario)
		}
	}
	return all
}

// Defects returns the causes of defects: see [history.DefectsOf].
func (t *Trial) Defects() (all []*Said) {
	for _, d := range history.DefectsOf(t.Cells) {
		all = append(all, &Said{Text: history.Plain(d.Cause), First: d.First, Cells: d.Cells})
	}
	return all
}

// Designs returns the reasons for violations that are inherent in that kind of shop.
func (t *Trial) Designs() []*Said {
	return t.sayings(func(c *history.Cell) []string { return []string{c.Design} })
}

// Remarks returns remarks on cells, which are no defects.
func (t *Trial) Remarks() []*Said {
	return t.sayings(func(c *history.Cell) []string { return c.Remarks })
}

// NotTested returns why cells could not be played, or were inconclusive.
func (t *Trial) NotTested() []*Said {
	return t.sayings(func(c *history.Cell) []string { return []string{c.WhyNot()} })
}

// Unknown returns the unknown verdicts of cells that were played, with the reasons.
func (t *Trial) Unknown() []*Said {
	return t.sayings(func(c *history.Cell) (all []string) {
		valid := c.Finding(history.Valid)
		switch {
		case c.NotTested != nil:
			return nil
		case valid.Result == history.Invalid:
			return []string{valid.Because}
		}
		for _, one := range c.Findings {
			if one.Result == history.Indeterminate && one.Because != c.WhyNot() {
				all = append(all, fmt.Sprintf("%s: %s", one.Verdict, one.Because))
			}
		}
		return all
	})
}

// A TrialRow is a cell that was tested, with its finding for each of [cause.Asked], and their meaning.
type TrialRow struct {
	Cell  *history.Cell
	Found []history.Finding
	Means string
}

// IsDesign reports whether the cell shows no defect, and its violations are those of any lock of this kind.
func (r *TrialRow) IsDesign() bool { return r.Cell.Defect == nil && r.Cell.Design != "" }

// Rows returns a row for each cell that was tested.
func (t *Trial) Rows() (rows []TrialRow) {
	for _, c := range t.Cells {
		if c.NotTested != nil {
			continue
		}
		row := TrialRow{Cell: c}
		for _, v := range cause.Asked {
			row.Found = append(row.Found, c.Finding(v))
		}
		switch {
		case c.Defect != nil:
			row.Means = "DEFECT"
		case row.IsDesign():
			row.Means = "by design"
		case c.IsUnmeasured():
			row.Means = "not measured"
		}
		rows = append(rows, row)
	}
	return rows
}

// RowOf returns the row of a cell that was just played, on one line.
func RowOf(c *history.Cell) string {
	words := []string{c.Scenario}
	for _, row := range (&Trial{Cells: []*history.Cell{c}}).Rows() {
		for _, f := range row.Found {
			words = append(words, string(f.Result))
		}
		words = append(words, row.Means)
	}
	if c.NotTested != nil {
		words = append(words, either(c.NotTested.Failed, "not measured", "not tested"))
	}
	return strings.TrimSpace(history.Plain(strings.Join(words, " ")))
}

func either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

// count returns how many cells apply to the shop, and how many of them were not measured.
func (t *Trial) count() (tested, unmeasured int) {
	for _, c := range t.Cells {
		isUnmeasured := c.IsUnmeasured()
		if c.NotTested == nil || isUnmeasured {
			tested++
		}
		if isUnmeasured {
			unmeasured++
		}
	}
	return tested, unmeasured
}

// ExitCode returns the exit code of the trial: 0 without a defect, 1 with one; 2 if it was not finished, or if it found
// no defect and some cell was not measured, no cell applied, or a line of the user's was not judged.
func (t *Trial) ExitCode() int {
	tested, unmeasured := t.count()
	switch {
	case t.Unfinished:
		return 2
	case len(t.Defects()) > 0:
		return 1
	case t.Shop.Search != nil && !t.Shop.Search.IsEnough():
		return 2
	case tested == 0 || unmeasured > 0 || slices.ContainsFunc(t.Cells, t.isOpen):
		return 2
	}
	return 0
}

// isOpen reports whether a cell whose line the user gave, by --play, was not judged.
func (t *Trial) isOpen(c *history.Cell) bool {
	asked := slices.Contains(t.Shop.Flags, "--play="+c.Line)
	for i := range len(t.Shop.Flags) - 1 {
		asked = asked || t.Shop.Flags[i] == "--play" && t.Shop.Flags[i+1] == c.Line
	}
	return asked && (c.NotTested != nil || history.Worst(c.Findings) == history.Indeterminate)
}

// Headline returns the result in a few words.
func (t *Trial) Headline() string {
	tested, unmeasured := t.count()
	switch defects := len(t.Defects()); {
	case defects > 0:
		return plural(defects, "defect", "defects")
	case t.Unfinished:
		return "the trial was not finished"
	case tested == unmeasured:
		return "nothing was measured"
	}
	if s := t.Shop.Search; s != nil {
		return "no defect in " + plural(s.All(), "order of commands", "orders of commands")
	}
	n, _ := t.untested()
	return "no defect in " + plural(tested-unmeasured, "cell", "cells") + ifAny(n, "; %d not tested", n)
}

// mostReasons bounds how many reasons are printed on the last line.
const mostReasons = 2

// untested returns how many cells were not tested, and the most frequent reasons.
func (t *Trial) untested() (n int, reasons []string) {
	all := slices.DeleteFunc(t.NotTested(), func(s *Said) bool { return s.First.NotTested.Failed })
	slices.SortStableFunc(all, func(x, y *Said) int { return len(y.Cells) - len(x.Cells) })
	for i, s := range all {
		if n += len(s.Cells); i < mostReasons {
			reasons = append(reasons, s.Text)
		}
	}
	if len(all) > mostReasons {
		reasons = append(reasons, "…")
	}
	return n, reasons
}

// See returns where the code of every remedy is, "" if there is nothing to fix.
func (t *Trial) See() string {
	remedied := func(c *history.Cell) bool { return c.Defect != nil && len(c.Defect.Lines) > 0 }
	if len(t.Designs()) == 0 && !slices.ContainsFunc(t.Cells, remedied) {
		return ""
	}
	return "code for each remedy: docs/try.md#remedies"
}

// Limits returns the limits of what the headline covers.
func (t *Trial) Limits() (all []string) {
	if t.Shop.Uncounted {
		all = append(all, "only the lock was judged: to judge the stock, give --left")
	}
	tested, unmeasured := t.count()
	if unmeasured == 0 {
		return all
	}
	were, why := "were", ": the machine was busy"
	if unmeasured == 1 {
		were = "was"
	}
	if slices.ContainsFunc(t.Cells, func(c *history.Cell) bool { return c.NotTested != nil && c.NotTested.Failed }) {
		why = ""
	}
	return append(all, fmt.Sprintf("%d of %d cells %s not measured%s", unmeasured, tested, were, why))
}

// Print prints a line for each cell, then the defects, each with the cell that shows it, what is by design, remarks,
// and what is unknown or was not tested, and why.
func (t *Trial) Print(w io.Writer, verbose bool) {
	t.printRows(w)
	defects := t.Defects()
	for _, s := range defects {
		s.printDefect(w)
	}
	for _, kind := range []struct {
		word string
		all  []*Said
	}{
		{"by design in", t.Designs()}, {"remark on", t.Remarks()}, {"unknown in", t.Unknown()},
		{"not tested:", t.NotTested()},
	} {
		for _, s := range kind.all {
			fmt.Fprintf(w, "\n%s %s: %s\n", kind.word, s.In(), s.Text)
		}
	}
	for _, c := range t.Cells {
		for _, one := range c.Findings {
			if verbose && one.Result == history.Broken {
				fmt.Fprintf(w, "\n%s, %s %s: %s\n", c.Scenario, one.Verdict, one.Result, history.Plain(one.Because))
			}
		}
	}
	if see := t.See(); see != "" {
		fmt.Fprintf(w, "\n%s\n", see)
	}
	if tested, unmeasured := t.count(); len(defects) == 0 && !t.Unfinished && tested != unmeasured {
		n, reasons := t.untested()
		fmt.Fprintf(w, "\n%s%s\n", t.Headline(), ifAny(n, ": %s", strings.Join(reasons, "; ")))
	}
	for _, limit := range slices.Concat(t.Searched(), t.Limits()) {
		fmt.Fprintf(w, "\n%s\n", limit)
	}
}

func (t *Trial) printRows(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tstock\texclusion\town-release\tliveness")
	for _, row := range t.Rows() {
		fmt.Fprint(table, row.Cell.Scenario)
		for _, f := range row.Found {
			fmt.Fprintf(table, "\t%s", f.Result)
		}
		fmt.Fprintf(table, "\t%s\n", row.Means)
	}
	_ = table.Flush()
}

func (s *Said) printDefect(w io.Writer) {
	c := s.First
	fmt.Fprintf(w, "\nDEFECT in %s: %s\n  %s: %s\n", s.In(), s.Text, c.Scenario, history.Plain(c.Defect.Shown))
	if remedy := c.Defect.Remedy; remedy != "" {
		fmt.Fprintf(w, "  %s\n", remedy)
	}
	for _, line := range s.Lines() {
		fmt.Fprintln(w, strings.TrimRight("      "+line, " "))
	}
	fmt.Fprintf(w, "  again: %s\n", ShellLine(selection(c)))
}

// selection returns the flag that plays a cell again. It names the cell, since a fix may move the commands that the
// line numbers, unless the line is the user's own.
func selection(c *history.Cell) []string {
	switch c.Scenario {
	case c.Line:
		return []string{"--play", c.Line}
	case c.Line + history.LastUnit:
		return []string{"--units", "1", "--play", c.Line}
	}
	return []string{"--only", c.Scenario}
}

// Command returns the command line of the trial, quoted for a shell.
func (t *Trial) Command() string {
	words := append([]string{"loadtest", "try"}, t.Shop.Flags...)
	return ShellLine(slices.Concat(words, []string{"--"}, t.Shop.Argv))
}

// Again returns the command line that replays one cell, and does not overwrite the files of the trial.
func (t *Trial) Again(c *history.Cell) string {
	words := slices.Concat([]string{"loadtest", "try"}, selection(c), []string{"--no-out"})
	for i := 0; i < len(t.Shop.Flags); i++ {
		switch name, _, isWhole := strings.Cut(t.Shop.Flags[i], "="); name {
		case "--only", "--play", "--out", "--changes", "--for":
			if !isWhole {
				i++
			}
		case "--quick", "--no-out", "--every":
		default:
			words = append(words, t.Shop.Flags[i])
		}
	}
	return ShellLine(slices.Concat(words, []string{"--"}, t.Shop.Argv))
}

// plainWord is a word that a shell leaves as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellLine returns words quoted for a shell.
func ShellLine(words []string) string {
	line := make([]string, len(words))
	for i, word := range words {
		if line[i] = word; !plainWord.MatchString(word) {
			line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(line, " ")
}
