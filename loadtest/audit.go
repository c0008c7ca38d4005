package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// auditFlags are the flags of the command audit.
type auditFlags struct {
	Files   []string `arg:"" name:"file" help:"A run's file, or its directory, such as out. With --answers: one file per load generator."`
	Verbose bool     `help:"Print all stories and all figures. Default: the stories that teach most, and the matrix."`
	Answers bool     `help:"The files hold the answers that another load generator got, one JSON line each: docs/contract.md."`
	Stock   int64    `placeholder:"N" help:"The stock before the first order of the answers."`
	Left    *int64   `placeholder:"N" help:"The stock after the last of them. Default: not checked, so that a lost unit goes unnoticed."`
	Orders  *int     `placeholder:"N" help:"How many orders were sent. Those without an answer are of unknown outcome. Default: not known; with --left, units that no answer accounts for are then unknown, not BROKEN."`
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

// run judges a file again and prints it like a run. The verdicts in the file are not trusted: the same histories
// must lead to them again, and it says where they do not.
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

// out returns the directory that --out wrote, if that was named and its files are there.
func (f *auditFlags) out() string {
	if !report.Written(f.Files[0]) {
		return ""
	}
	return filepath.Clean(f.Files[0])
}

// again judges a file again, has the result shown, and returns the exit code that the run itself has to have had.
func again(file string, stdout, stderr io.Writer, show func(*history.Run, []*catalog.Row) error) int {
	run, err := history.Open(file)
	if err != nil {
		return complain(stderr, err)
	}
	var differ []string
	for _, c := range run.Cells {
		differ = append(differ, rejudge(c)...)
	}
	rows := scenario.Table.Assess(run.Cells)
	if err := show(run, rows); err != nil {
		return complain(stderr, err)
	}
	for _, d := range differ {
		fmt.Fprintf(stdout, "the file's own verdict differs: %s\n", d)
	}
	return againCode(run, rows, differ, stderr)
}

// againCode is the exit code of a run that was judged again.
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

// rejudge replaces a cell's verdicts by new ones and says where they differ.
func rejudge(c *history.Cell) []string {
	recorded := c.Findings
	c.Findings, c.Coverage = audit.Judge(c)
	var differ []string
	for _, f := range c.Findings {
		was := history.FindingOf(recorded, f.Verdict).Result
		if f.Verdict == history.Valid && was == history.NotApplicable {
			continue // not judged when the file was written
		}
		if was != f.Result {
			differ = append(differ, fmt.Sprintf("%s: %s was recorded as %s and is %s", c.Title(), f.Verdict, was, f.Result))
		}
	}
	return differ
}
