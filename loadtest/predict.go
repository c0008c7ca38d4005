package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

const (
	mostPredicted = 12      // cells of a run with --predict
	usual         = "SERLF" // the letters of the verdicts of every scenario
)

// A prediction has the letters that a reader expects to break in a cell.
type prediction struct{ cell, letters string }

// predict asks on out which letters of each cell will break, and reads a line for each from in. It returns an error if
// there are too many cells, or if ctx ends. Without --predict it is a no-op.
func (f *runFlags) predict(
	ctx context.Context, specs []catalog.Spec, in io.Reader, out io.Writer,
) (predicted []prediction, err error) {
	cells := len(specs) / f.Repeat
	switch {
	case !f.Predict:
		return nil, nil
	case cells > mostPredicted:
		return nil, fmt.Errorf("--predict asks about %d cells at most, and this run has %d: choose fewer with --rungs "+
			"and --scenarios", mostPredicted, cells)
	}
	lines := make(chan string)
	go func() { // ctx does not cancel a read from a terminal
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	fmt.Fprintln(out, "Predict what will break. A ? explains the letters.")
	for repetitions := range slices.Chunk(specs, f.Repeat) {
		p, err := askFor(ctx, repetitions[0], lines, out)
		if err != nil {
			return nil, err
		}
		predicted = append(predicted, p)
	}
	return predicted, nil
}

// askFor asks about one cell until the answer has only known letters, and sorts these as the matrix does.
func askFor(ctx context.Context, s catalog.Spec, lines <-chan string, out io.Writer) (prediction, error) {
	known := usual + terminal.Letters[s.Scenario.AlsoJudged]
	spaced := strings.Join(strings.Split(known, ""), " ")
	fmt.Fprintf(out, "\n%s %s, %s: %s\n", s.Rung.Number, s.Rung.Name, s.Scenario.Name, s.Scenario.Does)
	for {
		p := prediction{cell: s.Scenario.Name + " " + s.Rung.Number}
		fmt.Fprintf(out, "%s: which letters break? %s, enter for none: ", p.cell, spaced)
		select {
		case <-ctx.Done():
			return p, errors.New("interrupted, with nothing run")
		case line, more := <-lines:
			if !more {
				fmt.Fprintln(out, "none, as the input has ended")
			}
			if strings.TrimSpace(line) == "?" {
				explain(out, known)
				continue
			}
			given := strings.Join(strings.Fields(strings.ToUpper(line)), "")
			for _, letter := range known {
				if strings.ContainsRune(given, letter) {
					p.letters += string(letter)
				}
			}
			if strings.Trim(given, p.letters) == "" {
				return p, nil
			}
			fmt.Fprintf(out, "%.32q has letters other than %s\n", given, spaced)
		}
	}
}

// explain prints the meaning of the letters.
func explain(out io.Writer, letters string) {
	for _, v := range history.Verdicts {
		if letter := terminal.Letters[v]; letter != "" && strings.Contains(letters, letter) {
			fmt.Fprintf(out, "  %s  %s: %s\n", letter, v, terminal.Happenings[v])
		}
	}
}

// printScore prints each prediction beside the result, and how many were right. Only measured cells count.
func printScore(out io.Writer, predicted []prediction, cells []*history.Cell) {
	if len(predicted) == 0 {
		return
	}
	broke := map[string]string{}
	for _, r := range scenario.Table.Assess(cells) {
		if a := r.Shown(); a.NotTested == nil && a.Invalid == "" && len(a.Unknown) == 0 {
			broke[r.Scenario.Name+" "+r.Rung] = cmp.Or(terminal.LettersOf(a.Findings, history.Broken), "none")
		}
	}
	right := 0
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\ncell\tpredicted\tbroke")
	for _, p := range predicted {
		letters, result := cmp.Or(p.letters, "none"), broke[p.cell]
		if letters == result {
			right++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", p.cell, letters, cmp.Or(result, "not measured"))
	}
	_ = table.Flush()
	fmt.Fprintf(out, "you predicted %d of %d cells\n", right, len(broke))
}
