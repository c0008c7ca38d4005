package html_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// The tests here look at the report of a whole run in a real browser. They are skipped where there is none, unless
// STOCKAPI_REQUIRE names chromium.
//
//	go test ./loadtest/report/html -run InABrowser -v                      prints the figures
//	go test ./loadtest/report/html -run InABrowser -artifacts -outputdir D keeps the screenshots
//	STOCKAPI_RESULTS=out/results.json.gz go test …                         looks at the report of a real run
//	STOCKAPI_AXE=node_modules/axe-core/axe.min.js go test …                has axe look too

// A browserWindow shows the page at a size, in light or dark.
type browserWindow struct {
	Width, Height   int
	Dark, NoScripts bool
	Fragment        string
	Marks           []string // selectors of what is looked for in the cell's timelines
	Everywhere      bool     // the timelines of all cells are looked at, and not those of the open one alone
}

// facts holds the findings of the script of the frame, about the page in it.
type facts struct {
	Nodes, Height   int
	Opened          float64  // milliseconds until the page and all in it was there
	TooWide         []string // what makes the page wider than the window
	Matrix          struct{ Width, Height, Lines, Columns float64 }
	Fits            bool // the matrix has no scroll bars
	Sticky          bool // both headings stay when the matrix is scrolled
	DeadLinks       []string
	Open            []string // the cells that are
	Figures         int
	Marks           []string // those that are there and have a size
	KeyBeside       bool     // the key to the timelines is in the window together with the open cell's timeline
	Folded          int      // cells whose content is not made yet
	StepsRight      bool     // the right arrow goes to the next cell of the matrix
	Next, NextByKey string
	Findings        []string
	CutOff          []string   // cells of the matrix whose word has no room
	HeadingInView   bool       // of the open cell
	MomentInView    bool       // what its first timeline is about
	Says            [][]string // the texts of each of its timelines
	Covered         []string   // texts that cover marks or each other
	Violations      []string   // of axe
}

func TestTheReportInABrowser(t *testing.T) {
	b := newBrowser(t)
	b.show(render(t, wholeRun(t)))
	cell := broken(t, b.page)
	t.Logf("%d cells, %.1f MB, %d elements with all cells open", strings.Count(b.page, "<section"),
		float64(len(b.page))/1e6, len(elements(t, b.page)))
	for _, w := range []browserWindow{
		{Width: 1440, Height: 900}, {Width: 1440, Height: 900, Dark: true, Fragment: cell},
		{Width: 768, Height: 1024}, {Width: 768, Height: 1024, Dark: true, Fragment: cell},
		{Width: 390, Height: 844}, {Width: 390, Height: 844, Dark: true, Fragment: cell},
	} {
		name := fmt.Sprintf("%d-light", w.Width)
		if w.Dark {
			name = fmt.Sprintf("%d-dark", w.Width)
		}
		t.Run(name, func(t *testing.T) {
			f := b.look(t, w, filepath.Join(t.ArtifactDir(), name+".png"))
			t.Logf("opened in %.0f ms; %d nodes, %d px tall; matrix %.0f × %.0f px", f.Opened, f.Nodes, f.Height,
				f.Matrix.Width, f.Matrix.Height)
			assert.Less(t, f.Nodes, 15_000)
			assert.Less(t, f.Height, 60_000)
			assert.Empty(t, f.TooWide, "nothing but the matrix and the timelines is scrolled sideways")
			assert.Empty(t, f.DeadLinks)
			assert.True(t, f.StepsRight)
			assert.Len(t, f.Findings, 3)
			assert.Empty(t, f.CutOff)
			assert.True(t, f.Sticky, "both headings stay when the matrix is scrolled")
			if w.Width == 1440 {
				assert.True(t, f.Fits, "the whole matrix is on one screen")
				assert.LessOrEqual(t, f.Matrix.Width, 1440.0)
				assert.LessOrEqual(t, f.Matrix.Height, 900.0)
				if os.Getenv("STOCKAPI_RESULTS") == "" {
					assert.GreaterOrEqual(t, f.Matrix.Lines, 1+35.0)
					assert.GreaterOrEqual(t, f.Matrix.Columns, 1+32.0)
				}
			}
			assert.Greater(t, f.Folded, 400)
			if w.Fragment == "" {
				assert.ElementsMatch(t, surprises(b.page), f.Open)
				return
			}
			assert.Contains(t, f.Open, w.Fragment)
			assert.Positive(t, f.Figures)
			assert.True(t, f.KeyBeside)
			assert.True(t, f.HeadingInView)
			assert.True(t, f.MomentInView)
			assert.NotEmpty(t, f.Next)
			assert.Equal(t, f.Next, f.NextByKey)
		})
	}
}

