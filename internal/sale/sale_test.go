package sale

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// Most tests here wait, and compute little: one per processor would be too few. With the race detector they compute so
// long that short leases would expire with many at once.
func TestMain(m *testing.M) {
	backendtest.AtOnce(16, 8)
	backend.Silence()
	goleak.VerifyTestMain(m, goleak.Cleanup(backendtest.Share()))
}

const product = "10000"

// zooKeepers limits the ZooKeepers that run at once: each is a Java process, which computes as it starts.
var zooKeepers = make(chan struct{}, 4)

// newShop returns an instance's shop with 100 units, and its backends.
func newShop(t testing.TB, s *backendtest.Server) (*Shop, lock.Backends) {
	t.Helper()
	return newShopFor(t, s, lock.Rung{})
}

// newShopFor returns a shop with the other servers that the rung needs, too.
func newShopFor(t testing.TB, s *backendtest.Server, r lock.Rung) (*Shop, lock.Backends) {
	t.Helper()
	life, end := context.WithCancel(context.Background())
	m := NewMetrics("a")
	observer := trace.Observer{Names: trace.ScriptNames(), Count: m.Commands.Inc}
	client := backendtest.Client(t, s, observer.Redis("node"))
	b := lock.Backends{Redis: client, Redlock: []redis.UniversalClient{client}, RedlockRetry: 5 * time.Millisecond,
		RedlockTimeout: 500 * time.Millisecond, // a busy machine must not look like a lack of nodes
		SQL:            backendtest.OpenSQL(t, backendtest.SQLiteFile(t)),
		Commands:       lock.AskCommands(context.Background(), backendtest.Client(t, s), product),
		Process:        lock.Process{Life: life, Background: new(sync.WaitGroup), OnRenew: m.OnRenew}}
	if slices.Contains(r.Needs, lock.NeedZooKeeper) {
		backendtest.RequireZooKeeper(t)
		zooKeepers <- struct{}{}
		t.Cleanup(func() { <-zooKeepers })
		b.ZooKeeper = backendtest.StartZooKeeper(t).Session(t, backend.ZooKeeperOptions{
			Session: 10 * time.Second, Hooks: []backend.ZooKeeperHook{observer.ZooKeeper("node")}})
	}
	t.Cleanup(func() {
		end()
		b.Background.Wait()
	})
	if missing := b.Missing(r); missing != "" {
		t.Skip("needs " + missing)
	}
	shelf := stock.NewShelf(client)
	_, err := shelf.Open(context.Background(), product, 100, 0)
	require.NoError(t, err)
	return New("a", lock.Ladder(), shelf, b, m, slog.New(slog.DiscardHandler)), b
}

func order() Order {
	return Order{Product: product, Quantity: 1, Options: lock.Options{TTL: time.Minute}}
}

func left(t *testing.T, s *Shop) int64 {
	t.Helper()
	n, err := s.shelf.Left(context.Background(), product)
	require.NoError(t, err)
	return n
}

// quick are rungs that differ in how they lock. With -short they stand for all.
var quick = []string{"v0", "v0.5", "v4", "v5.5", "v9", "v15", "v17"}

// eachRung runs a test once for each rung, on a Redis of its own.
func eachRung(t *testing.T, test func(t *testing.T, r Status, s *Shop, b lock.Backends)) {
	t.Parallel()
	for _, r := range lock.Ladder() {
		t.Run(r.Number, func(t *testing.T) {
			if !slices.Contains(quick, r.Number) {
				backendtest.Long(t)
			}
			t.Parallel()
			s, b := newShopFor(t, backendtest.StartEmbedded(t), r)
			test(t, Status{Number: r.Number, Name: r.Name}, s, b)
		})
	}
}

func TestASaleOnEveryRungByNumberAndByName(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o := order()
		o.ID, o.Quantity, o.Trace = "mine", 3, true
		receipt, err := s.Decrease(context.Background(), r.Number, o)
		require.NoError(t, err)
		assert.Equal(t, "mine", receipt.Order)
		assert.Equal(t, r.Number, receipt.Rung)
		assert.EqualValues(t, 97, receipt.Left)
		assert.Equal(t, []int64{98, 99, 100}, receipt.Units)
		assertSends(t, s, r.Number, receipt.Trace)
		if slices.Contains([]string{"v0", "v16", "v17"}, r.Number) {
			assert.Nil(t, receipt.Lease, "no lock, no lease")
		} else {
			assert.NotEmpty(t, receipt.Lease.Token)
			assert.False(t, receipt.Lease.Lost)
			assert.True(t, receipt.Lease.AcquiredAt.Before(receipt.Lease.ReleasedAt))
		}
		receipt, err = s.Decrease(context.Background(), r.Name, order())
		require.NoError(t, err)
		assert.Equal(t, []int64{97}, receipt.Units)
		assert.NotEqual(t, "mine", receipt.Order, "an order without a name gets one")
		assert.EqualValues(t, 96, left(t, s))
		assert.Zero(t, testutil.ToFloat64(s.metrics.Held.WithLabelValues(r.Number)), "none is held any more")
	})
}

