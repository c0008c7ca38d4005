package trial

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// The fresh orders of a cell show that its bench is fit for another one: the last at each instance has to have sold.
func TestFreshOrdersShowThatBenchIsFit(t *testing.T) {
	f := forge.Begin()
	assert.False(t, soldAfresh(f.Bench))
	f.Order("anna", shop.AtA, history.Sold, 0, 10)
	f.Order("fresh-b", shop.AtB, history.Sold, 20, 30).Fresh = true
	assert.False(t, soldAfresh(f.Bench), "Anna's order is none")
	again := f.Order("fresh-a", shop.AtA, history.Sold, 40, 50)
	again.Fresh = true
	assert.True(t, soldAfresh(f.Bench))
	f.Order("fresh-a-2", shop.AtA, history.Busy, 60, 70).Fresh = true
	assert.False(t, soldAfresh(f.Bench))
}

// learned returns a trial of the correct shop in Go that has learned its lock. It ends with the test.
func learned(ctx context.Context, t *testing.T) (*Trial, context.Context) {
	t.Helper()
	backendtest.Require(t)
	backendtest.Long(t)
	path, err := buildShop()
	require.NoError(t, err)
	trial, ctx, err := New(ctx, options(t, path))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, trial.Close()) })
	_, err = trial.Learn(ctx)
	require.NoError(t, err)
	return trial, ctx
}

// Each pair's Redis is prepared before its instances start, --set puts what an order needs beside the stock, and a
// restart puts back that pair's own data.
func TestEachRedisHasItsOwnData(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	path, err := buildShop()
	require.NoError(t, err)
	cli := need(t, "redis-cli", "redis-cli") + " -h {redis_host} -p {redis_port} "
	o := options(t, "sh", "-c", "test -n \"$("+cli+"GET session)\" && exec "+path)
	o.Shop.Setup = cli + "SET session {redis_port}"
	o.Shop.Set = cli + "DEL ProductStock_{product}; " + cli + "SET seats {n}; " + cli + "SET brief 1 EX 60"
	trial, ctx, err := New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, trial.Close()) })
	for range 2 {
		b, err := record.Open(ctx, trial.shop, &sale.Passport{})
		require.NoError(t, err)
		rdb := b.Pair.Rig.Stores[0].Redis
		_, port, _ := strings.Cut(b.Pair.Rig.Stores[0].Host, ":")
		value := func(key string) string { return rdb.Get(ctx, key).Val() }
		require.NoError(t, b.Pair.Put(7))
		left, err := b.Pair.UnitsLeft()
		require.NoError(t, err)
		assert.EqualValues(t, 7, left, "the stock is put last")
		assert.Equal(t, "7", value("seats"))
		for _, key := range []string{"session", "brief", "seats", "order:1"} {
			require.NoError(t, rdb.Set(ctx, key, "of an order", 0).Err())
		}
		ago := b.AtFirst[wire.Key{Name: "brief"}] // --set has put it again since
		ago.At, ago.Ends = ago.At.Add(-time.Hour), ago.Ends.Add(-time.Hour)
		b.AtFirst[wire.Key{Name: "brief"}] = ago
		require.NoError(t, restart(b))
		assert.Equal(t, port+" 100 ", value("session")+" "+value("seats")+" "+value("order:1"))
		assert.Positive(t, rdb.PTTL(ctx, "brief").Val())
		b.Pair.Close()
	}
}

// A shop that exits in a cell without being killed has a defect. The next cell has a new bench.
func TestShopThatDiesEndsItsCell(t *testing.T) {
	t.Parallel()
	trial, ctx := learned(t.Context(), t)
	sell := func(b *record.Bench) string {
		<-b.Send("anna", shop.AtA).Done()
		return ""
	}
	dead := func(which ...int) fault {
		return fault{name: "reply-lost 2", play: func(b *record.Bench) string {
			for _, at := range which {
				assert.NoError(t, b.Pair.Rig.Kill(b.Pair.Rig.Ends[at])) // not recorded as a fault
			}
			return sell(b)
		}}
	}
	for _, which := range [][]int{{shop.AtB}, {shop.AtA, shop.AtB}} {
		c, err := trial.one(ctx, dead(which...))
		require.NoError(t, err)
		require.NotNil(t, c.Defect)
		assert.Equal(t, "the shop crashes on its own", c.Defect.Cause)
		assert.Contains(t, c.Defect.Shown, "exited, without any output")
		assert.Nil(t, c.NotTested)
		assert.Empty(t, trial.idle)
	}
	c, err := trial.one(ctx, fault{name: "reply-lost 2", play: sell})
	require.NoError(t, err)
	assert.Nil(t, c.NotTested)
	assert.Nil(t, c.Defect)
	assert.Empty(t, broken(c))
	assert.Len(t, trial.idle, 1)
}

