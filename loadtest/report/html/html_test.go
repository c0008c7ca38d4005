package html_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	stdhtml "html"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/scenario"
)

const ms = history.Instant(time.Millisecond)

func runOf(cells ...*history.Cell) *history.Run {
	for _, c := range cells {
		c.Findings, c.Coverage = audit.Judge(c)
	}
	return &history.Run{
		ID: "beef", Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Machine: history.Machine{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26"},
		Backend: history.Backend{Kind: "redis-server", Text: "redis-server 7.0.15", Stockapi: "built"},
		Load:    html.Defaults, Cells: cells,
	}
}

func cellOf(scenario, rung string, ops ...history.Op) *history.Cell {
	left := int64(99)
	return &history.Cell{
		Scenario: scenario, Rung: rung, Name: "name", Repetition: 1, Product: "lt-beef-3-" + rung, Initial: 100, Left: &left,
		Limit: 7 * time.Second, Ops: ops,
		Instances: []history.Instance{{Name: "a", Clock: "k"}, {Name: "b", Clock: "k"}},
	}
}

func command(cmd, key string, at, end history.Instant, reply string) history.Command {
	return history.Command{Node: "n", Cmd: cmd, Key: key, At: at * ms, End: end * ms, Reply: reply}
}

// sale is an order that held the lock from one millisecond to another and sold a unit.
func sale(id, instance string, unit int64, from, to history.Instant) history.Op {
	return history.Op{
		Order: id, Phase: history.Buy, Instance: instance, Outcome: history.Sold, Sent: from * ms, Done: (to + 5) * ms,
		Quantity: 1, Units: []int64{unit},
		Lease: &history.Lease{AcquiredAt: from * ms, ReleasedAt: to * ms},
		Trace: []history.Command{
			command("set", "lock", from-2, from-1, "true"),
			command("get", "ProductStock_x", from+1, from+2, fmt.Sprint(unit)),
			command("fault", "stop@before:set/stock", from+2, to-4, ""),
			command("set", "ProductStock_x", to-3, to-2, "OK"),
			command("del", "lock", to, to+1, "1"),
		},
	}
}

// paused is two sales of one unit: the first outlives its lease and then removes the second one's lock.
func paused() *history.Cell {
	return cellOf("two-instances", "v2", sale("o1", "a", 100, 10, 3000), sale("o2", "b", 100, 2000, 3500))
}

func render(t require.TestingT, run *history.Run) string {
	var out bytes.Buffer
	require.NoError(t, html.Write(&out, run, scenario.Table.Assess(run.Cells), nil))
	return out.String()
}

// says reports whether the text occurs in the report, as a reader sees it.
func says(t *testing.T, doc string, texts ...string) {
	t.Helper()
	plain := stdhtml.UnescapeString(doc)
	for _, text := range texts {
		assert.Contains(t, plain, text)
	}
}

// elements reads the report as XML, which it also is, and fails if it is not well-formed.
func elements(t require.TestingT, doc string) []xml.StartElement {
	var out []xml.StartElement
	d := xml.NewDecoder(strings.NewReader(doc))
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

// sound checks what must hold of every report, whatever it was made from.
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
		if e.Name.Local == "rect" && attr(e, "width") != "" {
			w, err := strconv.ParseFloat(attr(e, "width"), 64)
			assert.NoError(t, err)
			assert.True(t, w >= 0 && w <= 1080, w)
		}
	}
	assert.LessOrEqual(t, strings.Count(strings.ToLower(doc), "<script"), 1, "the page's own")
	for _, e := range es {
		if e.Name.Local == "a" && !strings.HasPrefix(attr(e, "href"), "porcupine/") {
			assert.True(t, strings.HasPrefix(attr(e, "href"), "#") && ids[attr(e, "href")[1:]], attr(e, "href"))
		}
	}
	return es
}

