package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/scenario"
)

func TestTheGrid(t *testing.T) {
	var cells []*history.Cell
	for _, s := range scenario.Table {
		for _, e := range s.Expect {
			if s.Fault() {
				c := cell(s.Name, e.Rung, nil)
				c.TTL = 400 * time.Millisecond
				for _, v := range history.Verdicts {
					c.Findings = append(c.Findings, history.Finding{Verdict: v, Result: e.Verdicts.Of(v), Because: "so"})
				}
				cells = append(cells, c)
			}
		}
	}
	cells[0].NotRun = "needs a system that can stop a process"
	cells[1].Findings[0].Result = history.Broken
	var out bytes.Buffer
	report.Matrix(&out, scenario.Assess(cells), false)
	text := out.String()
	assert.Contains(t, text, "faults, under leases of 400ms; broken is S stock,")
	assert.Regexp(t, `(?m)^  v1 setnx +not run +ok`, text)
	assert.Regexp(t, `(?m)^! v1\.5 setnx-expire +BROKEN SL ! BROKEN SE`, text)
	assert.Regexp(t, `(?m)^  v16 cas +ok +ok +– +– +ok +– +ok +–$`, text)
	assert.Contains(t, text, "not run, 1: needs a system that can stop a process\n")
	assert.NotContains(t, text, "v0 nolock", "no fault scenario applies to it")
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, " \n")), 120, line)
	}
}
