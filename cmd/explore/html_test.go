package main

import (
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// written returns what the program writes into the file that a flag names.
func written(t *testing.T, flag string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "found")
	code, _, errs := explored(t, append(args, flag, path)...)
	require.Equal(t, asExpected, code, errs)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// An element of a page, with the classes of all elements around it, and the text that begins in it.
type element struct {
	xml.StartElement
	within, text string
}

func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) number(t *testing.T, name string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(e.attr(name), 64)
	require.NoError(t, err)
	return n
}

// elementsOf reads a page as XML, which it also is.
func elementsOf(t *testing.T, page string) (all []*element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	var around []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			one := &element{StartElement: e.Copy(), within: strings.Join(around, " ")}
			all, around = append(all, one), append(around, one.attr("class"))
		case xml.EndElement:
			around = around[:len(around)-1]
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(e)
			}
		}
	}
}

// of returns the elements whose class begins with a word, within an element of another class.
func of(all []*element, class, within string) (found []*element) {
	for _, e := range all {
		if first, _, _ := strings.Cut(e.attr("class"), " "); first == class && strings.Contains(e.within, within) {
			found = append(found, e)
		}
	}
	return found
}

func texts(all []*element) (found []string) {
	for _, e := range all {
		if text := strings.TrimSpace(e.text); text != "" {
			found = append(found, text)
		}
	}
	return found
}

func TestThePageShowsEachShortestCounterexample(t *testing.T) {
	page := written(t, "--html", "--rungs", "v0,v4,v17", "--faults", "1", "--kinds", "expiry,crash")
	all := elementsOf(t, page)
	ids := map[string]bool{}
	for _, e := range all {
		if id := e.attr("id"); id != "" {
			assert.False(t, ids[id], id)
			ids[id] = true
		}
	}
	for _, id := range []string{"v0-expiry", "v0-crash", "v4-expiry", "v4-crash", "v17-expiry", "rung-v17"} {
		assert.True(t, ids[id], id)
	}
	for _, e := range all {
		if e.Name.Local == "a" {
			assert.True(t, ids[strings.TrimPrefix(e.attr("href"), "#")], e.attr("href"))
		}
	}
	var traces []string
	for _, e := range all {
		if e.Name.Local == "code" && strings.HasSuffix(e.within, " trace") {
			traces = append(traces, strings.TrimSpace(e.text))
		}
	}
	assert.Equal(t, []string{"v0:abba", "v0:abba", "v4:aa.expiry.bbba", "v4:a.expiry.bba"}, traces)
	assert.Len(t, of(all, "timeline", ""), len(traces), "a timeline each")
	for _, text := range []string{
		"2 clients with an order each, 1 in stock, 1 fault in one schedule",
		"There is no violation within these bounds.",
		"Bert sold unit 1 at step 3; Anna sold unit 1 again at step 4.",
		"as expected (6 of 6 cells)",
		"go run ./cmd/explore --replay v4:aa.expiry.bbba",
	} {
		assert.Contains(t, strings.ReplaceAll(page, "&#43;", "+"), text)
	}
	for _, e := range all {
		assert.NotContains(t, []string{"img", "link", "iframe", "object"}, e.Name.Local)
	}
	assert.NotContains(t, page, "https:")
	assert.NotContains(t, page, "ZgotmplZ")
	assert.NotContains(t, page, "NaN")
}

// The bars, the end of the lease, the marks and the clock are where the steps are.
func TestTheTimelineOfASchedule(t *testing.T) {
	page := written(t, "--html", "--rungs", "v4", "--faults", "1", "--kinds", "expiry")
	_, first, _ := strings.Cut(page, `<svg class="timeline`)
	first, _, _ = strings.Cut(first, "</svg>")
	all := elementsOf(t, `<svg class="timeline`+first+"</svg>")
	x := map[string]float64{} // of each step
	for _, e := range of(all, "axis", "") {
		if e.text != "step" {
			x[e.text] = e.number(t, "x")
		}
	}
	require.Len(t, x, 7, "v4:aa.expiry.bbba")
	unit := x["2"] - x["1"]
	for step, at := range map[string]float64{"3": 2, "4": 3, "5": 4, "6": 5, "7": 6} {
		assert.InDelta(t, x["1"]+at*unit, x[step], 1, step)
	}
	bars := of(all, "bar", "order")
	require.Len(t, bars, 2)
	assert.InDelta(t, x["1"], bars[0].number(t, "x"), 1, "Anna has the lock from step 1")
	assert.InDelta(t, x["4"], bars[1].number(t, "x"), 1, "Bert has it from step 4")
	end := bars[0].number(t, "x") + bars[0].number(t, "width")
	assert.Greater(t, end, x["2"]+unit/2, "until the TTL is over, just before step 3")
	assert.Less(t, end, x["3"])
	assert.NotEmpty(t, of(all, "believes", "order"), "then Anna only believes that it holds the lock")
	assert.Len(t, of(all, "bar", "hold"), 2, "the lock key")
	said := texts(all)
	for _, text := range []string{"client a", "client b", "clock", "lock key", "Anna sells unit 1", "Bert sells unit 1",
		"unit 1 sold twice",
		"+2.001 s", "set lock", "get stock", "set stock"} {
		assert.Contains(t, said, text)
	}
	faults := of(all, "fault", "")
	require.Len(t, faults, 1, "on the lane of the clock")
	assert.InDelta(t, x["2"], faults[0].number(t, "x"), 1)
	assert.InDelta(t, unit, faults[0].number(t, "width"), 1)
	assert.Len(t, of(all, "sent", "order"), 2, "the acquires, which have no other mark")
	assert.Len(t, of(all, "read", "order"), 2)
}

// A fresh order that is refused has a lane of its own, and the dead client a cross.
func TestTheTimelineOfALockThatStays(t *testing.T) {
	page := written(t, "--html", "--rungs", "v1", "--faults", "1", "--kinds", "crash")
	all := elementsOf(t, page)
	said := texts(all)
	assert.Contains(t, said, "client c")
	assert.Contains(t, said, "order fresh finds the lock busy")
	assert.Contains(t, said, "later")
	assert.NotEmpty(t, of(all, "cross", "order"))
	assert.Contains(t, page, "a fresh order did not get through in 4 s: lock is held by another")
}

// Same bounds, same page, to the byte.
func TestThePageIsTheSame(t *testing.T) {
	t.Parallel()
	args := []string{"--rungs", "v0,v3,v5-as-printed", "--faults", "1", "--kinds", "expiry,lose-reply"}
	first, second := written(t, "--html", args...), written(t, "--html", args...)
	assert.Equal(t, sha256.Sum256([]byte(first)), sha256.Sum256([]byte(second)))
}

// Every counterexample that there is has a picture.
func TestEveryKindOfFaultIsDrawn(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	page := written(t, "--html", "--rungs", "v1,v2,v15,v5-as-printed", "--faults", "1")
	all := elementsOf(t, page)
	lanes := strings.Join(texts(of(all, "name", "timeline")), " ")
	for _, name := range []string{"client a", "lock servers", "clock"} {
		assert.Contains(t, lanes, name)
	}
	assert.NotContains(t, page, "Inf")
	for _, e := range all {
		if e.Name.Local == "rect" && e.attr("width") != "" {
			assert.GreaterOrEqual(t, e.number(t, "width"), 0.)
		}
	}
}
