package terminal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

func TestWhatIsNotValidIsToldAsSuch(t *testing.T) {
	bad := asExpected("two-instances", "v17")
	bad.Findings = append([]history.Finding{{Verdict: history.Valid, Result: history.Invalid,
		Because: "2 of 3 were not sent"}}, bad.Findings...)
	bad.Ops = append(bad.Ops, history.Op{Phase: history.Buy, Outcome: history.NotSent})
	slow := asExpected("crash", "v4")
	slow.Aborted, slow.Client = "it was not held", &history.Client{Longest: time.Second}
	longer := asExpected("pause", "v4")
	longer.Longer = 4
	rows := catalog.Assess([]*history.Cell{bad, slow, longer})
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Matrix(rows)
	text := out.String()
	assert.LessOrEqual(t, widest(text), 120, text)
	assert.Regexp(t, `(?m)not-sent[^\n]*\n[^\n]*\n! v17 atomic +2 not valid `, text)
	assert.Regexp(t, `(?m)^crash +inv$`, text)
	assert.Regexp(t, `(?m)^pause +SE~$`, text)
	assert.Contains(t, text,
		"run once more, with longer leases, as the machine was too slow or the fault did not come to pass: pause v4\n")

	out.Reset()
	assert.True(t, terminal.Printer{Writer: &out}.Summary(terminal.Outcome{Rows: rows}), "nothing surprises")
	assert.Contains(t, out.String(), "not all was measured (1 of 3 cells are as expected; 2 not valid):\n")
	assert.Contains(t, out.String(), "  two-instances v17 atomic: not valid: 2 of 3 were not sent\n")
	assert.Contains(t, out.String(), "  crash v4 lua-release: machine too slow for this cell: "+
		"nothing ran for 1s at once, under leases of 400ms: could not")
	assert.Contains(t, terminal.Line(slow), "! crash v4 lua-release: machine too slow for this cell")
}

// The probe of a large stock buys a unit, which is not lost.
func TestWhatTheProbeBoughtIsNotLost(t *testing.T) {
	c := asExpected("two-instances", "v17")
	left := int64(1899)
	c.Left, c.Ops = &left, append(c.Ops, history.Op{Phase: history.Probe, Outcome: history.Sold, Units: []int64{1900}})
	var out bytes.Buffer
	terminal.Printer{Writer: &out}.Matrix(catalog.Assess([]*history.Cell{c}))
	assert.Contains(t, out.String(), " 1900 ")
}
