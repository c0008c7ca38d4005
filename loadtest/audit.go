package main

import (
	"fmt"
	"io"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/scenario"
)

// run judges a file again and prints it like a run. The verdicts in the file are not trusted: the same histories
// must lead to them again, and it says where they do not.
func (f *auditFlags) run(stdout, stderr io.Writer) int {
	run, err := history.Read(f.File)
	if err != nil {
		return complain(stderr, err)
	}
	var differ []string
	for _, c := range run.Cells {
		differ = append(differ, rejudge(c)...)
	}
	report.Header(stdout, run)
	good := tell(stdout, scenario.Assess(run.Cells), colourful(stdout))
	if run.Interrupted != "" {
		fmt.Fprintf(stdout, "the run was not finished: %s\n", run.Interrupted)
	}
	for _, d := range differ {
		fmt.Fprintf(stdout, "the file's own verdict differs: %s\n", d)
	}
	if !good || len(differ) > 0 {
		return surprised
	}
	return asExpected
}

// rejudge replaces a cell's verdicts by new ones and says where they differ.
func rejudge(c *history.Cell) []string {
	recorded := c.Findings
	c.Findings = audit.Judge(c)
	var differ []string
	for _, f := range c.Findings {
		was := history.FindingOf(recorded, f.Verdict).Result
		if f.Verdict == history.Valid && was == history.NotApplicable {
			continue // nobody asked when the file was written
		}
		if was != f.Result {
			differ = append(differ, fmt.Sprintf("%s: %s was recorded as %s and is %s", c.Title(), f.Verdict, was, f.Result))
		}
	}
	return differ
}