// The best of some tries counts, since other programs run on this machine too. On a busy one none is good, so the limit
// is asked for: STOCKAPI_TIMED=1.
func TestTheReportOpensSoonInABrowser(t *testing.T) {
	if os.Getenv("STOCKAPI_TIMED") == "" {
		t.Skip("the machine may be busy: STOCKAPI_TIMED=1 measures it")
	}
	b := newBrowser(t)
	b.show(render(t, wholeRun(t)))
	fastest := time.Hour
	for range 8 {
		f := b.look(t, browserWindow{Width: 1440, Height: 900}, "")
		fastest = min(fastest, time.Duration(f.Opened*float64(time.Millisecond)))
		if fastest < time.Second {
			break
		}
	}
	t.Logf("opened in %s", fastest)
	assert.Less(t, fastest, time.Second)
}

// Six cells of real runs are drawn so that the moment which matters is seen: what has to be there is in the timeline,
// and the key to it is beside it.
func TestSixCellsInABrowser(t *testing.T) {
	b := newBrowser(t)
	run, err := history.Read(filepath.Join("testdata", "six-cells.json.gz"))
	require.NoError(t, err)
	b.show(render(t, runOf(run.Cells...)))
	const enlarged = "figure + figure svg "
	for cell, seen := range map[string]struct{ marks, says []string }{
		"slow-work-v4": {
			[]string{".order .over", ".order .believes", ".hold .over", ".join.first", ".sign", enlarged + ".overlap"},
			[]string{"stock broken: unit 98 was sold twice", "TTL over", "holds the lock", "believes it holds the lock"},
		},
		"check-delete-gap-v3": {
			[]string{".order .over", ".hold .over", ".hold .cross", ".sign", enlarged + ".hold .cross"},
			[]string{"lock broken, stock safe: an order removed a lock that was not its own", "TTL over", "removed by 1"},
		},
		"pause-v15": {
			[]string{".order .refused", ".order .over", ".order .believes", ".hold .over", ".sign", enlarged + ".refused",
				enlarged + ".overlap"},
			[]string{"refused: token …8517628 < …9043830", "TTL over",
				"lock broken, stock safe: two orders held the lock at once; the stock refused the late write of order 1"},
		},
		"queue-order-v8": {
			[]string{".queued", ".order .bar", ".turn", ".hold .bar", enlarged + ".queued"},
			[]string{"first on a", "got it 1st", "got it 24th"},
		},
		"node-restart-v6": {
			[]string{".order .over", ".order .believes", ".fault", ".join.first", ".sign", enlarged + ".overlap"},
			[]string{"stock broken: unit 98 was sold twice", "lock gone", "unit 98 sold twice", "lock, node 5"},
		},
		"crash-v14": {
			[]string{".hold .bar", ".order .cross", ".stopped", ".maybe"},
			[]string{"lock key", "perhaps the key of order 1, which died; gone by 627 ms"},
		},
	} {
		t.Run(cell, func(t *testing.T) {
			w := browserWindow{Width: 1440, Height: 900, Fragment: cell, Marks: seen.marks}
			f := b.look(t, w, filepath.Join(t.ArtifactDir(), cell+".png"))
			assert.Equal(t, []string{cell}, f.Open)
			assert.Equal(t, seen.marks, f.Marks)
			require.NotEmpty(t, f.Says)
			assert.Subset(t, f.Says[0], seen.says)
			assert.Empty(t, f.Covered)
			assert.True(t, f.KeyBeside)
			assert.True(t, f.HeadingInView)
		})
	}
}

