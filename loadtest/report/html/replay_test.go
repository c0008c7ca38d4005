package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/reporttest"
)

// replayed is a replay of a trace that breaks three verdicts.
func replayed(trace string, expected ...history.Verdict) *history.Run {
	c := paused()
	c.Kind, c.Scenario, c.Rung, c.Name, c.Breaks = history.Replay, trace, "v3", "owner-check", expected
	c.Steps = []history.Step{
		{Client: "a", What: "set lock", Holds: "lock: a 1.99 s  stock: 1", At: 14 * ms},
		{What: "time passes", Holds: "lock: free  stock: 1", At: 2015 * ms},
		{Client: "b", What: "set lock", Holds: "lock: b 2.00 s  stock: 1", At: 2024 * ms},
	}
	run := runOf(c)
	run.ID = "replay"
	return run
}

// The page of a replay is about its trace, has its steps in the columns of their clients, and no matrix.
func TestReplayPage(t *testing.T) {
	const trace = "v3:a.expiry.b"
	doc := render(t, replayed(trace, history.OwnRelease))
	sound(t, doc)
	says(t, doc, "<title>"+trace+"</title>")
	inOrder(t, doc, "<h1>"+trace+"</h1>", "own-release BROKEN</p>", "v3 owner-check on real processes</h4>", "as expected",
		`<th scope="col">time</th><th scope="col">a</th><th scope="col">b</th>`,
		"<td>+0.014 s</td><td>set lock</td><td></td><td>lock: a 1.99 s, stock: 1</td>",
		`<td>+2.015 s</td><td class="passes" colspan="2">time passes</td><td>lock: free, stock: 1</td>`,
		"<td>+2.024 s</td><td></td><td>set lock</td>",
		`class="viewer"`, "own-release</th>", "<td>BROKEN</td>",
		"<code>go run ./loadtest replay "+trace+" --expect own-release</code>", "redis-server 7.0.15")
	body := regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>`).ReplaceAllString(doc, "")
	for _, unwanted := range []string{"which locks hold", "of 1 cells", "matrix", "buyers of", "<td>?</td>"} {
		assert.NotContains(t, body, unwanted)
	}
	says(t, render(t, replayed(trace)), "exclusion, own-release BROKEN</p>")
	assert.NotContains(t, render(t, replayed(trace)), "as expected", "nothing was")
	inOrder(t, render(t, replayed(trace, history.Fence)), "Not as expected</p>", "fence was expected to be BROKEN")
}

func TestReplayPageOfHostileStrings(t *testing.T) {
	evil := "v4; rm -rf / '</td></style><script>alert(1)</script> \x00\u202e"
	for _, text := range []string{evil, strings.Repeat("x", 10_000)} {
		run := replayed(text)
		for i := range run.Cells[0].Steps {
			run.Cells[0].Steps[i] = history.Step{Client: text, What: text, Holds: text}
		}
		run.Cells[0].Instances[0].Name = text
		doc := render(t, run)
		sound(t, doc)
		for _, unwanted := range []string{"\x00", "\u202e", "replay v4; rm", strings.Repeat("x", 2001)} {
			assert.NotContains(t, doc, unwanted)
		}
	}
}

// On a phone the page does not scroll sideways, however long the traces are.
func showsReplay(t *testing.T, b *reporttest.Browser) {
	trace := "v3:aaaa.late-a.time.time.b.arrive-a." + strings.Repeat("a", 60)
	one, two := replayed(trace), replayed(trace)
	two.Cells = append(two.Cells, replayed(trace+"b").Cells...)
	for traces, run := range []*history.Run{one, two} {
		p := openPage(t, b, write(t, run), "", 390, 844)
		p.Until(fmt.Sprintf(`document.querySelectorAll("svg.timeline").length === %d`, traces+1))
		p.Shows(".steps", "lock: a 1.99 s, stock: 1")
		tooWide := reporttest.Evaluate[[]string](p, `[...document.querySelectorAll("body *")].filter((e) =>
			e.getBoundingClientRect().right > 391 && !e.closest(".grid")).map((e) => e.tagName + "." + e.className)`)
		assert.Empty(t, tooWide)
		assert.LessOrEqual(t, reporttest.Evaluate[int](p, `document.documentElement.scrollWidth`), 390)
	}
}
