package trial

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// The count proves nothing if stock and sales disagree even without a fault.
func TestCountThatDoesNotBalance(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		bend func(*forge.Drawer, *record.Bench)
		want string
	}{
		"a unit for each sale":  {bend: func(*forge.Drawer, *record.Bench) {}},
		"no way to put a stock": {bend: func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Set = "" }},
		"nothing is deducted": {func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Left = "echo 100" },
			"2 sold, but the stock went from 100 to 100, by count within 1.3s"},
		"a stock that falls by itself": {func(d *forge.Drawer, b *record.Bench) {
			b.Pair.Shop.Left += "; echo 97 > " + d.Stock
		},
			"2 sold, but the stock went from 100 to 97, by count within 1.3s"},
		"a reservation ends": {func(d *forge.Drawer, _ *record.Bench) { d.Back = time.Second },
			"2 sold, but the stock went from 100 to 100, by count within 1.3s"},
		"errors after the commit": {func(d *forge.Drawer, _ *record.Bench) {
			d.Answers = http.StatusInternalServerError
		}, ""},
		"sales that are recorded": {func(d *forge.Drawer, b *record.Bench) {
			d.Answers, b.Pair.Shop.Sales = http.StatusInternalServerError, "cat "+d.Sales
		}, ""},
		"sales that are refused": {func(d *forge.Drawer, b *record.Bench) {
			d.Answers, b.Pair.Shop.Sales = http.StatusConflict, "cat "+d.Sales
		}, "2 recorded as sold, but 0 according to the answers, by count within 1.3s"},
		"sales that are not recorded": {func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Sales = "echo 7" },
			"0 recorded as sold, but the stock went from 100 to 98, by count within 1.3s"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			d := forge.NewDrawer(t)
			b := d.Counting(backendtest.StartRedis(t).URL)
			c.bend(d, b)
			trial := &Trial{shop: b.Pair.Shop, passport: b.Passport, idle: []*record.Bench{b}}
			require.NoError(t, trial.control(t.Context(), 1300*time.Millisecond))
			_, why, _ := strings.Cut(trial.unbalanced, "the count does not balance without a fault either: ")
			assert.Equal(t, c.want, why)
			assert.Len(t, trial.idle, 1, "the bench is kept")
			last := b.Orders[len(b.Orders)-1]
			assert.Equal(t, "warm-1", last.Name, "a pool may have closed its connections")
			assert.Greater(t, last.Sent.Sub(b.Orders[0].Sent), 1300*time.Millisecond)
		})
	}
}

// The count is not checked without --left, nor again once it is known to prove nothing.
func TestCountNotChecked(t *testing.T) {
	trial := &Trial{shop: &shop.Shop{}}
	require.NoError(t, trial.control(t.Context(), time.Hour))
	trial.shop.Left, trial.unbalanced = "echo 7", "it is refilled"
	require.NoError(t, trial.control(t.Context(), time.Hour))
}

func TestFailedCommandNamesItsFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bend func(*record.Bench)
		want string
	}{
		{func(b *record.Bench) { b.Pair.Shop.Set = "echo no such table >&2; exit 3" },
			"--set: exit status 3; last output: no such table"},
		{func(b *record.Bench) { b.Pair.Shop.Set = "sleep 30" },
			"--set: it did not end within 5s: is it slow, or does a transaction of the shop still hold the row?"},
		{func(b *record.Bench) { b.Pair.Shop.Left = "echo" }, `--left: it printed "", not a number`},
		{func(b *record.Bench) { b.Pair.Shop.Sales = "exit 1" }, "--sales: exit status 1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			b := forge.NewDrawer(t).Counting(backendtest.StartRedis(t).URL)
			c.bend(b)
			unbalanced, err := balance(b, 0)
			assert.ErrorContains(t, err, c.want)
			assert.Empty(t, unbalanced)
		})
	}
	trial := &shop.Shop{Bed: forge.Testbed(t)}
	trial.Setup = "exit 2"
	assert.ErrorContains(t, trial.Prepare(t.Context()), "--setup: exit status 2")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trial.Setup, trial.Database = "", l.Addr().String()
	require.NoError(t, trial.Prepare(t.Context()))
	require.NoError(t, l.Close())
	assert.Regexp(t, "^--db: .* connection refused: start the database, or correct the address$",
		trial.Prepare(t.Context()))
}