// In none of the recorded cells does a text cover a mark, with the letters that this browser has.
func TestLabelsCoverNoMarksInABrowser(t *testing.T) {
	b := newBrowser(t)
	run, err := history.Read(cmp.Or(os.Getenv("STOCKAPI_RESULTS"), filepath.Join("testdata", "violations.json.gz")))
	require.NoError(t, err)
	b.show(render(t, runOf(run.Cells...)))
	f := b.look(t, browserWindow{Width: 1440, Height: 900, Everywhere: true}, "")
	assert.Empty(t, f.Covered)
}

// The cells can be read without scripts, and a link to one opens it there too.
func TestTheReportInABrowserWithoutScripts(t *testing.T) {
	b := newBrowser(t)
	b.show(render(t, wholeRun(t)))
	cell := broken(t, b.page)
	f := b.look(t, browserWindow{Width: 1440, Height: 900, Fragment: cell, NoScripts: true}, "")
	assert.Equal(t, strings.Count(b.page, "<figure>"), f.Figures)
	assert.Contains(t, f.Open, cell)
}

var pdfPage = regexp.MustCompile(`/Type\s*/Page\b[^s]`)

// Paper has the matrix and the stories of the broken cells, and the whole of the cells that are open.
func TestThePrintedReportInABrowser(t *testing.T) {
	b := newBrowser(t)
	b.show(render(t, wholeRun(t)))
	paper := func(name, fragment string) (pages, size int) {
		file := filepath.Join(t.ArtifactDir(), name)
		b.run(t, browserWindow{Width: 1440, Height: 900}, "--no-pdf-header-footer", "--print-to-pdf="+file,
			b.server.URL+"/report.html"+fragment)
		pdf, err := os.ReadFile(file)
		require.NoError(t, err)
		return len(pdfPage.FindAll(pdf, -1)), len(pdf)
	}
	folded, small := paper("folded.pdf", "")
	open, large := paper("open.pdf", "#"+broken(t, b.page))
	t.Logf("%d pages, %d with a cell open", folded, open)
	for _, pages := range []int{folded, open} {
		assert.Greater(t, pages, 2)
		assert.Less(t, pages, 40)
	}
	assert.Greater(t, large, small, "the open cell is there too")
}

// STOCKAPI_AXE names axe.min.js of the npm package axe-core, which is no part of this repository.
func TestTheReportInABrowserPleasesAxe(t *testing.T) {
	axe := os.Getenv("STOCKAPI_AXE")
	if axe == "" {
		t.Skip("needs axe: STOCKAPI_AXE=node_modules/axe-core/axe.min.js")
	}
	b := newBrowser(t)
	code, err := os.ReadFile(axe)
	require.NoError(t, err)
	b.axe = code
	page := render(t, wholeRun(t))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
	b.show(strings.Replace(policy.ReplaceAllString(page, ""), "<title>", `<script src="/axe.js"></script><title>`, 1))
	for _, width := range []int{390, 1440} {
		for _, dark := range []bool{false, true} {
			f := b.look(t, browserWindow{Width: width, Height: 900, Dark: dark, Fragment: broken(t, page)}, "")
			assert.Empty(t, f.Violations, "%d px, dark: %v", width, dark)
		}
	}
}

// openCell matches a cell that is open from the start.
var openCell = regexp.MustCompile(`(?s)<details class="cell[^>]*open="open">.*?<section id="([^"]*)"`)

