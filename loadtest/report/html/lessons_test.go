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

// top returns the findings at the top of the page, one a line, without markup.
func top(doc string) []string {
	_, list, _ := strings.Cut(doc, `<ul class="findings">`)
	list, _, _ = strings.Cut(list, "</ul>")
	list = regexp.MustCompile("<[^>]*>").ReplaceAllString(list, "")
	return strings.FieldsFunc(list, func(r rune) bool { return r == '\n' })
}

func TestTheTopOfThePageTellsThreeThings(t *testing.T) {
	doc := renderFound(t,
		found("two-instances", "v0", history.Stock), found("two-instances", "v4"),
		found("pause", "v4", history.Stock, history.Exclusion), found("pause", "v5", history.Exclusion),
		found("pause", "v15", history.Exclusion), found("pause", "v17"),
		found("crash", "v1", history.Liveness), found("crash", "v4"), found("crash", "v5"))
	assert.Equal(t, []string{
		"Breaks most pause breaks 3 of 4 rungs, and the stock on 1 of them: SIGSTOP at the last instant before the write, " +
			"until a second has sold.",
		"Holds there v17 name. Lock broken, stock right: v5 name, v15 name.",
		"For example pause × v4 name: the story of pause × v4",
	}, top(doc))
	assert.Contains(t, doc, `<a href="#~pause">pause</a> breaks`)
	assert.Contains(t, doc, `<a href="#pause-v17">v17 name</a>`)
}

// Where nothing holds there is nothing to learn from what holds: another scenario comes first.
func TestAScenarioThatBreaksAllIsNotTheWholeLesson(t *testing.T) {
	all := []*history.Cell{
		found("stock-failover", "v4", history.Stock), found("stock-failover", "v17", history.Stock),
	}
	lines := top(renderFound(t, append(all, found("pause", "v4", history.Stock), found("pause", "v17"))...))
	assert.Contains(t, lines[0], "pause breaks 1 of 2 rungs, and the stock on 1 of them")
	assert.Equal(t, "Holds there v17 name.", lines[1])
	lines = top(renderFound(t, all...))
	assert.Len(t, lines, 2)
	assert.Contains(t, lines[0], "stock-failover breaks 2 of 2 rungs")
	assert.Contains(t, lines[1], "For example stock-failover × v4 name")
	assert.Empty(t, top(renderFound(t, found("pause", "v17"))), "nothing is broken")
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
