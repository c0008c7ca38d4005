package html

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Picture and verdict tell the same tenures: a lock is removed by another in the one if and only if it is in the other,
// and two orders that held the lock at once have bars that overlap. STOCKAPI_RESULTS names the results of a run of your
// own.
func TestPictureAndVerdictTellTheSameTenures(t *testing.T) {
	run, err := history.Open(recorded())
	require.NoError(t, err)
	tenures := 0
	for _, c := range run.Cells {
		c.Findings, _ = audit.Judge(c)
		line := history.TimelineOf(c)
		line.Explain(catalog.TermsOf(c))
		foreignAsJudged(t, c, line)
		overlapsAsJudged(t, c)
		againAsJudged(t, c)
		if len(c.Ops) > 0 {
			tenures += drawnAsDerived(t, c, line)
		}
	}
	t.Logf("%d tenures of %d cells are drawn", tenures, len(run.Cells))
	assert.Positive(t, tenures)
}

// recorded returns the file of recorded cells, one or more for each scenario and kind of violation.
func recorded() string {
	if file := os.Getenv("STOCKAPI_RESULTS"); file != "" {
		return file
	}
	return filepath.Join("testdata", "violations.jsonl.gz")
}

// foreignAsJudged compares the tenures that another order ended with the evidence of own-release.
func foreignAsJudged(t *testing.T, c *history.Cell, line *history.Timeline) {
	f := c.Finding(history.OwnRelease)
	accused := map[string]bool{}
	for i := range line.Removals {
		if r := &line.Removals[i]; r.Foreign() {
			accused[fmt.Sprint(c.Ops[r.Order].Order, r.At)] = true
			for _, h := range r.Lock().Tenures {
				same := h.Order == r.Of && h.From <= r.Owned && r.Owned <= h.At
				assert.False(t, same && h.How == history.Released, "%s: order %d released what it had lost", c.Title(), r.Of)
			}
		}
	}
	assert.Equal(t, f.Result == history.Broken, len(accused) > 0, c.Title())
	for _, e := range f.Evidence {
		assert.True(t, accused[fmt.Sprint(e.Orders[0], e.At[0])], "%s: %s", c.Title(), e.Text)
	}
	for _, l := range line.Locks {
		for _, h := range l.Tenures {
			removal := func(r history.Removal) bool {
				return r.Order == h.By && r.End == h.At && (r.Foreign() || !r.Owned.Known())
			}
			if h.How == history.Removed {
				assert.True(t, slices.ContainsFunc(line.Removals, removal), "%s: order %d removed no other's lock", c.Title(), h.By)
			}
		}
	}
}

// overlapsAsJudged looks for the bars of the orders that are said to have held the lock at once.
func overlapsAsJudged(t *testing.T, c *history.Cell) {
	for _, e := range c.Finding(history.Exclusion).Evidence {
		var bars []span
		for i := range c.Ops {
			op := &c.Ops[i]
			if slices.Contains(e.Orders, op.Order) {
				bars = append(bars, tenure(op))
			}
		}
		require.Len(t, bars, 2, c.Title())
		assert.True(t, bars[0].meets(bars[1]) && bars[0].lo <= float64(e.At[0]) && bars[1].lo <= float64(e.At[0]),
			"%s: %s", c.Title(), e.Text)
	}
}

// againAsJudged looks for the sales of the unit that is said to be sold twice: the first one drawn is the only one
// without "again", even if the answers come in the opposite order.
func againAsJudged(t *testing.T, recorded *history.Cell) {
	c := *recorded
	c.Ops = slices.Clone(c.Ops)
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Done.Known() {
			op.Done, op.Latency = 500e9-op.Done, 0
		}
	}
	c.Findings, _ = audit.Judge(&c)
	twice := evidenceOf(history.FirstBroken(c.Findings))
	if twice.Unit == 0 || len(twice.Orders) < 2 {
		return
	}
	d := &drawing{scale: scale{span: span{0, 1e12}, width: 1e9}, cell: &c}
	for i := range c.Ops {
		op := &c.Ops[i]
		if slices.Contains(op.Units, twice.Unit) {
			d.sale(op, 0)
		}
	}
	slices.SortStableFunc(d.sales, func(a, b mark) int { return cmp.Compare(a.x, b.x) })
	for i, m := range d.sales {
		assert.Equal(t, i > 0, strings.HasSuffix(sentence(&c, m.op), " again"), "%s: %s", c.Title(), m.op.Order)
	}
}

// drawnAsDerived looks for the tenures in the drawing of a cell, and returns how many there are.
func drawnAsDerived(t *testing.T, c *history.Cell, line *history.Timeline) int {
	d := drawTimeline(c, choose(c), locksOf(c), reportWidth)
	svg := d.String()
	var want []string
	for _, l := range line.Locks[:min(len(line.Locks), maxLocks)] {
		of := 0
		for _, h := range l.Tenures {
			if float64(h.From) <= d.hi && float64(h.At) >= d.lo && of < maxHolds {
				op := &c.Ops[h.Order]
				want = append(want, fmt.Sprintf("<title>held by order %s on %s from %s</title>", op.Order, op.Instance,
					d.moment(float64(h.From))))
				of++
			}
		}
	}
	slices.Sort(want)
	for _, one := range slices.Compact(slices.Clone(want)) {
		n := len(want) - len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == one }))
		assert.Equal(t, n, strings.Count(svg, one), "%s: %s", c.Title(), one)
	}
	assert.Equal(t, len(want), strings.Count(svg, "<title>held by order "), c.Title())
	return len(want)
}
