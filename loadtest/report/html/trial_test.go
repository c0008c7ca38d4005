package html_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/report/reporttest"
)

// tried is a trial with two defects, one of them in two cells, a design that two cells share, and two cells that were
// not tested for the same reason.
func tried() *history.Run {
	cell := func(name string) *history.Cell {
		c := paused()
		c.Kind, c.Scenario, c.Rung, c.Name = history.Trial, name, "shop.py", ""
		return c
	}
	defect := func(name string, d history.Defect) *history.Cell {
		c := cell(name)
		c.Defect = &d
		return c
	}
	design := func(name string) *history.Cell {
		c := cell(name)
		c.Design = "a lease that nobody renews ends under its holder; renew it (v5.5)"
		return c
	}
	notTested := func(name string) *history.Cell {
		c := cellOf(name, "shop.py")
		c.Kind, c.NotTested = history.Trial, &history.NotTested{Reason: "the lock is not renewed"}
		return c
	}
	blindly := history.Defect{Cause: "it releases the lock blindly", Remedy: "compare and delete",
		Lines: []string{"if a < b then", "  return 0"}, Shown: "Anna removed it"}
	late := defect("delayed-release 2", blindly)
	late.Defect.Shown = "Bert removed it"
	own := defect("a>write.late-a", history.Defect{Cause: "the lock has no TTL", Remedy: "set one", Shown: "it stays"})
	own.Line = own.Scenario
	remark := cellOf("busy", "shop.py", sale("o1", "a", 100, 10, 20))
	remark.Kind, remark.Remarks = history.Trial, []string{"Bert slept on"}
	run := runOf(defect("delayed-release 1", blindly), design("pause"), own, late, design("slow-work"), remark,
		notTested("renewals-lost"), notTested("key-removed 2"))
	run.Shop = &history.Shop{
		Flags: []string{"--quick", "--only=pause", "--out", "o", "--stock", "HSET shelf {product} {n}", "--header",
			"X-Key: " + history.MaskedValue},
		Argv:     []string{"python3", "shop.py", "it's"},
		Passport: []string{"lock: string `lock`", "lease 2s"}, Closest: "v2",
	}
	return run
}

// Each defect has its evidence, the command that replays it, and its remedy; texts that cells share appear once. Of the
// ladder only the closest rung is named.
func TestTrialPage(t *testing.T) {
	doc := write(t, tried())
	es := sound(t, doc)
	assert.Equal(t, 2, count(es, "section", "defect"))
	assert.Equal(t, 2+1, count(es, "div", "viewer"), "a timeline for each defect, and for the design")
	assert.Equal(t, 3+1, strings.Count(doc, "<script"), "and their data")
	text := regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>`).ReplaceAllString(doc, "")
	says(t, text, `<title>shop.py: 2 defects</title>`)
	inOrder(t, text, `<code>python3 shop.py 'it'\''s'</code>`, "2 defects</h1>",
		"<h2>it releases the lock blindly</h2>", "<b>delayed-release 1</b> Anna removed it", `data-pack="`,
		`<code>loadtest try --only 'delayed-release 1' --no-out --stock 'HSET shelf {product} {n}' --header 'X-Key: …' `+
			`-- python3 shop.py 'it'\''s'</code>`, "compare and delete", "if a < b then\n  return 0</pre>",
		"Found in delayed-release 1, delayed-release 2.",
		"<h2>the lock has no TTL</h2>", "loadtest try --play 'a>write.late-a' --no-out --stock", "set one",
		"code for each remedy: docs/try.md#remedies", "<li>lock: string `lock`</li><li>lease 2s</li>",
		"closest to <b>v2</b>", "go run ./loadtest list v2",
		"exclusion</th>", `delayed-release 1</th><td class="broken stock-broken">BROKEN</td>`,
		`<a href="#defect-1">DEFECT</a>`, `pause</th><td class="designed">BROKEN</td>`,
		`<a href="#by-design-1">by design</a>`, `<a href="#unknown-1">unknown</a>`,
		`<span class="token designed">BROKEN</span> by design, and no defect`, "By design</h2>", "renew it (v5.5)",
		"pause, slow-work", "Remarks</h2>", "Bert slept on",
		"Not tested</h2>", "the lock is not renewed", "renewals-lost, key-removed 2",
		"In CI</h2>", "<code>loadtest try --quick --only=pause --out o ", "they are not saved", "exit code <b>1</b>")
	for _, once := range []string{"ends under its holder", "the lock is not renewed", "Anna removed it"} {
		assert.Equal(t, 1, strings.Count(text, once), once)
	}
	for _, ladders := range []string{"stockapi", "xpected", "urprise", "article", "rungs", "Bert removed it"} {
		assert.NotContains(t, text, ladders)
	}
}

// inOrder checks that the texts occur in this order in the displayed page.
func inOrder(t *testing.T, doc string, texts ...string) {
	t.Helper()
	rest := strings.NewReplacer("&#39;", "'", "&#43;", "+", "&gt;", ">", "&lt;", "<", "&#34;", `"`).Replace(doc)
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if assert.True(t, found, "%s\nis not after what should be before it", text) {
			rest = after
		}
	}
}

