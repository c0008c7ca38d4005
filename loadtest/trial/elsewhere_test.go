package trial

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A Drawer holds the stock in one file, and the sales in another; its shop takes a unit for each order.
type Drawer struct {
	t            *testing.T
	mu           sync.Mutex
	Stock, Sales string        // paths
	Answers      int           // status of a sale
	Back         time.Duration // after which a unit is put back; 0: never
	backs        sync.WaitGroup
}

func NewDrawer(t *testing.T) *Drawer {
	d := &Drawer{t: t, Answers: http.StatusOK}
	d.Stock, d.Sales = filepath.Join(t.TempDir(), "stock"), filepath.Join(t.TempDir(), "sales")
	t.Cleanup(d.backs.Wait)
	d.add(d.Stock, 40)
	d.add(d.Sales, 5)
	return d
}

func (d *Drawer) add(path string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, _ := os.ReadFile(path)
	had, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	assert.NoError(d.t, os.WriteFile(path, []byte(strconv.Itoa(had+n)), 0o600))
}

func (d *Drawer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d.add(d.Stock, -1)
	d.add(d.Sales, 1)
	if d.Back > 0 {
		d.backs.Go(func() {
			time.Sleep(d.Back)
			d.add(d.Stock, 1)
		})
	}
	w.WriteHeader(d.Answers)
}

// Counting returns a bench of a shop that sells from the drawer, with no lock in its Redis.
func (d *Drawer) Counting() *Bench {
	store, err := wire.NewStore(0, "redis", backendtest.StartRedis(d.t).URL)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = store.Redis.Close() })
	server := httptest.NewServer(d)
	d.t.Cleanup(server.Close)
	f := Begin()
	f.Pair.Context, f.Pair.Client, f.Pair.Gate = d.t.Context(), server.Client(), wire.NewGate(nil)
	f.Pair.Stores = []*wire.Store{store}
	f.Pair.Shop.Set, f.Pair.Shop.Left, f.Pair.Shop.Product = "echo {n} > "+d.Stock, "cat "+d.Stock, "10000"
	for _, e := range f.Pair.Ends {
		e.In = &cluster.Instance{URL: server.URL}
	}
	f.Pair.Ledger, err = wire.NewLedger(d.t.Context(), store.Redis, f.Pair.Shop.Shelf())
	require.NoError(d.t, err)
	d.t.Cleanup(f.Pair.Ledger.Close)
	f.Pair.Shop.Bed = Testbed(d.t)
	return f.Bench
}

// The count proves nothing if stock and sales disagree even without a fault.
func TestCountThatDoesNotBalance(t *testing.T) {
	for what, c := range map[string]struct {
		bend func(*Drawer, *Bench)
		want string
	}{
		"a unit for each sale":  {bend: func(*Drawer, *Bench) {}},
		"no way to put a stock": {bend: func(_ *Drawer, b *Bench) { b.Pair.Shop.Set = "" }},
		"nothing is deducted": {func(_ *Drawer, b *Bench) { b.Pair.Shop.Left = "echo 100" },
			"2 sold, but the stock went from 100 to 100, by count within 1.3s"},
		"a stock that falls by itself": {func(d *Drawer, b *Bench) { b.Pair.Shop.Left += "; echo 97 > " + d.Stock },
			"2 sold, but the stock went from 100 to 97, by count within 1.3s"},
		"a reservation ends": {func(d *Drawer, _ *Bench) { d.Back = time.Second },
			"2 sold, but the stock went from 100 to 100, by count within 1.3s"},
		"errors after the commit": {func(d *Drawer, _ *Bench) { d.Answers = http.StatusInternalServerError }, ""},
		"sales that are recorded": {func(d *Drawer, b *Bench) {
			d.Answers, b.Pair.Shop.Sales = http.StatusInternalServerError, "cat "+d.Sales
		}, ""},
		"sales that are refused": {func(d *Drawer, b *Bench) {
			d.Answers, b.Pair.Shop.Sales = http.StatusConflict, "cat "+d.Sales
		}, "2 recorded as sold, but 0 according to the answers, by count within 1.3s"},
		"sales that are not recorded": {func(_ *Drawer, b *Bench) { b.Pair.Shop.Sales = "echo 7" },
			"0 recorded as sold, but the stock went from 100 to 98, by count within 1.3s"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			d := NewDrawer(t)
			b := d.Counting()
			c.bend(d, b)
			trial := &Trial{shop: b.Pair.Shop, passport: b.Passport, idle: []*Bench{b}}
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

// A sale that the counts do not show is found at the first order.
func TestFirstSaleThatIsNotCounted(t *testing.T) {
	for what, c := range map[string]struct {
		bend func(*Drawer, *Bench)
		want string
	}{
		"counted":               {bend: func(d *Drawer, b *Bench) { b.Pair.Shop.Sales = "cat " + d.Sales }},
		"counted without --set": {bend: func(_ *Drawer, b *Bench) { b.Pair.Shop.Set = "" }},
		"nothing is counted":    {bend: func(_ *Drawer, b *Bench) { b.Pair.Shop.Left = "" }},
		"the unit is never taken": {func(_ *Drawer, b *Bench) { b.Pair.Shop.Left = "echo 100" },
			"0s later --left still prints 100"},
		"the sale is not recorded": {func(_ *Drawer, b *Bench) { b.Pair.Shop.Sales = "echo 7" },
			"0s later --sales still prints 7"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			d := NewDrawer(t)
			b := d.Counting()
			c.bend(d, b)
			require.NoError(t, b.Pair.Put(shop.OnShelf))
			b.Begin("", "")
			b.Cell.Initial = shop.OnShelf
			require.NoError(t, b.BeginCount())
			_, err := firstAt(b, shop.AtA)
			require.NoError(t, err)
			err = checkCounted(b, 0)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, shop.ErrShop)
			assert.ErrorContains(t, err, c.want)
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
	for _, c := range []struct {
		bend func(*Bench)
		want string
	}{
		{func(b *Bench) { b.Pair.Shop.Set = "echo no such table >&2; exit 3" },
			"--set: exit status 3; last output: no such table"},
		{func(b *Bench) { b.Pair.Shop.Set = "sleep 30" },
			"--set: it did not end within 5s: is it slow, or does a transaction of the shop still hold the row?"},
		{func(b *Bench) { b.Pair.Shop.Left = "echo" }, `--left: it printed "", not a number`},
		{func(b *Bench) { b.Pair.Shop.Sales = "exit 1" }, "--sales: exit status 1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			b := NewDrawer(t).Counting()
			c.bend(b)
			unbalanced, err := balance(b, 0)
			assert.ErrorContains(t, err, c.want)
			assert.Empty(t, unbalanced)
		})
	}
	trial := &shop.Shop{Bed: Testbed(t)}
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

// Testbed returns a testbed that runs shell commands.
func Testbed(t *testing.T) *rig.Testbed {
	t.Helper()
	bed, _, err := rig.OpenForeign(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bed.Close()) })
	return bed
}