func TestTheReportStandsAlone(t *testing.T) {
	doc := render(t, runOf(paused(), cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20))))
	es := sound(t, doc)
	says(t, doc, `http-equiv="Content-Security-Policy" content="default-src 'none'; `+
		`style-src 'unsafe-inline'; script-src 'sha256-`)
	for _, unwanted := range []string{"http:", "https:", "ZgotmplZ"} {
		assert.NotContains(t, doc, unwanted)
	}
	assert.Equal(t, 2, count(es, "section", ""))
	assert.Equal(t, 1, count(es, "script", ""))
}

func TestASurpriseStandsOut(t *testing.T) {
	es := sound(t, render(t, runOf(paused())))
	assert.Equal(t, 1, count(es, "div", "surprises"), "at the top")
	assert.Equal(t, 1, count(es, "p", "outcome bad"))
	assert.Positive(t, count(es, "tr", "surprise"), "at the verdict")
}

func TestWhatACellSays(t *testing.T) {
	doc := render(t, runOf(paused()))
	says(t, doc,
		"a sold unit 100 to order o1 at +2.998 s; b sold unit 100 again to order o2 at +3.498 s",
		"the lock is in Redis, and the TTL far exceeds the work",
		"go run ./loadtest --scenarios two-instances --rungs v2<",
		"units sold twice", "redis-server 7.0.15", "All 2 orders of the cell.")
}

func TestACellLinksToItsPorcupinePage(t *testing.T) {
	run := runOf(paused(), cellOf("two-instances", "v5"), cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20)))
	var out bytes.Buffer
	require.NoError(t, html.Write(&out, run, scenario.Table.Assess(run.Cells), map[*history.Cell]string{
		run.Cells[0]: "porcupine/two-instances-v2.html",
	}))
	sound(t, out.String())
	assert.Equal(t, 1, strings.Count(out.String(), `<a href="porcupine/two-instances-v2.html">`))
	assert.Equal(t, 1, strings.Count(out.String(), `class="porcupine"`))
}

func TestTheTimelineOfAPause(t *testing.T) {
	doc := render(t, runOf(paused()))
	es := sound(t, doc)
	legend := 1 // each mark also stands once in the legend
	assert.Equal(t, legend+1, count(es, "path", "cross"), "the lock that was removed by another")
	assert.Equal(t, legend+1, count(es, "rect", "overlap"))
	assert.Equal(t, legend+2, count(es, "rect", "fault"))
	assert.Equal(t, legend+2, count(es, "rect", "stopped"))
	assert.Equal(t, 3, count(es, "rect", "head"), "their names, which stay when it is scrolled")
	assert.Equal(t, 2, strings.Count(doc, ": sold\nsent"), "a tooltip for each order")
	says(t, doc, "order o2: removed by order o1 at 3001 ms")
}

func TestAnOrderThatAnotherSoldForSaysSo(t *testing.T) {
	c := cellOf("two-instances", "v19", sale("o1", "a", 100, 10, 30),
		history.Op{Order: "o2", Phase: history.Buy, Instance: "a", Outcome: history.Sold, Sent: 12 * ms, Done: 40 * ms,
			Quantity: 1, Units: []int64{99}, SoldBy: "o1"},
		history.Op{Order: "o3", Phase: history.Buy, Instance: "a", Outcome: history.Refused, Sent: 12 * ms, Done: 40 * ms,
			Quantity: 100, SoldBy: "o1"})
	doc := render(t, runOf(c))
	sound(t, doc)
	says(t, doc, ">order o1 sells unit 100<", ">order o2 sells unit 99, by order o1<",
		">order o3 is refused, by order o1<")
}

