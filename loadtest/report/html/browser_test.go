package html_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/reporttest"
	"stockapi/loadtest/scenario"
)

// This test shows the report of a whole run in a real browser.
//
//	go test ./loadtest/report/html -run InABrowser -v                      prints the figures
//	go test ./loadtest/report/html -run InABrowser -artifacts -outputdir D keeps the screenshots
//	STOCKAPI_RESULTS=out go test …                                         shows the report of a real run

// open is the cell that is opened there. It is broken as expected, and has a timeline and a neighbour.
const open = "pause-v4"

// facts are what the script of the frame reports on the page in it.
type facts struct {
	Nodes, Height   int
	TooWide         []string // elements that are wider than the window
	Matrix          struct{ Width, Height float64 }
	Fits            bool // the matrix has no scroll bars
	DeadLinks       []string
	Open            []string // the open cells
	Timelines       int
	StepsRight      bool // the right arrow goes to the next cell of the matrix
	Next, NextByKey string
	HeadingInView   bool     // of the open cell
	Found           []string // lines × columns of the matrix, for each search
}

func TestReportInABrowser(t *testing.T) {
	page := write(t, wholeRun(t))
	require.Contains(t, page, `<section id="`+open+`"`)
	b := newBrowser(t, page)
	cells := strings.Count(page, "<section")
	t.Logf("%d cells, %.1f MB, %d elements with all cells open", cells, float64(len(page))/1e6, len(elements(t, page)))
	for name, args := range map[string][]string{"light": {"1440"}, "dark": {"1440", "dark"}, "phone": {"390"}} {
		t.Run(name, func(t *testing.T) {
			f := b.look(t, filepath.Join(t.ArtifactDir(), name+".png"), args...)
			t.Logf("%d nodes, %d px tall; matrix %.0f × %.0f px", f.Nodes, f.Height, f.Matrix.Width, f.Matrix.Height)
			assert.Less(t, f.Nodes, 15_000, "closed cells have no nodes")
			assert.Less(t, f.Height, 90*cells)
			assert.Empty(t, f.TooWide, "nothing but the matrix is scrolled sideways")
			assert.Empty(t, f.DeadLinks)
			assert.Equal(t, args[0] == "1440", f.Fits, "the whole matrix is on one screen")
			assert.Contains(t, f.Open, open)
			assert.Positive(t, f.Timelines)
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
		f := b.look(t, filepath.Join(t.TempDir(), "window.png"), "1440", "noscripts")
		assert.Zero(t, f.Timelines, "the verdicts are there, and the stories")
		assert.Contains(t, f.Open, open)
	})
	t.Run("reload of a file", func(t *testing.T) {
		sum := sha256.Sum256([]byte(shownAgain))
		own := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "' "
		driven := strings.Replace(page, "script-src ", own, 1) + "<script>" + shownAgain + "</script>"
		file := filepath.Join(t.TempDir(), "report.html")
		require.NoError(t, os.WriteFile(file, []byte(driven), 0o600))
		dom := b.run(t, "--virtual-time-budget=5000", "--dump-dom", "file://"+file+"#"+open)
		title := regexp.MustCompile("<title>(.*)</title>").FindStringSubmatch(dom)
		require.Len(t, title, 2)
		assert.Equal(t, "reload at 700, #"+open+": "+open+" queue-order-v8", title[1])
	})
	t.Run("on paper", func(t *testing.T) {
		file := filepath.Join(t.ArtifactDir(), "report.pdf")
		b.run(t, "--print-to-pdf="+file, b.server.URL+"/report.html#"+open)
		pdf, err := os.ReadFile(file)
		require.NoError(t, err)
		pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf, -1))
		t.Logf("%d pages", pages)
		assert.Greater(t, pages, 2)
		assert.Less(t, pages, 40, "of closed cells, only the stories are printed")
	})
}

// shownAgain hides the page and shows it again, with one more cell open. Then the title has its state.
const shownAgain = `
const opened = () => [...document.querySelectorAll("details.cell[open] > section")].map((s) => s.id);
const kind = performance.getEntriesByType("navigation")[0].type, wanted = ["pause-v4", "queue-order-v8"];
if (kind !== "reload") document.querySelectorAll("details.cell").forEach((cell) => {
  cell.open = wanted.includes(cell.querySelector("section").id);
});
setTimeout(() => {
  document.title = kind + " at " + scrollY + ", " + location.hash + ": " + opened().join(" ");
  if (kind === "reload") return;
  scrollTo(0, 700);
  for (const state of ["hidden", "visible"]) {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }
}, 100);
`

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

// browser is Chromium, and a server with the page in a frame of a given size: the size of a window depends on the
// system.
type browser struct {
	program string
	server  *httptest.Server
	found   chan facts
	asked   chan string // paths that the server does not have
}

func newBrowser(t *testing.T, page string) *browser {
	t.Helper()
	b := &browser{program: reporttest.Chromium(t), found: make(chan facts, 1), asked: make(chan string, 100)}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/report.html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, page)
		case "/frame":
			http.ServeFile(w, r, filepath.Join("testdata", "frame.html"))
		case "/facts":
			var f facts
			if json.NewDecoder(r.Body).Decode(&f) == nil {
				b.found <- f
			}
		default:
			b.asked <- r.URL.Path
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(b.server.Close)
	return b
}

// look shows the page with the cell open, takes a screenshot, and returns the facts. The first wish is the width of the
// window; others are dark and noscripts.
func (b *browser) look(t *testing.T, screenshot string, wishes ...string) facts {
	t.Helper()
	scheme := 1
	if slices.Contains(wishes, "dark") {
		scheme = 0
	}
	b.run(t, "--screenshot="+screenshot, "--virtual-time-budget=10000",
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
		fmt.Sprintf("%s/frame?width=%s&scripts=%t#%s", b.server.URL, wishes[0], !slices.Contains(wishes, "noscripts"), open))
	select {
	case f := <-b.found:
		return f
	default:
		require.Fail(t, "the page was not loaded")
		return facts{}
	}
}

// run runs the browser until it exits, and returns its output. It cannot resolve names; the page must request nothing,
// log no error and violate no policy.
func (b *browser) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	common := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--enable-logging=stderr", "--window-size=1440,900", "--no-pdf-header-footer"}
	command := exec.CommandContext(ctx, b.program, append(common, args...)...)
	var log, printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &log
	require.NoError(t, command.Run(), log.String())
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "Blocked script execution") { // by the sandbox
			assert.NotContains(t, line, "CONSOLE")
		}
	}
	assert.Empty(t, b.asked)
	return printed.String()
}
