package html_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/reporttest"
	"stockapi/loadtest/scenario"
)

// This test shows the pages in a real browser.
//
//	go test ./loadtest/report/html -run InABrowser -v                      prints the figures
//	go test ./loadtest/report/html -run InABrowser -artifacts -outputdir D keeps the screenshots
//	STOCKAPI_RESULTS=out go test …                                         shows the report of a real run

func TestPagesInABrowser(t *testing.T) {
	b := reporttest.NewBrowser(t)
	for name, shows := range map[string]func(*testing.T, *reporttest.Browser){
		"report": showsReport, "replay": showsReplay, "trial": showsTrial, "old browser": showsAge,
	} {
		t.Run(name, func(t *testing.T) { shows(t, b) })
	}
}

// openPage opens a page in a file, at this part.
func openPage(t *testing.T, b *reporttest.Browser, page, part string, width, height int64) *reporttest.Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	return b.Open(t, "file://"+file+part, "file://"+file, width, height)
}

// open is the cell that is opened there. It is broken as expected, and has a timeline and a neighbour.
const open = "pause-v4"

// drawn is true once the timeline of that cell is drawn: a cell is unpacked after the page is loaded.
const drawn = `document.querySelector("#` + open + ` svg.timeline")`

// facts are what a script finds in the page.
type facts struct {
	Nodes, Height   int
	TooWide         []string // elements that are wider than the window
	Matrix          struct{ Width, Height float64 }
	Fits            bool // the matrix has no scroll bars
	DeadLinks       []string
	StepsRight      bool // the right arrow goes to the next cell of the matrix
	Next, NextByKey string
	HeadingInView   bool     // of the open cell
	Found           []string // lines × columns of the matrix, for each search
}

// findFacts is that script.
const findFacts = `(async () => {
  const all = (what) => [...document.querySelectorAll(what)], grid = document.getElementById("matrix");
  const table = document.querySelector(".matrix"), size = table.getBoundingClientRect();
  const cell = document.getElementById("` + open + `").closest("details");
  const heading = cell.querySelector("h4").getBoundingClientRect();
  const facts = {
    Nodes: all("*").length, Height: document.documentElement.scrollHeight,
    TooWide: document.documentElement.scrollWidth <= innerWidth ? [] : all("body *")
      .filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".grid"))
      .map((e) => e.outerHTML.slice(0, 120)),
    Matrix: { Width: size.width, Height: size.height },
    Fits: grid.scrollWidth <= grid.clientWidth && grid.scrollHeight <= grid.clientHeight,
    DeadLinks: all('a[href^="#"]').map((a) => a.hash.slice(1)).filter((id) => !document.getElementById(id)),
    HeadingInView: heading.top >= 0 && heading.bottom <= innerHeight,
    Next: cell.querySelector("a[rel=next]").hash,
  };
  const right = (target) => target.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  right(document.body);
  await new Promise((done) => setTimeout(done, 100));
  facts.NextByKey = location.hash;
  history.replaceState(null, "", "#` + open + `");
  cell.scrollIntoView();
  const links = [...table.rows[1].querySelectorAll("td a")];
  links[0].focus({ preventScroll: true });
  right(links[0]);
  facts.StepsRight = document.activeElement === links[1];
  links[1].blur();
  const search = document.querySelector(".tools [type=search]");
  facts.Found = ["pause v4", "redlock", "V4 v5-as slow-work", "zzz", ""].map((wanted) => {
    search.value = wanted;
    search.dispatchEvent(new Event("input", { bubbles: true }));
    const shown = (all) => all.filter((e) => !e.hidden).length - 1; // without the heading
    return shown([...table.rows]) + " × " + shown([...table.rows[0].cells]);
  });
  return facts;
})()`

// openCells is the list of the open cells.
const openCells = `[...document.querySelectorAll("details.cell[open] > section")].map((s) => s.id)`

