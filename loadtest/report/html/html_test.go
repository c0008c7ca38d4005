package html_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	stdhtml "html"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/report/reporttest"
	"stockapi/loadtest/scenario"
)

const ms = history.Instant(time.Millisecond)

func runOf(cells ...*history.Cell) *history.Run {
	for _, c := range cells {
		c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, history.Terms{}))
	}
	return &history.Run{
		ID: "beef", Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Machine: history.Machine{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26"},
		Backend: history.Backend{Kind: "redis-server", Text: "redis-server 7.0.15", Stockapi: "built"},
		Load:    html.Defaults, Cells: cells,
	}
}

var cellOf, sale, paused = reporttest.CellOf, reporttest.Sale, reporttest.Paused

func write(t require.TestingT, run *history.Run) string {
	var out bytes.Buffer
	require.NoError(t, html.Write(&out, run, scenario.Table.Assess(run.Cells)))
	return out.String()
}

// render returns the page with all cells open, but without their timelines.
func render(t require.TestingT, run *history.Run) string {
	doc, packs := write(t, run), [][]opened{}
	texts := regexp.MustCompile(`(?s)<script type="text/plain" id="pack-\d+">(.*?)</script>`)
	for _, text := range texts.FindAllStringSubmatch(doc, -1) {
		deflated, err := base64.StdEncoding.DecodeString(text[1])
		require.NoError(t, err)
		pack := []opened{}
		require.NoError(t, json.NewDecoder(flate.NewReader(bytes.NewReader(deflated))).Decode(&pack))
		packs = append(packs, pack)
	}
	section := regexp.MustCompile(`(?s)(<section [^>]*data-pack="(\d+)" data-at="(\d+)">)<noscript>.*?</noscript>`)
	return section.ReplaceAllStringFunc(doc, func(text string) string {
		part := section.FindStringSubmatch(text)
		pack, _ := strconv.Atoi(part[2])
		at, _ := strconv.Atoi(part[3])
		return part[1] + packs[pack][at].HTML
	})
}

// opened is the unpacked content of a cell.
type opened struct {
	HTML    string
	Drawing map[string]any
}

// says checks that the texts occur in the report as displayed.
func says(t *testing.T, doc string, texts ...string) {
	t.Helper()
	plain := stdhtml.UnescapeString(doc)
	for _, text := range texts {
		assert.Contains(t, plain, text)
	}
}

// elements parses the report as XML, without its script, and fails if it is not well-formed.
func elements(t require.TestingT, doc string) []xml.StartElement {
	var out []xml.StartElement
	markup := regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(doc, "<script/>")
	d := xml.NewDecoder(strings.NewReader(markup))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			out = append(out, e.Copy())
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func count(es []xml.StartElement, name, class string) int {
	n := 0
	for _, e := range es {
		if e.Name.Local == name && strings.HasPrefix(attr(e, "class"), class) {
			n++
		}
	}
	return n
}

// sound checks the invariants of a report.
func sound(t require.TestingT, doc string) []xml.StartElement {
	es, ids := elements(t, doc), map[string]bool{}
	for _, e := range es {
		assert.NotContains(t, []string{"iframe", "img", "object", "link", "form"}, e.Name.Local)
		if id := attr(e, "id"); id != "" {
			assert.False(t, ids[id], id)
			ids[id] = true
		}
		for _, a := range e.Attr {
			assert.False(t, strings.HasPrefix(a.Name.Local, "on"), a.Name.Local)
			assert.NotEqual(t, "src", a.Name.Local)
			assert.NotContains(t, a.Value, "NaN")
			assert.NotContains(t, a.Value, "Inf")
		}
	}
	for _, script := range regexp.MustCompile(`(?i)<script[^>]*`).FindAllString(doc, -1) {
		assert.Regexp(t, `^<script( type="text/plain" id="pack-\d+")?$`, script)
	}
	for _, e := range es {
		if e.Name.Local == "a" {
			assert.True(t, strings.HasPrefix(attr(e, "href"), "#") && ids[attr(e, "href")[1:]], attr(e, "href"))
		}
	}
	return es
}

func TestReportIsSelfContained(t *testing.T) {
	doc := write(t, runOf(paused(), cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20))))
	es := sound(t, doc)
	says(t, doc, `http-equiv="Content-Security-Policy" content="default-src 'none'; `+
		`style-src 'unsafe-inline'; script-src 'sha256-`)
	doc = strings.ReplaceAll(doc, "http://www.w3.org/2000/svg", "") // a namespace, not a request
	for _, unwanted := range []string{"http:", "https:", "ZgotmplZ"} {
		assert.NotContains(t, doc, unwanted)
	}
	assert.Equal(t, 2, count(es, "section", ""))
	assert.Equal(t, 2, count(es, "script", ""), "and the content of the cells")
}

func TestSurpriseIsMarked(t *testing.T) {
	es := sound(t, render(t, runOf(paused())))
	assert.Equal(t, 1, count(es, "div", "surprises"), "at the top")
	assert.Equal(t, 1, count(es, "p", "outcome bad"))
	assert.Positive(t, count(es, "tr", "surprise"), "at the verdict")
}

