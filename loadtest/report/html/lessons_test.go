package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
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

func TestTheTopOfThePageIsALesson(t *testing.T) {
	cells := []*history.Cell{
		found("two-instances", "v0", history.Stock), found("two-instances", "v4"), found("pause", "v1"),
		found("pause", "v4", history.Stock, history.Exclusion), found("pause", "v6", history.Stock, history.Exclusion),
		found("pause", "v8", history.Stock, history.Exclusion), found("pause", "v15", history.Exclusion),
		found("pause", "v17"), found("pause", "v18", history.Exclusion), found("crash", "v1", history.Liveness),
	}
	doc := renderFound(t, cells...)
	assert.Equal(t, "A pause breaks every lock that expires; v15’s stock and v17 survive it.", top(doc))
	assert.Contains(t, doc, `<a href="#~pause">A pause</a> breaks`)
	assert.Contains(t, doc, `<a href="#pause-v17">v17</a>`)
	_, pair, _ := strings.Cut(doc, `<div class="pair">`)
	pair, _, _ = strings.Cut(pair, "</div>\n<p")
	assert.Regexp(t, `(?s)pause × v6 name</a>.*<svg.*pause × v15 name</a>.*lock broken, stock safe.*<svg`, pair)
	doc = renderFound(t, append(cells, found("pause", "v5"))...)
	assert.Equal(t, "A pause breaks 5 of 8 rungs; v5, v15’s stock and v17 survive it.", top(doc))
}

// Where nothing holds there is nothing to learn from what holds: another scenario comes first.
func TestAScenarioThatBreaksAllIsNotTheWholeLesson(t *testing.T) {
	all := []*history.Cell{
		found("stock-failover", "v4", history.Stock), found("stock-failover", "v17", history.Stock),
		found("stock-failover", "v6", history.Stock), found("stock-failover", "v5", history.Stock),
	}
	assert.Equal(t, "stock-failover breaks 4 of 4 rungs.", top(renderFound(t, all...)))
	all = append(all, found("pause", "v16", history.Stock), found("pause", "v17"))
	assert.Equal(t, "A pause breaks 1 of 2 rungs; v17 survives it.", top(renderFound(t, all...)))
}

// Of a few cells the top says what broke in each. They come before the matrix, and are open.
func TestAFewCellsComeFirst(t *testing.T) {
	doc := renderFound(t, found("pause", "v4", history.Stock), found("pause", "v17"))
	assert.Equal(t, "pause × v4 name: stock broken; pause × v17 name: ok.", top(doc))
	assert.Less(t, strings.Index(doc, `<section id="pause-v4"`), strings.Index(doc, `id="matrix"`))
	assert.Equal(t, 2, strings.Count(doc, ` open="open"`))
	assert.NotContains(t, top(renderFound(t, found("pause", "v17"))), "pause", "nothing is broken")
}

// The matrix tells with a word, a sign and a colour how bad it is.
func TestTheMatrixTellsHowBadItIs(t *testing.T) {
	skipped := cellOf("crash", "v4")
	skipped.NotRun = "no server"
	doc := renderFound(t, found("pause", "v4", history.Stock, history.Exclusion, history.Liveness),
		found("pause", "v15", history.Exclusion), found("pause", "v2", history.OwnRelease),
		found("crash", "v1", history.Liveness), found("crash", "v5"), skipped,
		found("queue-order", "v7", history.InOrder), found("herd", "v13", history.Herd))
	for link, cell := range map[string][2]string{
		"pause-v4": {"broken stock-broken surprise", "stock"}, "pause-v15": {"broken lock-broken", "lock"},
		"pause-v2": {"broken lock-broken surprise", "lock"}, "crash-v1": {"broken stuck", "stuck"}, "crash-v5": {"ok", "ok"},
		"crash-v4": {"none", "–"}, "queue-order-v7": {"broken unfair", "order"}, "herd-v13": {"broken unfair", "herd"},
	} {
		assert.Regexp(t, `<td class="`+cell[0]+`( surprise)?"><a href="#`+link+`" title="[^"]*">`+cell[1]+`</a>`, doc)
	}
	says(t, doc, `title="pause × v4 name: stock broken, stock, exclusion, liveness, surprise"`,
		"the lock is broken, the stock is right")
}

// Each cell has links to its neighbours in the matrix, whichever of them ran.
func TestACellLinksToItsNeighbours(t *testing.T) {
	doc := renderFound(t, found("pause", "v17"), found("pause", "v4"), found("pause", "v5"), found("crash", "v4"))
	_, cell, _ := strings.Cut(doc, `<section id="pause-v5">`)
	cell, _, _ = strings.Cut(cell, "</p>")
	assert.Contains(t, cell, `<a rel="prev" href="#pause-v4">← v4</a><a rel="next" href="#pause-v17">v17 →</a>`)
	assert.NotContains(t, cell, "↓")
	_, cell, _ = strings.Cut(doc, `<section id="pause-v4">`)
	cell, _, _ = strings.Cut(cell, "</p>")
	assert.NotContains(t, cell, "prev")
	assert.Contains(t, cell, `<a class="down" href="#crash-v4">crash ↓</a>`)
}