// assertSends compares the commands of an order with those that its rung declares, at which faults can be injected.
func assertSends(t *testing.T, s *Shop, rung string, events []trace.Event) {
	t.Helper()
	commands, err := s.Commands(strings.ToUpper(rung), false)
	require.NoError(t, err)
	assert.NotEmpty(t, events)
	for _, e := range events {
		assert.True(t, slices.ContainsFunc(commands, func(point string) bool {
			name, _, _ := strings.Cut(point, "/")
			return name == e.Cmd
		}), "%s sends %s, but declares %v", rung, e.Cmd, commands)
	}
	for _, step := range []string{"read", "write"} {
		faults, err := trace.ParseFaults("hold@before:" + step)
		require.NoError(t, err)
		assert.NoError(t, trace.Reached(faults, commands), rung)
	}
}

func TestSoldOutReleasesTheLock(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o := order()
		o.Quantity = 101
		receipt, err := s.Decrease(context.Background(), r.Number, o)
		require.ErrorIs(t, err, stock.ErrSoldOut)
		assert.Empty(t, receipt.Units)
		assert.EqualValues(t, 100, left(t, s))
		_, err = s.Decrease(context.Background(), r.Number, order())
		require.NoError(t, err, "the next one gets in")
	})
}

// After a "sold out" the timer of v5-as-printed runs on and writes the lock again. No other rung does that.
func TestOnlyAsPrintedComesBackFromTheDead(t *testing.T) {
	backendtest.Long(t)
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		o := order()
		o.Quantity, o.TTL = 101, time.Second
		_, err := s.Decrease(context.Background(), r.Number, o)
		require.ErrorIs(t, err, stock.ErrSoldOut)
		time.Sleep(o.TTL) // the timer is due at half of it
		if r.Number != "v5-as-printed" {
			_, err = s.Decrease(context.Background(), r.Number, order())
			assert.NoError(t, err)
			return
		}
		assert.Eventually(t, func() bool { // on a busy machine its timer is late now and then, and the key ends before
			_, err = s.Decrease(context.Background(), r.Number, order())
			return errors.Is(err, lock.ErrBusy)
		}, 10*time.Second, 10*time.Millisecond)
	})
}

// awaitHolder waits until an order is inside.
func awaitHolder(t *testing.T, s *Shop, rung string) {
	t.Helper()
	assert.Eventually(t, func() bool {
		return testutil.ToFloat64(s.metrics.Held.WithLabelValues(rung)) == 1
	}, 10*time.Second, time.Millisecond)
}

// breakLock breaks the lock once it is held.
func breakLock(t *testing.T, s *Shop, rung string, b lock.Backends) (done func()) {
	var breaking sync.WaitGroup
	breaking.Go(func() {
		awaitHolder(t, s, rung)
		n, err := b.Break(context.Background(), product)
		assert.NoError(t, err)
		assert.EqualValues(t, 1, n)
	})
	return breaking.Wait
}

// A lease found lost after the write is a sale all the same: an error would hide that the unit was sold.
func TestALeaseLostAfterTheWriteIsASale(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, id := range []string{"v3", "v4", "v5"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, b := newShop(t, backendtest.StartEmbedded(t))
			o := order()
			o.Work = time.Second
			defer breakLock(t, s, id, b)()
			receipt, err := s.Decrease(context.Background(), id, o)
			require.NoError(t, err)
			assert.Equal(t, []int64{100}, receipt.Units)
			assert.True(t, receipt.Lease.Lost)
		})
	}
}

func TestABusyLock(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	holder := order()
	holder.Work = time.Second
	var holding sync.WaitGroup
	holding.Go(func() {
		_, err := s.Decrease(context.Background(), "v4", holder)
		assert.NoError(t, err)
	})
	awaitHolder(t, s, "v4")

	_, err := s.Decrease(context.Background(), "v4", order())
	require.ErrorIs(t, err, lock.ErrBusy, "the article's rungs try once")
	patient, wait := order(), 10*time.Second
	patient.Wait, patient.Trace = &wait, true
	receipt, err := s.Decrease(context.Background(), "v4", patient)
	require.NoError(t, err, "a waiter acquires after the release")
	assert.Less(t, len(receipt.Trace), 8, "the vain tries are left out of the trace")
	assert.Positive(t, receipt.WaitedMS)
	holding.Wait()
}