func surprises(page string) []string {
	var out []string
	for _, m := range openCell.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// broken returns a cell that is broken as expected, and has a timeline and a neighbour.
func broken(t *testing.T, page string) string {
	t.Helper()
	const cell = "pause-v4"
	require.Contains(t, page, `<section id="`+cell+`"`)
	return cell
}

// wholeRun returns the run of STOCKAPI_RESULTS. Without it, it forges one: every cell of the table, all but the first
// as expected, and rungs that the ladder does not have yet, up to 32.
func wholeRun(t *testing.T) *history.Run {
	t.Helper()
	if file := os.Getenv("STOCKAPI_RESULTS"); file != "" {
		run, err := history.Read(file)
		require.NoError(t, err)
		return runOf(run.Cells...)
	}
	run := runOf()
	for _, s := range catalog.Table {
		for _, e := range s.Expect {
			run.Cells = append(run.Cells, forged(s, e))
		}
	}
	for n := len(catalog.Rungs); n < 32; n++ {
		c := forged(catalog.Table[0], catalog.Table[0].Expect[0])
		c.Rung, c.Name = fmt.Sprint("v", n+1), "new"
		run.Cells = append(run.Cells, c)
	}
	for i := range run.Cells[0].Findings {
		if f := &run.Cells[0].Findings[i]; f.Verdict == history.Liveness {
			f.Result, f.Because = history.Broken, "order 1 on a: a fresh request did not get through in 1.514s"
		}
	}
	return run
}

// forged returns a cell with the findings that are expected of it.
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

// browser is Chromium, and a server that shows it the page in a frame of a given size: a window's own size depends on
// the system.
type browser struct {
	program string
	server  *httptest.Server
	page    string
	axe     []byte

	mu    sync.Mutex
	found chan facts
	asked []string // what the browser wanted and the server does not have
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	b := &browser{found: make(chan facts, 1)}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			b.program = path
			break
		}
	}
	switch {
	case b.program != "":
	case slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "chromium"):
		t.Fatal("there is no Chromium on PATH, and STOCKAPI_REQUIRE asks for it")
	default:
		t.Skip("no Chromium on PATH")
	}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	return b
}

// show has the browser find that page.
func (b *browser) show(page string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.page = page
}

func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/report.html":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		b.mu.Lock()
		defer b.mu.Unlock()
		_, _ = io.WriteString(w, b.page)
	case "/frame":
		http.ServeFile(w, r, filepath.Join("testdata", "frame.html"))
	case "/axe.js":
		w.Header().Set("Content-Type", "text/javascript")
		b.mu.Lock()
		defer b.mu.Unlock()
		_, _ = w.Write(b.axe)
	case "/facts":
		var f facts
		if json.NewDecoder(r.Body).Decode(&f) == nil {
			b.found <- f
		}
	default:
		b.mu.Lock()
		b.asked = append(b.asked, r.URL.Path)
		b.mu.Unlock()
		http.NotFound(w, r)
	}
}

// look shows the page in a window, takes a screenshot if it is given a file, and returns what was found.
func (b *browser) look(t *testing.T, w browserWindow, screenshot string) facts {
	t.Helper()
	address := fmt.Sprintf("%s/frame?width=%d&height=%d&axe=%t&scripts=%t&everywhere=%t&marks=%s#%s",
		b.server.URL, w.Width, w.Height, b.axe != nil, !w.NoScripts, w.Everywhere,
		url.QueryEscape(strings.Join(w.Marks, ",")), w.Fragment)
	if b.axe != nil { // it takes its time
		b.run(t, w, "--dump-dom", "--virtual-time-budget=60000", address)
	} else {
		b.run(t, w, "--screenshot="+cmp.Or(screenshot, filepath.Join(t.TempDir(), "window.png")), address)
	}
	select {
	case f := <-b.found:
		return f
	default:
		require.Fail(t, "the page was not loaded")
		return facts{}
	}
}

// run runs the browser until it ends, and returns its output. No name can be resolved there, nothing may be asked for
// beside the page, and the page must log no error and violate no policy.
func (b *browser) run(t *testing.T, w browserWindow, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	scheme := 1
	if w.Dark {
		scheme = 0
	}
	common := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--hide-scrollbars", "--user-data-dir=" + t.TempDir(), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--enable-logging=stderr", fmt.Sprintf("--window-size=%d,%d", w.Width, w.Height),
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme)}
	command := exec.CommandContext(ctx, b.program, append(common, args...)...)
	var log bytes.Buffer
	command.Stderr = &log
	out, err := command.Output()
	require.NoError(t, err, log.String())
	for line := range strings.Lines(log.String()) {
		if !w.NoScripts || !strings.Contains(line, "Blocked script execution") {
			assert.NotContains(t, line, "CONSOLE")
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(t, b.asked)
	return string(out)
}
