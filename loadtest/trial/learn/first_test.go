package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// The numbers that the first order read or counted may be the stock. Those with the product's number are, if there are
// any; a key that the order also sets or removes is none.
func TestStocksThatTheFirstOrderRead(t *testing.T) {
	f := &firstOrder{bench: forge.Begin().Bench}
	sent := func(reply string, args ...string) record.Observation {
		return record.Observation{Seen: wire.Seen{Args: args, Reply: reply}}
	}
	transaction := sent("[4 OK]", "EXEC")
	transaction.Queued = [][]string{{"DECR", "units:10000"}, {"SET", "last", "10000"}}
	lock := sent("OK", "SET", "lock:10000", "7", "NX")
	for _, one := range []struct {
		what     string
		commands []record.Observation
		want     []string
	}{
		{"a field", []record.Observation{lock, sent("(nil)", "HGET", "inventory", "10000")},
			[]string{"HSET inventory {product} {n}"}},
		{"a key", []record.Observation{sent(`"5"`, "get", "stock:10000")}, []string{"SET stock:{product} {n}"}},
		{"a counter", []record.Observation{sent("-1", "HINCRBY", "shelf", "10000", "-1")},
			[]string{"HSET shelf {product} {n}"}},
		{"in a transaction", []record.Observation{transaction}, []string{"SET units:{product} {n}"}},
		{"that of the product", []record.Observation{sent("(nil)", "GET", "limit"), sent("(nil)", "GET", "units:10000")},
			[]string{"SET units:{product} {n}"}},
		{"two", []record.Observation{sent("(nil)", "GET", "x"), sent("1", "GET", "y"), sent("1", "GET", "y")},
			[]string{"SET x {n}", "SET y {n}"}},
		{"the lock", []record.Observation{lock, sent(`"7"`, "GET", "lock:10000")}, nil},
		{"a text", []record.Observation{sent(`"open"`, "GET", "shop")}, nil},
		{"no key", []record.Observation{sent("PONG", "PING"), sent("", "GET")}, nil},
	} {
		assert.Equal(t, one.want, f.stocksRead(one.commands), one.what)
	}
}

// Writes from before an order, such as those of the plain orders before it, are not its own.
func TestWhoCarriedOutPlainOrder(t *testing.T) {
	for _, c := range []struct {
		own, other int // when the instances wrote
		want       firstOrder
	}{
		{20, 5, firstOrder{wrote: true}},
		{5, 20, firstOrder{other: true}},
		{50, 5, firstOrder{wrote: true, later: true}},
		{5, 5, firstOrder{}},
	} {
		f := forge.Begin()
		o := f.Order("plain-2", shop.AtA, history.Sold, 10, 40)
		got := firstOrder{bench: f.Bench, order: o}
		got.see([]record.Written{f.Wrote(c.own, shop.AtA, 9, 8, false), f.Wrote(c.other, shop.AtB, 9, 8, false)})
		c.want.bench, c.want.order = f.Bench, o
		assert.Equal(t, c.want, got)
	}
}

// A plain order that leaves a bench unfit for a cell is named with its answer.
func TestWhyBenchIsNotAsNew(t *testing.T) {
	f := forge.Begin()
	f.Pair.Shop.Order = shop.Request{Method: "POST", Path: "/buy"}
	require.ErrorContains(t, notAsNew(f.Bench), "an instance exited")
	o := f.Order("warm-0", shop.AtA, history.Unknown, 0, 10)
	o.Op.Status, o.Op.Detail = 503, "no worker is free"
	require.ErrorContains(t, notAsNew(f.Bench), "did not sell: POST /buy was answered 503 no worker is free")
	f.Order("warm-1", shop.AtB, history.Sold, 10, 20)
	require.ErrorContains(t, notAsNew(f.Bench), "sold, and left the lock")
}

// A sale that the counts do not show is found at the first order.
func TestFirstSaleThatIsNotCounted(t *testing.T) {
	for what, c := range map[string]struct {
		bend func(*forge.Drawer, *record.Bench)
		want string
	}{
		"counted":               {bend: func(d *forge.Drawer, b *record.Bench) { b.Pair.Shop.Sales = "cat " + d.Sales }},
		"counted without --set": {bend: func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Set = "" }},
		"nothing is counted":    {bend: func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Left = "" }},
		"the unit is never taken": {func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Left = "echo 100" },
			"0s later --left still prints 100"},
		"the sale is not recorded": {func(_ *forge.Drawer, b *record.Bench) { b.Pair.Shop.Sales = "echo 7" },
			"0s later --sales still prints 7"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			backendtest.Require(t)
			d := forge.NewDrawer(t)
			b := d.Counting(backendtest.StartRedis(t).URL)
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