func TestCellTexts(t *testing.T) {
	doc := render(t, runOf(paused()))
	says(t, doc,
		"a sold unit 100 to order o1 at +2.998 s; b sold unit 100 again to order o2 at +3.498 s",
		"the lock is in Redis, and the TTL far exceeds the work",
		"go run ./loadtest --scenarios two-instances --rungs v2<",
		"units sold twice", "redis-server 7.0.15")
}

func TestHostileStringsStayText(t *testing.T) {
	evil := "</noscript></style></title><script>alert(1)</script>\" onload='x' \x00{{.}} javascript:&\u202e"
	o := sale(evil, evil, 100, 10, 20)
	o.Outcome, o.Detail, o.SoldBy, o.For = history.Outcome(evil), evil, evil, evil
	o.Trace = append(o.Trace, history.Command{Node: evil, Cmd: "set", Key: evil, Reply: evil, At: 1, End: 2 * ms},
		history.Command{Cmd: "fault", Key: evil, At: 1, End: 15 * ms})
	c := cellOf(evil, evil, o, sale(evil+"2", "a", 100, 10, 20), sale(evil+"3", "a", 100, 12, 20))
	skipped := cellOf(evil, evil+"4")
	c.Name, c.Product, c.Instances[0].Name, skipped.NotTested = evil, evil, evil, &history.NotTested{Reason: evil}
	run := runOf(c, skipped)
	run.ID, run.Interrupted, run.Backend.Text, run.Backend.Stockapi, run.Machine.OS = evil, evil, evil, evil, evil
	doc := render(t, run)
	sound(t, doc)
	sound(t, write(t, run))
	assert.NotContains(t, doc, "\x00")
}

func TestReportIsDeterministic(t *testing.T) {
	run := runOf(paused(), cellOf("one-instance", "v0"), cellOf("one-instance", "v4", sale("o1", "a", 1, 1, 2)))
	first := write(t, run)
	assert.Equal(t, first, write(t, run))
	file := filepath.Join(t.TempDir(), history.Results)
	require.NoError(t, history.Write(file, run))
	again, err := history.Open(file)
	require.NoError(t, err)
	assert.Equal(t, first, write(t, again))
}

// If there are few cells, all are open; if there are many, only the surprises.
func TestFewCellsAreOpen(t *testing.T) {
	rungs := []string{"v1", "v2", "v3", "v4", "v5"}
	for cells, open := range map[int]int{1: 1, 3: 3, 4: 0} {
		run := runOf()
		for i := range cells {
			c := cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20))
			c.Rung, c.NotTested = rungs[i], &history.NotTested{Reason: "there is no server"}
			run.Cells = append(run.Cells, c)
		}
		assert.Equal(t, open, strings.Count(render(t, run), ` open="open"`), cells)
	}
}

func TestRepetitionsAreCounted(t *testing.T) {
	one, two := paused(), paused()
	two.Repetition = 2
	doc := render(t, runOf(one, two))
	sound(t, doc)
	says(t, doc, "0 of 2 repetitions were as expected")
}

func TestInterruptedRun(t *testing.T) {
	run := runOf()
	run.Cells = []*history.Cell{forged(scenario.Table[0], scenario.Table[0].Expect[0])}
	run.Interrupted = "interrupted by a signal"
	run.Selected = 458
	says(t, render(t, run), "Interrupted after 1 of 458 cells, as expected so far", "interrupted by a signal")
}

// The report of a class says what was played, and which rounds departed from their scripts.
func TestReportOfAClass(t *testing.T) {
	round := func(title, rung string, astray ...string) *history.Cell {
		c := paused()
		c.Kind, c.Scenario, c.Rung, c.Astray = history.Stage, title, rung, astray
		return c
	}
	run := runOf(round("v1: the holder dies", "v1"),
		round("v5: a lost connection, which is a long title", "v5", "S is not part of this round."))
	run.Load = history.Load{Stock: 100, Repeat: 1}
	doc := render(t, run)
	sound(t, doc)
	says(t, doc, "<h1>A class on the stage</h1>", "2 rounds were played; 1 departed from the script",
		"v5: a lost connection, which is a long title: S is not part of this round.", "<h4>v1: the holder dies</h4>")
	for _, text := range []string{"which locks hold", "of 2 cells", "buyers of", "TTL 0s", "contention scenarios"} {
		assert.NotContains(t, doc, text)
	}
	run.Cells = run.Cells[:1]
	says(t, render(t, run), "1 round was played, as scripted")
}

func TestReportOfAnEmptyRun(t *testing.T) {
	sound(t, render(t, &history.Run{}))
}

func TestCommandHasNonDefaultFlags(t *testing.T) {
	run := runOf(paused())
	run.Load.TTL, run.Load.Rate, run.Backend.Kind = 2*time.Second, 50, "embedded"
	says(t, render(t, run), "--rungs v2 --backend embedded --rate 50 --ttl 2s<")
	run.Cells[0].Rung = "v4; rm -rf /"
	assert.NotContains(t, render(t, run), `<p class="command">`, "a forged name could be pasted into a shell")
}
