package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
)

// found returns a cell with these verdicts broken and all others ok.
func found(scenario, rung string, broken ...history.Verdict) *history.Cell {
	c := cellOf(scenario, rung, sale("o1", "a", 100, 10, 20))
	for _, v := range history.Verdicts {
		f := history.Finding{Verdict: v, Result: history.OK}
		for _, b := range broken {
			if v == b {
				f.Result, f.Because = history.Broken, fmt.Sprintf("the story of %s × %s", scenario, rung)
			}
		}
		c.Findings = append(c.Findings, f)
	}
	return c
}

func renderFound(t *testing.T, cells ...*history.Cell) string {
	t.Helper()
	run := runOf()
	run.Cells = cells
	doc := render(t, run)
	sound(t, doc)
	return doc
}

// top returns the heading of the page without markup.
func top(doc string) string {
	_, heading, _ := strings.Cut(doc, "<h1>")
	heading, _, _ = strings.Cut(heading, "</h1>")
	return regexp.MustCompile("<[^>]*>").ReplaceAllString(heading, "")
}

// expected returns cells of a scenario that are as the table expects.
func expected(t *testing.T, name string, rungs ...string) (cells []*history.Cell) {
	t.Helper()
	s, found := scenario.Table.Find(name)
	require.True(t, found)
	for _, rung := range rungs {
		e, applies := s.Expected(rung)
		require.True(t, applies)
		cells = append(cells, forged(s, e))
	}
	return cells
}

// If there are many cells, two are shown as pictures: the strongest rung that breaks, and the first that holds.
func TestLessonOfManyCells(t *testing.T) {
	cells := append(expected(t, "pause", "v1", "v4", "v6", "v15", "v17"), expected(t, "crash", "v1")...)
	doc := renderFound(t, cells...)
	assert.Equal(t, "pause broke the most: on v4 and v6 a unit was sold twice; v4: a stopped process does not see its "+
		"lease expire.", top(doc))
	says(t, doc, "though the lock broke", "v1 (but not in crash) and v17 held.")
	_, pair, _ := strings.Cut(doc, `<div class="pair">`)
	pair, _, _ = strings.Cut(pair, "<h2>")
	assert.Regexp(t, `(?s)pause × v6 redlock</a>.*data-at="2".*pause × v15 fenced</a>.*stock safe.*data-at="3"`, pair)
	assert.Less(t, strings.Index(doc, `id="matrix"`), strings.Index(doc, `<div class="pair">`), "the matrix comes first")
}

// If there are few cells, they come before the matrix, and are open.
func TestFewCellsComeFirst(t *testing.T) {
	doc := renderFound(t, expected(t, "pause", "v4", "v17")...)
	assert.Equal(t, "In pause, on v4 a unit was sold twice: a stopped process does not see its lease expire.", top(doc))
	assert.NotContains(t, doc, `<div class="pair">`)
	assert.Less(t, strings.Index(doc, `<section id="pause-v4"`), strings.Index(doc, `id="matrix"`))
	assert.NotContains(t, top(renderFound(t, expected(t, "pause", "v17")...)), "pause", "nothing is broken")
}

// The matrix shows the severity of a cell with a word, a sign and a colour.
func TestMatrixShowsSeverity(t *testing.T) {
	skipped := cellOf("crash", "v4")
	skipped.NotTested = &history.NotTested{Reason: "no server"}
	doc := renderFound(t, found("pause", "v4", history.Stock, history.Exclusion, history.Liveness),
		found("pause", "v15", history.Exclusion), found("pause", "v2", history.OwnRelease),
		found("crash", "v1", history.Liveness), found("crash", "v5"), skipped,
		found("queue-order", "v7", history.InOrder), found("herd", "v13", history.Herd))
	for link, cell := range map[string][2]string{
		"pause-v4": {"broken stock-broken surprise", "SEL"}, "pause-v15": {"broken lock-broken", "E"},
		"pause-v2": {"broken lock-broken surprise", "R"}, "crash-v1": {"broken stuck", "L"}, "crash-v5": {"ok", "ok"},
		"crash-v4": {"none", "–"}, "queue-order-v7": {"broken unfair", "O"}, "herd-v13": {"broken unfair", "H"},
	} {
		assert.Regexp(t, `<td class="`+cell[0]+`( surprise)?"><a href="#`+link+`" title="[^"]*">`+cell[1]+`</a>`, doc)
	}
	says(t, doc, `title="pause × v4 name: stock broken, stock, exclusion, liveness, surprise"`,
		"the lock is broken, the stock is right", "What broke: S stock, E exclusion, R own-release, L liveness")
}

// Each cell links to the nearest cells of the matrix that are in the run.
func TestCellLinksToItsNeighbours(t *testing.T) {
	doc := renderFound(t, found("pause", "v17"), found("pause", "v4"), found("pause", "v5"), found("crash", "v4"))
	_, cell, _ := strings.Cut(doc, `<section id="pause-v5"`)
	cell, _, _ = strings.Cut(cell, "</p>")
	assert.Contains(t, cell, `<a rel="prev" href="#pause-v4">← v4</a><a rel="next" href="#pause-v17">v17 →</a>`)
	assert.NotContains(t, cell, "↓")
	_, cell, _ = strings.Cut(doc, `<section id="pause-v4"`)
	cell, _, _ = strings.Cut(cell, "</p>")
	assert.NotContains(t, cell, "prev")
	assert.Contains(t, cell, `<a class="down" href="#crash-v4">crash ↓</a>`)
}
