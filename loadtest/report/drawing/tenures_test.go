package drawing_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

// Drawing and verdict agree on tenures: on removals by other orders, and on orders that held the lock at the same time,
// whose bars overlap. STOCKAPI_RESULTS names the results of another run.
func TestTenuresAgreeWithVerdicts(t *testing.T) {
	run, err := history.Open(recorded())
	require.NoError(t, err)
	tenures := 0
	for _, c := range run.Cells {
		d := drawingOf(c)
		line := history.TimelineOf(c, catalog.TermsOf(c))
		foreignAsJudged(t, c, line)
		overlapsAsJudged(t, c, d)
		againAsJudged(t, c)
		tenures += drawnAsDerived(t, c, d, line)
	}
	t.Logf("%d tenures of %d cells", tenures, len(run.Cells))
	assert.Positive(t, tenures)
}

// recorded returns the name of a file with recorded cells, one or more for each scenario and kind of violation.
func recorded() string {
	if file := os.Getenv("STOCKAPI_RESULTS"); file != "" {
		return file
	}
	return filepath.Join("testdata", "violations.jsonl.gz")
}

// foreignAsJudged compares the tenures that another order removed with the evidence of own-release.
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

// overlapsAsJudged checks that orders which held the lock at the same time, according to the audit, have bars that
// overlap.
func overlapsAsJudged(t *testing.T, c *history.Cell, d *drawing.Drawing) {
	for _, e := range c.Finding(history.Exclusion).Evidence {
		at, bars := timeOf(e.At[0]), 0
		for i := range c.Ops {
			if o := d.Orders[i]; slices.Contains(e.Orders, c.Ops[i].Order) {
				bars++
				assert.True(t, o.From <= at && (at <= o.To || !o.To.Known()), "%s: %s", c.Title(), e.Text)
			}
		}
		assert.Equal(t, 2, bars, c.Title())
	}
}

// againAsJudged checks the sales of a unit that was sold twice: the first write is the only one without "again", even
// if the answers arrive in the opposite order.
func againAsJudged(t *testing.T, recorded *history.Cell) {
	c := *recorded
	c.Ops = slices.Clone(c.Ops)
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Done.Known() {
			op.Done, op.Latency = 500e9-op.Done, 0
		}
	}
	d := drawingOf(&c)
	twice := history.FirstBroken(c.Findings).Evidence
	if len(twice) == 0 || twice[0].Unit == 0 || len(twice[0].Orders) < 2 {
		return
	}
	type sale struct {
		at   history.Instant
		does string
	}
	var sales []sale
	for i := range c.Ops {
		op := &c.Ops[i]
		if !slices.Contains(op.Units, twice[0].Unit) || op.Outcome != history.Sold {
			continue
		}
		at := op.Done
		if write := op.LastWrite(); write != nil {
			at = write.End
		}
		if at.Known() {
			sales = append(sales, sale{at, d.Orders[i].Does})
		}
	}
	slices.SortStableFunc(sales, func(a, b sale) int { return cmp.Compare(a.at, b.at) })
	for i, s := range sales {
		assert.Equal(t, i > 0, strings.HasSuffix(s.does, " again"), "%s: %s", c.Title(), s.does)
	}
}

// timeOf returns an instant in milliseconds, to the microsecond.
func timeOf(at history.Instant) drawing.Time {
	if !at.Known() {
		return drawing.Time(math.NaN())
	}
	return drawing.Time(math.Round(float64(at)/1e3) / 1e3)
}

// drawnAsDerived compares the tenures of a drawing with those of the timeline, and returns how many there are.
func drawnAsDerived(t *testing.T, c *history.Cell, d *drawing.Drawing, line *history.Timeline) int {
	var want, got []string
	for _, l := range line.Locks[:min(len(line.Locks), 5)] {
		for _, h := range l.Tenures {
			want = append(want, fmt.Sprint(l.Key, " on ", l.Node, h.Order, timeOf(h.From), timeOf(h.At), h.Alone))
		}
	}
	for _, h := range d.Tenures {
		if !h.Maybe {
			got = append(got, fmt.Sprint(d.Lanes[h.Lane].Title, h.Order, h.From, h.At, !h.Beside))
		}
	}
	assert.Equal(t, want, got, c.Title())
	return len(want)
}