func TestADeathIsSeenByWhatItLeaves(t *testing.T) {
	c := cellOf("crash", "v1", sale("opening", "b", 100, 3, 5),
		history.Op{
			Order: "o1", Phase: history.Buy, Instance: "a", Outcome: history.Unknown, Sent: 10 * ms, Done: history.Never,
		},
		history.Op{Order: "probe", Phase: history.Probe, Instance: "b", Outcome: history.Busy, Sent: 20 * ms, Done: 900 * ms})
	c.Faults = []history.Fault{{Order: "o1", Instance: "a", Kind: history.FaultKill, Text: "killed",
		At: 12 * ms, End: 13 * ms}}
	doc := render(t, runOf(c))
	es := sound(t, doc)
	says(t, doc, "the whole process: fault killed, 12 ms to 13 ms",
		"order probe was told, at 900 ms, that another holds the lock")
	assert.Equal(t, 1+1, count(es, "rect", "busy"))
	assert.Equal(t, 1+1, count(es, "path", "cross"))
}

func TestALargeCellShowsAWindow(t *testing.T) {
	clean, broken := cellOf("two-instances", "v4"), cellOf("two-instances", "v0.5")
	clean.Initial, broken.Initial = 1000, 1000
	for i := range 200 {
		o := sale(fmt.Sprint("o", i), "a", 100+int64(i), history.Instant(i*20+10), history.Instant(i*20+18))
		clean.Ops = append(clean.Ops, o)
		broken.Ops = append(broken.Ops, o)
	}
	broken.Ops = append(broken.Ops, sale("again", "b", 150, 1005, 1021))
	doc := render(t, runOf(clean, broken))
	sound(t, doc)
	says(t, doc, "The first 20 of the 200 sales, of 200 orders in the cell.")
	says(t, doc, "Around the first violation: ")
	says(t, doc, "<title>order again on b")
	assert.LessOrEqual(t, strings.Count(doc, "<title>order o"), 60)
}

func TestRedlockHasFiveLanesAtMost(t *testing.T) {
	c := cellOf("two-instances", "v6", sale("o1", "a", 100, 10, 20))
	for i := range 7 {
		set := command("set", "redlock:x", 1, 2, "true")
		set.Node = fmt.Sprint("node", i)
		c.Ops[0].Trace = append(c.Ops[0].Trace, set)
	}
	doc := render(t, runOf(c))
	es := sound(t, doc)
	assert.Equal(t, 2+5, count(es, "rect", "lane"))
	says(t, doc, "and 3 more lock keys")
}

func TestHostileStringsStayText(t *testing.T) {
	evil := "</noscript></style></title><script>alert(1)</script>\" onload='x' \x00{{.}} javascript:&\u202e"
	o := sale(evil, evil, 100, 10, 20)
	o.Outcome, o.Detail, o.SoldBy, o.For = history.Outcome(evil), evil, evil, evil
	o.Trace = append(o.Trace, history.Command{Node: evil, Cmd: "set", Key: evil, Reply: evil, At: 1, End: 2 * ms},
		history.Command{Cmd: "fault", Key: evil, At: 1, End: 15 * ms})
	c := cellOf(evil, evil, o, sale(evil+"2", "a", 100, 10, 20), sale(evil+"3", "a", 100, 12, 20))
	skipped := cellOf(evil, evil+"4")
	c.Name, c.Product, c.Instances[0].Name, skipped.NotAsked = evil, evil, evil, &history.NotAsked{Reason: evil}
	run := runOf(c, skipped)
	run.ID, run.Interrupted, run.Backend.Text, run.Backend.Stockapi, run.Machine.OS = evil, evil, evil, evil, evil
	doc := render(t, run)
	sound(t, doc)
	assert.Equal(t, strings.Count(doc, "<noscript>"), strings.Count(doc, "</noscript"), "no string ends the inert text")
	assert.NotContains(t, doc, "\x00")
}

func TestTheSameHistoryMakesTheSameReport(t *testing.T) {
	run := runOf(paused(), cellOf("one-instance", "v0"), cellOf("one-instance", "v4", sale("o1", "a", 1, 1, 2)))
	first := render(t, run)
	assert.Equal(t, first, render(t, run))
	file := filepath.Join(t.TempDir(), history.Results)
	require.NoError(t, history.Write(file, run))
	again, err := history.Open(file)
	require.NoError(t, err)
	assert.Equal(t, first, render(t, again))
}

