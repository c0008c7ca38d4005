package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// predicted asks about the cells, and returns the letters of each, and the output.
func predicted(t *testing.T, scenarios, rungs []string, input string) (letters []string, said string) {
	t.Helper()
	specs, err := scenario.Table.Select(scenarios, rungs, 2, 2)
	require.NoError(t, err)
	var out bytes.Buffer
	ps, err := (&runFlags{Predict: true, Repeat: 2}).predict(t.Context(), specs, strings.NewReader(input), &out)
	require.NoError(t, err)
	for _, p := range ps {
		letters = append(letters, p.letters)
	}
	return letters, out.String()
}

// A cell that is repeated is asked about once. Letters come in any order and case, with spaces or without.
func TestPredictAsksAboutEachCell(t *testing.T) {
	letters, said := predicted(t, []string{"pause"}, []string{"v3", "v4", "v5"}, "e s\nSE, R\nel\n\n")
	assert.Equal(t, []string{"SE", "EL", ""}, letters)
	const pauseV4 = "pause v4: which letters break? S E R L F, enter for none: "
	assert.Regexp(t, `^Predict what will break. A \? explains the letters.\n\n`+
		`v3 owner-check, pause: SIGSTOP .*\npause v3: which letters break\? S E R L F, enter for none: \n`+
		`v4 lua-release, pause: SIGSTOP .*\n`+regexp.QuoteMeta(pauseV4+"\"SE,R\" has letters other than S E R L F\n"+pauseV4)+
		`\nv5 watchdog, pause: SIGSTOP .*\npause v5: which letters break\? S E R L F, enter for none: $`, said)
}

// A question mark explains the letters, and the question is asked again.
func TestPredictExplains(t *testing.T) {
	letters, said := predicted(t, []string{"pause"}, []string{"v4"}, "?\nse\n")
	assert.Equal(t, []string{"SE"}, letters)
	assert.Contains(t, said, "\n  R  own-release: an order removed a lock that was not its own\n")
}

// The letter of a verdict that only one scenario judges is known there.
func TestPredictKnowsLettersOfTheScenario(t *testing.T) {
	letters, said := predicted(t, []string{"herd"}, []string{"v13"}, "h\n")
	assert.Equal(t, []string{"H"}, letters)
	assert.Contains(t, said, "S E R L F H, enter")
	for _, s := range scenario.Table {
		for _, e := range s.Expect {
			for v, result := range e.Results {
				known := usual + terminal.Letters[s.AlsoJudged]
				assert.True(t, result == history.NotApplicable || strings.Contains(known, terminal.Letters[v]), s.Name, v)
			}
		}
	}
}

func TestPredictAtEndOfInput(t *testing.T) {
	letters, said := predicted(t, []string{"pause"}, []string{"v3", "v4", "v5"}, "s")
	assert.Equal(t, []string{"S", "", ""}, letters)
	assert.Equal(t, 2, strings.Count(said, "none: none, as the input has ended\n"), said)
}

func TestPredictIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, theirs := io.Pipe()
	defer func() { _ = theirs.Close() }()
	specs, err := scenario.Table.Select([]string{"pause"}, []string{"v4"}, 2, 1)
	require.NoError(t, err)
	_, err = (&runFlags{Predict: true, Repeat: 1}).predict(ctx, specs, never, &bytes.Buffer{})
	require.ErrorContains(t, err, "interrupted")
}

// Only measured cells count.
func TestPredictScore(t *testing.T) {
	pause, _ := scenario.Table.Find("pause")
	asExpected := func(rung string) *history.Cell {
		c := &history.Cell{Scenario: pause.Name, Rung: rung}
		e, _ := pause.Expected(rung)
		for _, v := range history.Verdicts {
			c.Findings = append(c.Findings, history.Finding{Verdict: v, Result: e.Results[v]})
		}
		return c
	}
	var out bytes.Buffer
	expected := []prediction{
		{"pause v4", "SE"}, {"pause v15", ""}, {"pause v17", ""}, {"pause v6", "S"}, {"pause v5", ""},
	}
	printScore(&out, expected, []*history.Cell{
		asExpected("v4"), asExpected("v15"), asExpected("v17"),
		{Scenario: pause.Name, Rung: "v6", NotTested: &history.NotTested{Reason: "needs nodes"}},
	})
	assert.Equal(t, `
cell       predicted  broke
pause v4   SE         SE
pause v15  none       E
pause v17  none       none
pause v6   S          not measured
pause v5   none       not measured
you predicted 2 of 3 cells
`, out.String())
}

// At the end of input a run goes on, and predictions do not change its exit code.
func TestPredictInARun(t *testing.T) {
	t.Parallel()
	a, b := newShop()
	args := []string{"--targets", a.serve(t) + "," + b.serve(t), "--requests", "10", "--stock", "3",
		"--scenarios", "one-instance,two-instances", "--rungs", "v4", "--predict"}
	code, stdout, stderr := untilMeasured(t, loadtest, args...)
	assert.Equal(t, asExpected, code, stderr)
	assert.Contains(t, stderr, "enter for none: none, as the input has ended\n")
	assert.True(t, strings.HasSuffix(stdout, "you predicted 2 of 2 cells\n"), stdout)
}
