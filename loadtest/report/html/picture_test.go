package html_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
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

var update = flag.Bool("update", false, "write testdata/*.svg anew")

// slow is a cell in which order 1 works longer than its lease, and order 2 sells its unit meanwhile.
func slow() *history.Cell {
	first, second := sale("lt-beef-3-v4-1", "a", 98, 10, 2500), sale("lt-beef-3-v4-2", "b", 98, 1020, 1030)
	first.Trace[2].Key, second.Trace[2].Key, first.Trace[4].Reply = "hold@after:get/stock", "hold@after:get/stock", "0"
	opening := sale("lt-beef-3-v4-opening-a", "a", 99, 3, 5)
	opening.Trace = slices.Delete(opening.Trace, 2, 3)
	opening.Sent, first.Sent, second.Sent = 0, 7*ms, 20*ms
	c := cellOf("slow-work", "v4", opening, first, second)
	c.TTL, c.Name = time.Second, "lua-release"
	c.Faults = []history.Fault{{
		Order: "lt-beef-3-v4-1", Instance: "a", Text: "working 2.500 s under a lease of 1.000 s", At: 10 * ms, End: 2500 * ms,
	}}
	c.Findings, c.Coverage = audit.Judge(c)
	return c
}

func picture(t require.TestingT, c *history.Cell) string {
	var out bytes.Buffer
	require.NoError(t, html.WritePicture(&out, scenario.Table.Assess([]*history.Cell{c})[0]))
	return out.String()
}

func TestAPictureShowsAUnitThatWasSoldTwice(t *testing.T) {
	doc := picture(t, slow())
	sound(t, doc)
	says(t, doc, "<title id=\"title\">Unit 98 was sold twice</title>",
		"<desc id=\"desc\">b sold unit 98 to order 2 at +1.028 s; a, working 2.500 s under a lease of 1.000 s, sold",
		"lock v4 lua-release, scenario slow-work", "working 2.500 s under a lease of 1.000 s", "holds the lock",
		"TTL over", "believes it holds the lock", "order 2 sells unit 98", "order 1 sells unit 98 again", "held by order 1",
		"waits", "unit 98 sold twice", "○ reads the stock")
	assert.NotContains(t, doc, "opening-a", "the orders of the violation alone")
}

func TestAPictureStandsAlone(t *testing.T) {
	doc := picture(t, slow())
	root := elements(t, doc)[0]
	assert.Equal(t, "svg", root.Name.Local)
	assert.Equal(t, "http://www.w3.org/2000/svg", root.Name.Space)
	assert.Equal(t, "img", attr(root, "role"))
	assert.Equal(t, "title desc", attr(root, "aria-labelledby"))
	says(t, doc, "@media screen and (prefers-color-scheme: dark)")
	for _, unwanted := range []string{"<script", "@import", "https:", "href", "<image", "<foreignObject"} {
		assert.NotContains(t, doc, unwanted)
	}
	assert.Equal(t, 1, strings.Count(doc, "http:"), "the name of SVG itself")
}

// The picture of a fixed history is a file. go test -update writes it anew: look at it before you commit it.
func TestThePictureOfAFixedHistory(t *testing.T) {
	golden := filepath.Join("testdata", "sold-twice.svg")
	doc := picture(t, slow())
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(doc), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), doc)
}

// The picture in docs comes from a real run, by make picture, and looks like those of today.
func TestThePictureInDocs(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sold-twice.svg"))
	require.NoError(t, err)
	sound(t, string(doc))
	says(t, string(doc), "was sold twice</title>", "believes it holds the lock")
	style := func(doc string) string {
		_, rest, _ := strings.Cut(doc, "<style>")
		style, _, _ := strings.Cut(rest, "</style>")
		return style
	}
	assert.Equal(t, style(picture(t, slow())), style(string(doc)), "run make picture")
}

func TestACellWithoutAViolationHasAPictureToo(t *testing.T) {
	c := cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20))
	c.Findings, c.Coverage = audit.Judge(c)
	doc := picture(t, c)
	sound(t, doc)
	says(t, doc, "No violation was found", "1 buyers, 1 sold to")
	empty := scenario.Table.Assess([]*history.Cell{cellOf("pause", "v4")})[0]
	require.ErrorContains(t, html.WritePicture(&bytes.Buffer{}, empty), "there are no orders to draw")
}

func TestInAPictureHostileStringsStayText(t *testing.T) {
	evil := "</style></title><script>alert(1)</script>\" onload='x' \x00]]>&\u202e class=\"renew\""
	c := slow()
	c.Scenario, c.Rung, c.Name, c.Product = evil, evil, evil, evil
	c.Faults[0].Text, c.Faults[0].Instance = evil, evil
	for i := range c.Ops {
		c.Ops[i].Instance, c.Ops[i].Detail = evil, evil
		c.Ops[i].Trace = append(c.Ops[i].Trace,
			history.Command{Node: evil, Cmd: "set", Key: evil, Reply: evil, At: 1, End: 2 * ms})
	}
	c.Findings, c.Coverage = audit.Judge(c)
	doc := picture(t, c)
	sound(t, doc)
	assert.NotContains(t, doc, "<script")
	assert.NotContains(t, doc, "\x00")
	assert.NotContains(t, doc, "renews the lock", "no such mark is drawn")
}

// Every cell with orders has a picture that is well-formed and holds no number that cannot be drawn.
func TestAnyCellMakesAPicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cellOf("two-instances", "v4", rapid.SliceOfN(anyOp, 1, 30).Draw(t, "ops")...)
		c.TTL = time.Duration(rapid.Int64().Draw(t, "ttl"))
		c.Findings, c.Coverage = audit.Judge(c)
		sound(t, picture(t, c))
	})
}