// What shows a few cells has them open. Of many, only the surprises are.
func TestFewCellsAreOpen(t *testing.T) {
	rungs := []string{"v1", "v2", "v3", "v4", "v5"}
	for cells, open := range map[int]int{1: 1, 3: 3, 4: 0} {
		run := runOf()
		for i := range cells {
			c := cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20))
			c.Rung, c.NotAsked = rungs[i], &history.NotAsked{Reason: "there is no server"}
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

// What a forged history may hold.
var (
	anyInstant = rapid.OneOf(
		rapid.Custom(func(t *rapid.T) history.Instant {
			return history.Instant(rapid.Int64Range(-1e9, 1e10).Draw(t, "near"))
		}),
		rapid.SampledFrom([]history.Instant{0, -1, history.Never, history.Never - 1, math.MinInt64}),
	)
	anyCommand = rapid.Custom(func(t *rapid.T) history.Command {
		return history.Command{
			Node: rapid.SampledFrom([]string{"n1", "n2", ""}).Draw(t, "node"),
			Cmd:  rapid.SampledFrom([]string{"set", "get", "del", "eval:renew", "eval:release", "fault", ""}).Draw(t, "cmd"),
			Key:  rapid.SampledFrom([]string{"lock", "ProductStock_x", "stop@x", ""}).Draw(t, "key"),
			At:   anyInstant.Draw(t, "at"), End: anyInstant.Draw(t, "end"),
			Reply: rapid.SampledFrom([]string{"OK", "0", "1", ""}).Draw(t, "reply"),
		}
	})
	anyOp = rapid.Custom(func(t *rapid.T) history.Op {
		o := history.Op{
			Order:    rapid.SampledFrom([]string{"o1", "o2", "", "<&>", "\v\x00"}).Draw(t, "order"),
			Instance: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "instance"),
			Outcome:  rapid.SampledFrom([]history.Outcome{history.Sold, history.Busy, history.Unknown, ""}).Draw(t, "outcome"),
			Sent:     anyInstant.Draw(t, "sent"), Done: anyInstant.Draw(t, "done"),
			Units:  rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 3).Draw(t, "units"),
			SoldBy: rapid.SampledFrom([]string{"", "", "o1", "<&>", "\v\x00"}).Draw(t, "sold by"),
			Trace:  rapid.SliceOfN(anyCommand, 0, 5).Draw(t, "trace"),
		}
		if rapid.Bool().Draw(t, "lease") {
			o.Lease = &history.Lease{AcquiredAt: anyInstant.Draw(t, "acquired"), ReleasedAt: anyInstant.Draw(t, "released")}
		}
		return o
	})
)

func TestAnInterruptedRunSaysHowFarItCame(t *testing.T) {
	run := runOf()
	run.Cells = []*history.Cell{forged(scenario.Table[0], scenario.Table[0].Expect[0])}
	run.Interrupted = "interrupted by a signal"
	run.Selected = 458
	says(t, render(t, run), "Interrupted after 1 of 458 cells, as expected so far", "interrupted by a signal")
}

func TestAnEmptyRunMakesAReport(t *testing.T) {
	sound(t, render(t, &history.Run{}))
}

func TestTheCommandSaysWhatDiffers(t *testing.T) {
	run := runOf(paused())
	run.Load.TTL, run.Load.Rate, run.Backend.Kind = 2*time.Second, 50, "embedded"
	says(t, render(t, run), "--rungs v2 --backend embedded --rate 50 --ttl 2s<")
	run.Cells[0].Rung = "v4; rm -rf /"
	assert.NotContains(t, render(t, run), `<p class="command">`, "a forged name could be pasted into a shell")
}