// A cell that cannot be played has the reason; the others are played.
func TestCellThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	trial, ctx := learned(t.Context(), t)
	trial.shop.Argv, trial.Only = []string{"no-such-shop"}, []string{"crash 2", "check-delete-gap"}
	cells, err := trial.Run(ctx, func(*history.Cell) {})
	require.NoError(t, err)
	require.Len(t, cells, 2)
	assert.Contains(t, cells[0].WhyNot(), `it could not be played: cannot start the shop: exec: "no-such-shop"`)
	assert.True(t, cells[0].IsUnmeasured())
	assert.NotEmpty(t, cells[1].WhyNot())
	assert.False(t, cells[1].IsUnmeasured(), "the shop does not allow it")
}

// If the processes of a shop cannot be found, stops and kills prove nothing. This shop hides from the mark, and its
// parent exits.
func TestShopThatOutlivesItsProcessIsNotTested(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid of util-linux")
	}
	path, err := buildShop()
	require.NoError(t, err)
	pids := filepath.Join(t.TempDir(), "pids")
	t.Cleanup(func() {
		text, err := os.ReadFile(pids)
		require.NoError(t, err)
		for pid := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			left, err := os.FindProcess(n)
			require.NoError(t, err)
			_ = left.Kill()
		}
	})
	trial, ctx, err := New(t.Context(), options(t, "sh", "-c",
		`(setsid env -u LOADTEST_SHOP "$0" -renew & echo $! >>"$1"); exec sleep 600`, path, pids))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, trial.Close()) })
	_, err = trial.Learn(ctx)
	require.NoError(t, err)
	trial.Only = []string{"pause", "crash 1"}
	cells, err := trial.Run(ctx, func(*history.Cell) {})
	require.NoError(t, err)
	require.Len(t, cells, 2)
	assert.Equal(t, "the shop kept running while it was stopped: start it in the foreground", cells[0].WhyNot())
	assert.Equal(t, "the shop outlived the process that was started; start it in the foreground", cells[1].WhyNot())
}

// An interrupted trial waits for no order, and sends none.
func TestInterruptedCellEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	trial, ctx := learned(ctx, t)
	b, err := trial.idleBench(ctx)
	require.NoError(t, err)
	defer b.Pair.Close()
	held := b.Pair.Rig.SetTrap(b.ReplyOf(shop.AtA, trial.passport.BeforeWrite(), time.Now()))
	_, err = trial.play(b, fault{name: "slow-work", play: func(b *record.Bench) string {
		anna, why := b.Anna(held)
		cancel()
		<-anna.Done()
		return why
	}})
	require.ErrorIs(t, err, context.Canceled)
	for _, o := range b.Orders {
		assert.Equal(t, history.Buy, o.Op.Phase, o.Name)
	}
	_, err = trial.Run(ctx, func(c *history.Cell) { assert.NotEmpty(t, c.WhyNot(), "the cell was played") })
	assert.ErrorIs(t, err, context.Canceled)
}

// Cells are returned in order, however many are played at a time, and benches are reused.
func TestCellsSideBySide(t *testing.T) {
	t.Parallel()
	trial, ctx := learned(t.Context(), t)
	trial.AtOnce, trial.Only = 3, []string{"crash 2", "one-instance", "hang-up", "check-delete-gap", "two-instances"}
	finished := map[string]bool{}
	cells, err := trial.Run(ctx, func(c *history.Cell) { finished[c.Scenario] = true })
	require.NoError(t, err)
	var names []string
	for _, c := range cells {
		names = append(names, c.Scenario)
		assert.Nil(t, c.Defect, c.Scenario)
	}
	assert.Equal(t, "crash 2, one-instance, hang-up 1, hang-up 2, check-delete-gap, two-instances",
		strings.Join(names, ", "))
	assert.Len(t, finished, len(names))
	assert.LessOrEqual(t, len(trial.idle), 3)
}

// A write in flight arrives after the lease has expired and another order has sold its unit. An acquire in flight when
// its client is cut off takes the lock.
func TestLateWriteArrives(t *testing.T) {
	t.Parallel()
	trial, ctx := learned(t.Context(), t)
	trial.Only = []string{"late", "late-acquire"}
	cells, err := trial.Run(ctx, func(*history.Cell) {})
	require.NoError(t, err)
	assert.Nil(t, cells[1].NotTested)
	assert.Nil(t, cells[1].Defect)
	assert.Equal(t, "SE", broken(cells[0]))
	assert.NotEmpty(t, cells[0].Design)
	assert.Nil(t, cells[0].Defect)
}

// The held release is one after the write of the stock, or after the acquire if writes are not observed.
func TestReleaseComesAfterTheWork(t *testing.T) {
	f := forge.Begin()
	command := func(c record.Observation) *wire.Command { return &wire.Command{Seen: c.Seen} }
	matches := func(commands ...record.Observation) (all []bool) {
		is := afterWrite(f.Bench, hasShape(f.Bench, forge.Shapes("del lock")))
		for _, c := range commands {
			all = append(all, is(command(c)))
		}
		return all
	}
	assert.Equal(t, []bool{false, false, false, true}, matches(f.Acquire(10), f.Del(11), f.Write(12), f.Del(13)))
	f.Passport.Elsewhere = true
	assert.Equal(t, []bool{false, false, true}, matches(f.Del(9), f.Acquire(10), f.Del(11)))
}
