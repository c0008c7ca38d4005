package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// A section is one scenario × rung, with the cell that represents its repetitions.
type section struct {
	sign
	ID, Title   string
	Open        bool
	Walk        walk
	Steps       *steps // of a replay
	Alone       bool   // there is no matrix
	Expects     bool   // a result was expected
	Surprises   []string
	Story       string
	Why, NotRun string
	Invalid     string
	Verdicts    []verdict
	Coverage    string
	Client      facts
	Command     string
	Numbers     []fact
	Others      []string
	Has         bool // it has orders, which can be drawn
	Pack, At    int  // where its inside is
	row         *catalog.Row
}

// A verdict is one result, with the expected one.
type verdict struct {
	Name, Found, Class, Expected string
	AsExpected                   bool
	Because                      string
	More                         []string
}

func newSection(run *history.Run, r *catalog.Row, id string) *section {
	c := r.Shown().Cell
	title := r.Scenario.Name
	if c.Kind != history.Stage { // whose rounds have titles
		title += " × " + catalog.RungTitle(r.Rung, r.Name)
	}
	s := &section{
		ID: id, Title: title, row: r,
		sign: signOf(c), NotRun: clip(c.WhyNot(), 600), Command: command(run, r), Others: others(r),
	}
	for _, text := range slices.Concat(r.Surprises, r.Unknown) {
		s.Surprises = append(s.Surprises, clip(text, 600))
	}
	expected, known := r.Scenario.Expected(r.Rung)
	s.Steps, s.Expects = stepsOf(c), !isReplay(c) || len(c.Breaks) > 0
	s.Why = clip(expected.Why, 600)
	if c.NotTested != nil {
		return s
	}
	for _, v := range history.Verdicts {
		if v == history.InOrder && !c.InLine || v == history.Herd && c.Waiting == 0 {
			continue // a verdict that only few scenarios have
		}
		one := newVerdict(c.Finding(v), expected.Results[v], known)
		if c.IsUnlisted() {
			one.expect(slices.Contains(c.Breaks, v))
		}
		s.Verdicts = append(s.Verdicts, one)
	}
	if f := c.Finding(history.Valid); f.Result == history.Invalid {
		s.Invalid = clip(f.Because, 600)
	}
	s.Coverage, s.Client = strings.Join(terminal.Coverage(c.Coverage), ", "), client(c.Client)
	s.Story, s.Numbers, s.Has = story(c), numbers(c), len(c.Ops) > 0
	return s
}

func newVerdict(f history.Finding, want history.Result, known bool) verdict {
	v := verdict{
		Name: string(f.Verdict), Found: string(f.Result), Class: signOfAll(f).Class, Expected: string(want),
		AsExpected: f.Result == want || !known, Because: clip(f.Because, 600),
	}
	if !known {
		v.Expected = "?"
	}
	for i, e := range f.Evidence {
		if i > 0 { // the first is in Because
			v.More = append(v.More, clip(e.Text, 600))
		}
	}
	return v
}

// expect sets the expectation of a cell that is no scenario of the table: that it breaks the verdict, or none.
func (v *verdict) expect(breaks bool) {
	v.Expected, v.AsExpected = "", true
	if breaks {
		v.Expected = string(history.Broken)
		v.AsExpected = v.Found == v.Expected
	}
}

// story describes the first violation or, without one, the sales, in a sentence.
func story(c *history.Cell) string {
	if s := audit.Story(c.Findings); s != "" {
		return clip(s, 600)
	}
	t := c.Tally()
	found := "No violation was found: "
	switch history.Worst(c.Findings) {
	case history.Invalid:
		found = "This measured the client or the machine, and says nothing about the lock: "
	case history.Indeterminate:
		found = "Inconclusive: "
	}
	return found + fmt.Sprintf("%d buyers, %d sold, %d refused; %s of %d units left.",
		t.Buyers, t.Sold, t.Refused, c.LeftByBuyers(), c.Initial)
}

func numbers(c *history.Cell) []fact {
	t := c.Tally()
	return []fact{
		{"sold", fmt.Sprint(t.Sold)},
		{"refused", fmt.Sprint(t.Refused)},
		{"busy", fmt.Sprint(t.Busy)},
		{"not sold", fmt.Sprint(t.NotSold)},
		{"not sent", fmt.Sprint(t.NotSent)},
		{"unknown", fmt.Sprint(t.Unknown)},
		{"left", c.LeftByBuyers() + " of " + fmt.Sprint(c.Initial)},
		{"units sold twice", fmt.Sprint(c.SoldTwice())},
		{"instances", fmt.Sprint(len(c.Instances))},
		{"p50", measured(c.Latency.P50)},
		{"p99", measured(c.Latency.P99)},
		{"took", measured(c.Elapsed)},
		{"TTL", measured(c.TTL)},
		{"commands per sale", c.CommandsPerSale()},
		{"fresh request", freshRequest(c)},
	}
}

// freshRequest returns how long after the fault the next request got through.
func freshRequest(c *history.Cell) string {
	took, through := audit.Recovery(c)
	switch {
	case through:
		return "after " + millis(took)
	case took > 0:
		return "not within " + millis(took)
	}
	return "–"
}

// measured formats a latency, as a dash if there is none: the few orders of a fault scenario have no distribution.
func measured(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return millis(d)
}

// others returns a line for each repetition if there were several.
func others(r *catalog.Row) []string {
	var out []string
	for _, c := range r.Cells {
		line := fmt.Sprintf("repetition %d: %s", c.Repetition, signOf(c.Cell).Words)
		if s := audit.Story(c.Findings); s != "" {
			line += ": " + clip(s, 300)
		}
		out = append(out, line)
	}
	if len(out) == 1 {
		return nil
	}
	return append([]string{fmt.Sprintf("%d of %d repetitions were as expected", r.Met, r.Ran())}, out...)
}