func showsReport(t *testing.T, b *reporttest.Browser) {
	page := write(t, wholeRun(t))
	require.Contains(t, page, `<section id="`+open+`"`)
	cells := strings.Count(page, "<section")
	t.Logf("%d cells, %.1f MB, %d elements with all cells open", cells, float64(len(page))/1e6, len(elements(t, page)))
	for name, width := range map[string]int64{"screen": 1440, "phone": 390} {
		t.Run(name, func(t *testing.T) {
			p := openPage(t, b, page, "#"+open, width, 900)
			p.Until(drawn)
			assert.Contains(t, reporttest.Evaluate[[]string](p, openCells), open)
			p.Picture(name)
			f := reporttest.Evaluate[facts](p, findFacts)
			t.Logf("%d nodes, %d px tall; matrix %.0f × %.0f px", f.Nodes, f.Height, f.Matrix.Width, f.Matrix.Height)
			assert.Less(t, f.Nodes, 15_000, "closed cells have no nodes")
			assert.Less(t, f.Height, 90*cells)
			assert.Empty(t, f.TooWide, "nothing but the matrix is scrolled sideways")
			assert.Empty(t, f.DeadLinks)
			assert.Equal(t, width == 1440, f.Fits, "the whole matrix is on one screen")
			assert.True(t, f.HeadingInView)
			assert.True(t, f.StepsRight)
			whole := fmt.Sprintf("%d × %d", len(scenario.Table), len(catalog.Rungs))
			assert.Equal(t, []string{"2 × 2", fmt.Sprintf("%d × 1", len(scenario.Table)), "1 × 3",
				fmt.Sprintf("0 × %d", len(catalog.Rungs)), whole}, f.Found)
			assert.NotEmpty(t, f.Next)
			assert.Equal(t, f.Next, f.NextByKey)
		})
	}
	t.Run("without scripts", func(t *testing.T) {
		p := openPage(t, b, page, "", 1440, 900)
		_, err := chromedp.Call(p.Ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		p.Run(chromedp.Reload())
		reporttest.Evaluate[string](p, `location.hash = "`+open+`"`)
		p.Until(openCells + `.includes("` + open + `")`)
		assert.Zero(t, reporttest.Evaluate[int](p, `document.querySelectorAll("svg.timeline").length`),
			"the verdicts are there, and the stories")
	})
	t.Run("reload of a file", func(t *testing.T) {
		p := openPage(t, b, page, "#"+open, 1440, 900)
		p.Until(drawn)
		reporttest.Evaluate[bool](p, showAgain)
		state := `performance.getEntriesByType("navigation")[0].type + " at " + scrollY + ", " + location.hash + ": " + ` +
			openCells + `.join(" ")`
		assert.Eventually(t, func() bool { // the page that is replaced answers with an error
			is, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](state))
			return err == nil && is == "reload at 700, #"+open+": "+open+" queue-order-v8"
		}, 20*time.Second, 50*time.Millisecond)
	})
	t.Run("on paper", func(t *testing.T) {
		p := openPage(t, b, page, "#"+open, 1440, 900)
		pdf, err := chromedp.Run(p.Ctx, chromedp.PrintToPDF())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), "report.pdf"), pdf, 0o600))
		pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf, -1))
		t.Logf("%d pages", pages)
		assert.Greater(t, pages, 2)
		assert.Less(t, pages, 40, "of closed cells, only the stories are printed")
	})
}

// showAgain hides the page and shows it again, with one more cell open.
const showAgain = `(() => {
  document.querySelectorAll("details.cell").forEach((cell) => {
    cell.open = ["` + open + `", "queue-order-v8"].includes(cell.querySelector("section").id);
  });
  scrollTo(0, 700);
  for (const state of ["hidden", "visible"]) {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }
  return true;
})()`

// wholeRun returns the run of STOCKAPI_RESULTS or, without it, a forged one: every cell of the table, all but the first
// as expected.
func wholeRun(t *testing.T) *history.Run {
	t.Helper()
	if file := os.Getenv("STOCKAPI_RESULTS"); file != "" {
		run, err := history.Open(file)
		require.NoError(t, err)
		return runOf(run.Cells...)
	}
	run := runOf()
	for _, s := range scenario.Table {
		for _, e := range s.Expect {
			run.Cells = append(run.Cells, forged(s, e))
		}
	}
	for i := range run.Cells[0].Findings {
		if f := &run.Cells[0].Findings[i]; f.Verdict == history.Liveness {
			f.Result, f.Because = history.Broken, "order 1 on a: a fresh request did not get through in 1.514s"
		}
	}
	return run
}

// forged returns a cell with its expected findings.
func forged(s catalog.Scenario, e catalog.Expectation) *history.Cell {
	ops := []history.Op{sale("o1", "a", 100, 10, 3000), sale("o2", "b", 100, 2000, 3500)}
	for i := range int64(4) {
		from := history.Instant(3600 + 100*i)
		ops = append(ops, sale(fmt.Sprint("o", 3+i), []string{"a", "b"}[i%2], 99-i, from, from+80))
	}
	c := cellOf(s.Name, e.Rung, ops...)
	c.Name = catalog.NameOf(e.Rung)
	for _, v := range history.Verdicts {
		f := history.Finding{Verdict: v, Result: e.Results[v]}
		if f.Result == history.Broken {
			f.Because = "a sold unit 100 to order o1 at +3.005 s; b sold unit 100 again to order o2 at +3.505 s"
			f.Evidence = []history.Evidence{{Text: f.Because, Unit: 100, Orders: []string{"o1", "o2"},
				At: []history.Instant{3005 * ms, 3505 * ms}}}
		}
		c.Findings = append(c.Findings, f)
	}
	return c
}