// An order whose client has gone sells nothing, and leaves the lock free.
func TestAClientThatGoes(t *testing.T) {
	eachRung(t, func(t *testing.T, r Status, s *Shop, _ lock.Backends) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := order()
		o.Work = time.Minute
		answer := make(chan error, 1)
		go func() {
			_, err := s.Decrease(ctx, r.Number, o)
			answer <- err
		}()
		awaitHolder(t, s, r.Number)
		cancel()
		require.ErrorIs(t, <-answer, context.Canceled)
		assert.EqualValues(t, 100, left(t, s))
		_, err := s.Decrease(context.Background(), r.Number, order())
		require.NoError(t, err)
	})
}

// An order sets the permits of its semaphore: with two, the second order holds it beside the first.
func TestAnOrderBringsItsPermits(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	inside(t, s, "v11", s.Decrease)
	_, err := s.Decrease(context.Background(), "v11", order())
	require.ErrorIs(t, err, lock.ErrBusy)
	two := order()
	two.Permits = 2
	_, err = s.Decrease(context.Background(), "v11", two)
	require.NoError(t, err)
}

// A hundred buyers order at once from one instance with a hundred units. On v0.5 they wait, and none is refused.
func TestAMutexTurnsNobodyAway(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	var buyers sync.WaitGroup
	for range 100 {
		buyers.Go(func() {
			_, err := s.Decrease(context.Background(), "v0.5", order())
			assert.NoError(t, err)
		})
	}
	buyers.Wait()
	assert.Zero(t, left(t, s))
}

// A closing shop refuses waiting orders, and lets holders finish.
func TestClose(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, id := range []string{"v0.5", "v4"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, _ := newShop(t, backendtest.StartEmbedded(t))
			holder, waiter, wait := order(), order(), time.Minute
			holder.Work, waiter.Wait = time.Second, &wait
			var both sync.WaitGroup
			both.Go(func() {
				_, err := s.Decrease(context.Background(), id, holder)
				assert.NoError(t, err)
			})
			awaitHolder(t, s, id)
			both.Go(func() {
				_, err := s.Decrease(context.Background(), id, waiter)
				assert.ErrorIs(t, err, ErrDraining)
			})
			time.Sleep(20 * time.Millisecond)
			s.Close()
			both.Wait()
			_, err := s.Decrease(context.Background(), id, order())
			require.ErrorIs(t, err, ErrDraining)
			assert.EqualValues(t, 99, left(t, s))
		})
	}
}

// An order of v16 has no lock to wait for, and retries instead: it sells nothing once the shop has closed.
func TestCloseEndsRetries(t *testing.T) {
	t.Parallel()
	server := backendtest.StartEmbedded(t)
	s, b := newShop(t, server)
	rival, tries := backendtest.Client(t, server), 0
	b.Redis.AddHook(beforeEach(func(cmd redis.Cmder) {
		if cmd.Name() != "watch" {
			return
		}
		if tries++; tries == 3 {
			s.Close()
		}
		assert.NoError(t, rival.Incr(context.Background(), stock.Key(product)).Err())
	}))
	o, wait := order(), 10*time.Second
	o.Wait = &wait
	_, err := s.Decrease(context.Background(), "v16", o)
	require.ErrorIs(t, err, ErrDraining)
	assert.Equal(t, 3, tries)
	assert.EqualValues(t, 103, left(t, s))
}

// beforeEach is called before each command.
type beforeEach func(redis.Cmder)

func (beforeEach) DialHook(next redis.DialHook) redis.DialHook { return next }
func (beforeEach) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (do beforeEach) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		do(cmd)
		return next(ctx, cmd)
	}
}

// Work that waits for its own order's lock would wait until the limit of the order.
func TestCloseEndsNestedWaits(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"v0.5", "v9"} {
		s, _ := newShop(t, backendtest.StartEmbedded(t))
		o, wait := order(), time.Minute
		o.Wait, o.Nested = &wait, true
		sale := make(chan error, 1)
		go func() {
			_, err := s.Decrease(context.Background(), id, o)
			sale <- err
		}()
		awaitHolder(t, s, id)
		s.Close()
		select {
		case err := <-sale:
			require.ErrorIs(t, err, ErrDraining)
			assert.EqualValues(t, 100, left(t, s))
		case <-time.After(20 * time.Second):
			require.Fail(t, "it still waits")
		}
	}
}

// On a shelf that needs no lock an order skips the lock of its rung, so there must be none.
func TestARungHasNoLockIfItsShelfNeedsNone(t *testing.T) {
	found := 0
	for _, r := range lock.Ladder() {
		if !r.Shelf.LockFree() {
			continue
		}
		found++
		try, _ := r.Build(lock.Backends{})
		for range 2 {
			lease, err := try(t.Context(), r.Key(product), lock.Options{TTL: time.Minute})
			require.NoError(t, err, r.Number)
			assert.Empty(t, lease.Token, r.Number)
		}
	}
	assert.Equal(t, 2, found)
}

