package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// auditFlags are the flags of the command audit.
type auditFlags struct {
	Files   []string `arg:"" name:"file" help:"File or directory of a run: out. With --answers: a file per generator."`
	Verbose bool     `help:"Print all stories and figures, not only the most instructive."`
	Answers bool     `help:"Judge the answers that another load generator recorded: docs/scale.md."`
	Stock   int64    `placeholder:"N" help:"Stock before the first order."`
	Left    *int64   `placeholder:"N" help:"Stock after the last order. Default: lost units go unnoticed."`
	Orders  *int     `placeholder:"N" help:"Orders that were sent. Those without an answer are of unknown outcome."`
}

// Validate returns an error if the flags do not go together.
func (f *auditFlags) Validate() error {
	switch {
	case f.Answers && f.Stock < 1:
		return errors.New("--answers needs --stock, 1 or more: the stock before the first order")
	case f.Answers && f.Left != nil && (*f.Left < 0 || *f.Left > f.Stock):
		return errors.New("--left must lie between 0 and --stock")
	case f.Answers && f.Orders != nil:
		return within("--orders", *f.Orders, 1, 1_000_000)
	case !f.Answers && (f.Stock != 0 || f.Left != nil || f.Orders != nil):
		return errors.New("--stock, --left and --orders are for --answers: a run has its own")
	case !f.Answers && len(f.Files) > 1:
		return errors.New("several files are for --answers: judge the results of one run at a time")
	}
	return nil
}

// run judges a file again and prints it like a run. It does not trust the verdicts in the file: it derives them from
// the histories again, and reports where they differ.
func (f *auditFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	return untilEnd(ctx, stderr, func() int { return f.judge(stdout, stderr) })
}

func (f *auditFlags) judge(stdout, stderr io.Writer) int {
	if f.Answers {
		return f.judgeAnswers(stdout, stderr)
	}
	return again(f.Files[0], stdout, stderr, func(run *history.Run, rows []*catalog.Row) error {
		p := terminal.NewPrinter(stdout)
		p.Header(run, terminal.AnyCrowd(rows))
		o := terminal.Run{
			Rows: rows, Interrupted: run.Interrupted != "", Selected: run.Selected, Verbose: f.Verbose,
			Read: f.Files[0], Out: f.out(),
		}
		p.Results(o)
		p.End(o)
		if run.Interrupted != "" {
			fmt.Fprintf(stdout, "the run was not finished: %s\n", run.Interrupted)
		}
		return nil
	})
}

// out returns the directory of a run if the argument is one with all files of --out, and otherwise "".
func (f *auditFlags) out() string {
	if !report.Written(f.Files[0]) {
		return ""
	}
	return filepath.Clean(f.Files[0])
}

// again judges a file again, shows the result, and returns the exit code that the run itself must have had.
func again(file string, stdout, stderr io.Writer, show func(*history.Run, []*catalog.Row) error) int {
	run, err := history.Open(file)
	if err != nil {
		return complain(stderr, err)
	}
	differ := rejudge(run.Cells)
	rows := scenario.Table.Assess(run.Cells)
	if err := show(run, rows); err != nil {
		return complain(stderr, err)
	}
	for _, d := range differ {
		fmt.Fprintf(stdout, "the file's own verdict differs: %s\n", d)
	}
	return againCode(run, rows, differ, stderr)
}

// againCode returns the exit code of a run that was judged again.
func againCode(run *history.Run, rows []*catalog.Row, differ []string, stderr io.Writer) int {
	ran, good := 0, len(differ) == 0
	for _, r := range rows {
		ran += r.Ran()
		good = good && len(r.Surprises) == 0
	}
	switch {
	case run.Interrupted != "":
		return couldNotRun
	case ran == 0:
		return complain(stderr, errors.New("none of the cells could be run"))
	}
	return codeOf(rows, good)
}

// rejudge replaces the verdicts of cells and, of a trial's, their causes by new ones, and returns where they differ.
func rejudge(cells []*history.Cell) (differ []string) {
	var was [][]string
	var ofTrial []*history.Cell
	for _, c := range cells {
		played := c.Kind == history.Trial && len(c.Ops) > 0
		if played {
			ofTrial, was = append(ofTrial, c), append(was, explanationOf(c))
			c.NotTested = nil
		}
		line := history.TimelineOf(c, catalog.TermsOf(c))
		differ = append(differ, judgeAgain(c, line)...)
		if played {
			cause.Explain(c, line)
		}
	}
	cause.OfCrowds(ofTrial)
	for i, c := range ofTrial {
		for j, is := range explanationOf(c) {
			if was[i][j] != is {
				differ = append(differ, fmt.Sprintf("%s: %q was recorded and is %q", c.Title(), was[i][j], is))
			}
		}
	}
	return differ
}

// judgeAgain replaces a cell's verdicts by new ones, and returns where they differ.
func judgeAgain(c *history.Cell, line *history.Timeline) (differ []string) {
	recorded := c.Findings
	c.Findings, c.Coverage = audit.Judge(c, line)
	for _, f := range c.Findings {
		was := history.FindingOf(recorded, f.Verdict).Result
		if f.Verdict == history.Valid && was == history.NotApplicable {
			continue // the file is older than this verdict
		}
		if was != f.Result {
			differ = append(differ, fmt.Sprintf("%s: %s was recorded as %s and is %s", c.Title(), f.Verdict, was, f.Result))
		}
	}
	return differ
}

// explanationOf returns the texts by which a trial explains a cell: its defect, what breaks by design, why it was not
// tested, and its remarks.
func explanationOf(c *history.Cell) []string {
	defect := ""
	if c.Defect != nil {
		defect = c.Defect.Cause
	}
	return []string{defect, c.Design, c.WhyNot(), strings.Join(c.Remarks, "; ")}
}