// The page of a trial without a defect lists what was not covered, and has the exit code.
func TestTrialPageWithoutDefects(t *testing.T) {
	cell := func() *history.Cell {
		c := cellOf("busy", "shop.py", sale("o1", "a", 100, 10, 20))
		c.Kind = history.Trial
		return c
	}
	void := history.Finding{Verdict: history.Valid, Result: history.Invalid, Because: "it was slow"}
	for _, one := range []struct {
		change func(*history.Run)
		says   []string
	}{
		{func(*history.Run) {}, []string{"no defect in 2 cells</h1>", "exit code <b>0</b>"}},
		{func(r *history.Run) { r.Cells[0].Findings = []history.Finding{void} },
			[]string{"no defect in 1 cell</h1>", "1 of 2 cells was not measured: the machine was busy",
				"not measured", "Unknown</h2>", "it was slow", "exit code <b>2</b>"}},
		{func(r *history.Run) { r.Interrupted = "a signal" },
			[]string{"the trial was not finished</h1>", "the trial was not finished: a signal", "exit code <b>2</b>"}},
		{func(r *history.Run) { r.Shop = &history.Shop{Uncounted: true} }, []string{"to judge the stock, give --left"}},
	} {
		run := runOf(cell(), cell())
		one.change(run)
		doc := write(t, run)
		sound(t, doc)
		inOrder(t, doc, one.says...)
		assert.NotContains(t, doc, `class="defect"`)
	}
}

func TestTrialPageOfHostileStrings(t *testing.T) {
	evil := "</noscript></style></title><script>alert(1)</script>\" onload='x' \x00\x1b[2J{{.}} javascript:&\u202e"
	for _, text := range []string{evil, strings.Repeat("x", 10_000), strings.Repeat(evil, 100)} {
		run := tried()
		for i, c := range run.Cells {
			c.Scenario, c.Rung, c.Line, c.Product = fmt.Sprint(text, i%3), text, text, text
			c.Design, c.Remarks = text, []string{text}
			c.Ops = append(c.Ops, sale(text, text, 100, 10, 20))
			c.Findings = append(c.Findings, history.Finding{Verdict: history.Verdict(text), Result: history.Indeterminate,
				Because: text})
			if c.Defect != nil {
				c.Defect = &history.Defect{Cause: text, Remedy: text, Lines: []string{text}, Shown: text}
			}
			if c.NotTested != nil {
				c.NotTested.Reason = text
			}
		}
		run.Interrupted, run.Loadtest, run.Machine.OS = text, text, text
		run.Shop = &history.Shop{Flags: []string{text}, Argv: []string{text}, Passport: []string{text}, Closest: text}
		doc := write(t, run)
		sound(t, doc)
		for _, unwanted := range []string{"\x00", "\x1b", "\u202e", "ZgotmplZ", "list <", strings.Repeat("x", 2001)} {
			assert.NotContains(t, doc, unwanted)
		}
	}
}

// The file of a trial results in the same page.
func TestTrialPageOfAFile(t *testing.T) {
	run, file := tried(), filepath.Join(t.TempDir(), history.Results)
	require.NoError(t, history.Write(file, run))
	again, err := history.Open(file)
	require.NoError(t, err)
	assert.Equal(t, write(t, run), write(t, again))
	again.Shop, again.Started = nil, time.Time{} // as an older loadtest wrote it
	doc := write(t, again)
	sound(t, doc)
	assert.NotContains(t, doc, `<p class="command"><code>`)
	says(t, doc, "2 defects</h1>")
	var out bytes.Buffer
	require.NoError(t, html.Write(&out, again, nil), "the rows of the ladder are not needed")
}

// Timelines of defects are drawn immediately, those of designs when they are opened. On a phone the page does not
// scroll sideways.
func showsTrial(t *testing.T, b *reporttest.Browser) {
	p := openPage(t, b, write(t, tried()), "", 390, 844)
	draws := func(timelines int) {
		t.Helper()
		p.Until(fmt.Sprintf(`document.querySelectorAll("svg.timeline").length === %d`, timelines))
	}
	draws(2)
	reporttest.Evaluate[bool](p, `document.querySelector(".said details").open = true`)
	draws(3)
	assert.LessOrEqual(t, reporttest.Evaluate[int](p, `document.documentElement.scrollWidth`), 390)
}

// In a browser without DecompressionStream both the page of a trial and that of a run show that it is too old.
func showsAge(t *testing.T, b *reporttest.Browser) {
	many := runOf() // enough cells for pictures beside the matrix
	many.Cells = expected(t, "pause", "v1", "v4", "v15", "v17")
	for selector, run := range map[string]*history.Run{".defect .viewer": tried(), "#pause-v4": many} {
		p := openPage(t, b, write(t, run), "#pause-v4", 1440, 900)
		_, err := chromedp.Call(p.Ctx, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: "delete globalThis.DecompressionStream"})
		require.NoError(t, err)
		p.Run(chromedp.Reload())
		p.Shows(selector, "This needs a browser from 2023 or later.")
	}
}