// An unused rung is not among the metrics, and one that only refused has held no lease.
func TestMetricsListRungsThatWereUsed(t *testing.T) {
	s, b := newShop(t, backendtest.StartEmbedded(t))
	listed := func() [3]int {
		return [3]int{testutil.CollectAndCount(s.metrics.Wait), testutil.CollectAndCount(s.metrics.Held),
			testutil.CollectAndCount(s.metrics.Hold)}
	}
	assert.Equal(t, [3]int{0, 0, 0}, listed())
	require.NoError(t, b.Redis.Set(t.Context(), "DistributedLock_"+product, "another's", 0).Err())
	_, err := s.Decrease(t.Context(), "v4", order())
	require.ErrorIs(t, err, lock.ErrBusy)
	assert.Equal(t, [3]int{1, 0, 0}, listed())
	for range 2 {
		_, err = s.Decrease(t.Context(), "v17", order())
		require.NoError(t, err)
	}
	assert.Equal(t, [3]int{2, 1, 1}, listed())
}

func TestRungsThatLackTheirBackend(t *testing.T) {
	s := New("a", lock.Ladder(), nil, lock.Backends{}, NewMetrics("a"), slog.New(slog.DiscardHandler))
	for _, r := range s.Rungs() {
		assert.Equal(t, len(r.Needs) == 0, r.Available, r.Number)
	}
	_, err := s.Decrease(context.Background(), "v6", order())
	require.ErrorIs(t, err, ErrUnavailable)
	for _, none := range []string{"v99", "\u017fetnx"} { // a letter that is s in another case
		receipt, err := s.Decrease(context.Background(), none, Order{ID: "o"})
		require.ErrorIs(t, err, ErrNoRung)
		assert.Equal(t, Receipt{Order: "o"}, receipt)
	}
	_, err = New("a", nil, nil, lock.Backends{}, NewMetrics("a"), slog.New(slog.DiscardHandler)).Commands("v4", false)
	require.ErrorIs(t, err, ErrNoRung, "the ladder has it, and this shop has not")

	sells, err := s.Commands("v10", false)
	require.NoError(t, err)
	assert.NotContains(t, sells, "eval:acquire-read")
	reads, err := s.Commands("v10", true)
	require.NoError(t, err)
	assert.NotContains(t, reads, "set/stock")
}

// Every script of a rung has a name for traces, also those of redsync.
func TestEveryScriptHasAName(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, id := range []string{"v4", "v5", "v5-as-printed", "v5.5", "v6", "v15"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, _ := newShop(t, backendtest.StartEmbedded(t))
			o := order()
			o.TTL, o.Work, o.Trace = 2*time.Second, 1500*time.Millisecond, true
			receipt, err := s.Decrease(context.Background(), id, o)
			require.NoError(t, err)
			var scripts []string
			for _, e := range receipt.Trace {
				assert.NotContains(t, []string{"eval", "evalsha"}, e.Cmd)
				scripts = append(scripts, e.Cmd)
			}
			assert.Contains(t, scripts, "eval:release")
			if id != "v4" && id != "v5-as-printed" {
				assert.Contains(t, scripts, "eval:renew")
			}
		})
	}
}

// A read sells nothing, shares the lock with other reads, and cannot become a writer. Rungs without a lock for readers
// have no reads.
func TestReading(t *testing.T) {
	s, _ := newShop(t, backendtest.StartEmbedded(t))
	inside(t, s, "v10", s.Read)
	receipt, err := s.Read(context.Background(), "readwrite", order())
	require.NoError(t, err)
	assert.EqualValues(t, 100, receipt.Left)
	assert.Zero(t, receipt.Quantity)
	assert.Empty(t, receipt.Units)
	assert.NotEmpty(t, receipt.Lease.Token)
	_, err = s.Decrease(context.Background(), "v10", order())
	require.ErrorIs(t, err, lock.ErrBusy)

	upgrade := order()
	upgrade.Nested = true
	_, err = s.Read(context.Background(), "v10", upgrade)
	require.ErrorIs(t, err, lock.ErrUpgrade)
	_, err = s.Read(context.Background(), "v4", order())
	require.ErrorIs(t, err, ErrNoRung)
	_, err = s.Read(context.Background(), "v99", order())
	require.ErrorIs(t, err, ErrNoRung)
	assert.EqualValues(t, 100, left(t, s))
}

// inside has an order hold the rung's lock, and returns when it does. It goes on until the test ends.
func inside(t *testing.T, s *Shop, rung string, do func(context.Context, string, Order) (Receipt, error)) {
	t.Helper()
	o := order()
	o.Work = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	var holding sync.WaitGroup
	holding.Go(func() { _, _ = do(ctx, rung, o) })
	t.Cleanup(holding.Wait)
	t.Cleanup(cancel)
	awaitHolder(t, s, rung)
}