// Cells are judged again if the count has turned out to prove nothing.
func TestCellsAreCountedAgain(t *testing.T) {
	broken := func() *history.Cell {
		return &history.Cell{Initial: 100, Left: new(int64(97)), Count: &history.Count{},
			Facts:    &history.Facts{Elsewhere: true},
			Findings: []history.Finding{{Verdict: history.Stock, Result: history.Broken}},
			Defect:   &history.Defect{Cause: "lost"}}
	}
	cells := []*history.Cell{nil, broken(), broken()}
	cells[2].NotTested = &history.NotTested{Reason: "Bert slept"}
	trial := &Trial{shop: &shop.Shop{}}
	trial.recount(cells)
	assert.NotNil(t, cells[1].Defect, "it balances")
	trial.unbalanced = "it is refilled"
	trial.recount(cells)
	assert.Nil(t, cells[1].Defect)
	assert.Equal(t, history.Indeterminate, cells[1].Finding(history.Stock).Result)
	assert.Equal(t, "it is refilled", cells[1].Finding(history.Stock).Because)
	assert.Equal(t, history.Broken, cells[2].Finding(history.Stock).Result, "it was not tested")
}

// A cell is played again with one unit fewer than it sold if two orders sold at once, and the count did not break.
func TestCellsWithTooFewUnits(t *testing.T) {
	cell := func(outcomes ...history.Outcome) *history.Cell { // each is answered 10 ms after the one before
		c := &history.Cell{Initial: 100, Count: &history.Count{},
			Findings: []history.Finding{{Verdict: history.Stock, Result: history.OK}}}
		for i, o := range outcomes {
			c.Ops = append(c.Ops, history.Op{Order: strconv.Itoa(i), Outcome: o, Quantity: 1, Done: history.Instant(10 * i)})
		}
		return c
	}
	lost := func(c *history.Cell) *history.Cell {
		c.Findings = append(c.Findings, history.Finding{Verdict: history.Exclusion, Result: history.Broken})
		return c
	}
	holds := func(order string, until history.Instant, c *history.Cell) *history.Cell {
		c.Faults = []history.Fault{{Order: order, At: 5, End: until}}
		return c
	}
	sold, busy := history.Sold, history.Busy
	probe := cell(sold, sold)
	probe.Ops[1].Quantity = 0
	broken := lost(cell(sold, sold))
	broken.Findings[0].Result = history.Broken
	asleep := lost(cell(sold, sold))
	asleep.NotTested = &history.NotTested{Reason: "asleep"}
	few := lost(cell(sold, sold))
	few.Initial = 1
	observed := lost(cell(sold, sold))
	observed.Count = nil
	for what, c := range map[string]struct {
		cell  *history.Cell
		units int64
	}{
		"one after the other":               {cell(sold, sold), 0},
		"both held the lock":                {lost(cell(sold, sold)), 1},
		"a third one sold":                  {lost(cell(sold, sold, sold)), 2},
		"one was refused":                   {lost(cell(sold, busy)), 0},
		"one sold while another was held":   {holds("2", 15, cell(busy, sold, sold)), 1},
		"one sold before another was held":  {holds("1", 25, cell(sold, sold)), 0},
		"the one that was held was refused": {holds("2", 15, cell(sold, sold, busy)), 0},
		"a fresh order sold":                {lost(probe), 0},
		"the stock is broken already":       {broken, 0},
		"it is not tested":                  {asleep, 0},
		"units were few already":            {few, 0},
		"the writes are observed":           {observed, 0},
	} {
		assert.Equal(t, c.units, (&Trial{shop: &shop.Shop{Options: shop.Options{Set: "put {n}"}}}).scarce(c.cell), what)
		assert.Zero(t, (&Trial{shop: &shop.Shop{}}).scarce(c.cell), what)
	}
}
