package stock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/batch"
)

// A buyer is an order of a batch.
type buyer struct {
	wants int64
	fails error // of its work
	left  int64
	err   error
	by    string // the order that sold to it
}

// sellTogether sells to buyers as one batch, in this order.
func sellTogether(s *Shelf, fence int64, buyers ...*buyer) {
	var all sync.WaitGroup
	for i, seat := range batch.New(context.Background(), len(buyers)) {
		b := buyers[i]
		all.Go(func() {
			b.left, b.err = s.sellCombined(context.Background(), Order{ID: fmt.Sprint(i), Product: "p",
				Quantity: b.wants, Fence: fence, Seat: seat, Work: func(context.Context) error { return b.fails }})
			b.by = seat.SoldBy()
		})
	}
	all.Wait()
}

// counted returns a shelf with ten units, and a list of the scripts that were sent to it.
func counted(t *testing.T) (*Shelf, *[]string) {
	t.Helper()
	sent := new([]string)
	server := backendtest.StartEmbedded(t)
	rdb := backendtest.Client(t, server)
	s := NewShelf(rdb)
	require.NoError(t, s.Put(context.Background(), "p", 10))
	_, err := s.Seller(Fenced)(context.Background(), order(1, nil)) // loads the scripts
	require.NoError(t, err)
	require.NoError(t, s.Put(context.Background(), "p", 10))
	rdb.AddHook(sentTo{sent})
	return s, sent
}

// sentTo lists the scripts that are sent by their digests.
type sentTo struct{ list *[]string }

func (s sentTo) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s sentTo) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		digests := map[string]string{fencedRead.Hash(): "read", fencedWrite.Hash(): "write"}
		if args := cmd.Args(); len(args) > 1 {
			digest, _ := args[1].(string)
			*s.list = append(*s.list, digests[digest])
		}
		return next(ctx, cmd)
	}
}

func (s sentTo) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A batch costs one read and one write. Its orders are sold as if in turn, by one of them.
func TestABatchIsSoldByOneReadAndOneWrite(t *testing.T) {
	s, sent := counted(t)
	buyers := []*buyer{{wants: 3}, {wants: 5}, {wants: 4}, {wants: 1}, {wants: 1}, {wants: 1}}
	sellTogether(s, 2, buyers...)
	assert.Equal(t, []string{"read", "write"}, *sent)
	for i, want := range []int64{7, 2, 0, 1, 0, 0} {
		if i == 2 || i == 5 {
			require.ErrorIs(t, buyers[i].err, ErrSoldOut, i)
			assert.ErrorContains(t, buyers[i].err, "0 left")
			continue
		}
		require.NoError(t, buyers[i].err, i)
		assert.Equal(t, want, buyers[i].left, i)
	}
	alone := 0
	for _, b := range buyers {
		if b.by == "" {
			alone++
		}
	}
	assert.Equal(t, 1, alone, "the others were sold by it")
	left, err := s.Left(context.Background(), "p")
	require.NoError(t, err)
	assert.Zero(t, left)
}

// The units of an order whose work fails go to one that had none. For the others it is sold out.
func TestUnitsThatAreGivenBackWithinABatch(t *testing.T) {
	s, sent := counted(t)
	gone := errors.New("gone")
	buyers := []*buyer{{wants: 6, fails: gone}, {wants: 4}, {wants: 5}, {wants: 2}}
	sellTogether(s, 2, buyers...)
	require.ErrorIs(t, buyers[0].err, gone)
	require.NoError(t, buyers[1].err)
	assert.EqualValues(t, 6, buyers[1].left)
	require.NoError(t, buyers[2].err)
	assert.EqualValues(t, 1, buyers[2].left)
	require.ErrorIs(t, buyers[3].err, ErrSoldOut)
	assert.Equal(t, []string{"read", "write", "write"}, *sent)
}

func TestABatchThatIsSoldOutWritesNothing(t *testing.T) {
	s, sent := counted(t)
	buyers := []*buyer{{wants: 11}, {wants: 12}}
	sellTogether(s, 2, buyers...)
	for _, b := range buyers {
		require.ErrorIs(t, b.err, ErrSoldOut)
		assert.ErrorContains(t, b.err, "10 left")
	}
	assert.Equal(t, []string{"read"}, *sent)
}

// A batch with an older token is refused as a whole.
func TestABatchWithAnOlderToken(t *testing.T) {
	s, _ := counted(t)
	sellTogether(s, 9, &buyer{wants: 1})
	buyers := []*buyer{{wants: 1}, {wants: 1}}
	sellTogether(s, 8, buyers...)
	for _, b := range buyers {
		require.ErrorIs(t, b.err, ErrStale)
	}
}

// After a write without a reply the outcome of its orders is unknown, also of those without units: whether it is sold
// out is unknown, too.
func TestAWriteOfABatchWithoutAnAnswer(t *testing.T) {
	s, _ := counted(t)
	s.rdb.AddHook(lostWrites{})
	buyers := []*buyer{{wants: 6}, {wants: 4}, {wants: 1}}
	sellTogether(s, 2, buyers...)
	require.ErrorIs(t, buyers[0].err, ErrUnknown)
	require.ErrorIs(t, buyers[1].err, ErrUnknown)
	require.Error(t, buyers[2].err)
	require.NotErrorIs(t, buyers[2].err, ErrUnknown)
	require.NotErrorIs(t, buyers[2].err, ErrSoldOut)
}

// lostWrites loses the answers to writes.
type lostWrites struct{ sentTo }

func (lostWrites) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && args[1] == fencedWrite.Hash() {
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		return err
	}
}

// No order is sold before all have come or left, and their work runs concurrently.
func TestABatchWaitsForItsOrders(t *testing.T) {
	t.Parallel()
	server := backendtest.StartVirtual
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, server)
		seats := batch.New(t.Context(), 3)
		var all sync.WaitGroup
		atWork := make(chan struct{})
		buy := func(i int) {
			all.Go(func() {
				_, err := s.sellCombined(t.Context(), Order{Product: "p", Quantity: 1, Fence: 1, Seat: seats[i],
					Work: func(context.Context) error {
						atWork <- struct{}{}
						return nil
					}})
				assert.NoError(t, err)
			})
			synctest.Wait()
		}
		buy(0)
		buy(2)
		seats[2].Leave() // it has come: this means nothing
		synctest.Wait()
		select {
		case <-atWork:
			require.Fail(t, "the second order has not come yet")
		default:
		}
		seats[1].Leave()
		<-atWork
		<-atWork
		all.Wait()
	})
}

// A client that goes away gets nothing, without effect on the others, even if its order sells for all.
func TestAClientOfABatchThatGoesAway(t *testing.T) {
	for _, gone := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf(t, backendtest.StartVirtual)
			seats := batch.New(context.Background(), 2)
			ctx, leave := context.WithCancel(context.Background())
			t.Cleanup(leave)
			contexts := []context.Context{context.Background(), context.Background()}
			contexts[gone] = ctx
			var errs [2]error
			var all sync.WaitGroup
			for i := range seats {
				work := func(ctx context.Context) error {
					if i == gone {
						leave()
						<-ctx.Done()
					}
					return nil
				}
				all.Go(func() {
					_, errs[i] = s.sellCombined(contexts[i], Order{Product: "p", Quantity: 1, Fence: 1, Seat: seats[i], Work: work})
				})
				synctest.Wait() // the first one has come
			}
			all.Wait()
			require.ErrorIs(t, errs[gone], context.Canceled)
			require.NoError(t, errs[1-gone])
			left, err := s.Left(context.Background(), "p")
			require.NoError(t, err)
			assert.EqualValues(t, 9, left)
		})
	}
}

// The order that came first sells for the others even if its client has gone by then.
func TestTheFirstOfABatchGoesAwayBeforeTheOthersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, backendtest.StartVirtual)
		seats := batch.New(context.Background(), 2)
		ctx, leave := context.WithCancel(context.Background())
		first := make(chan error, 1)
		go func() {
			_, err := s.sellCombined(ctx, Order{Product: "p", Quantity: 1, Fence: 1, Seat: seats[0], Work: noWork})
			first <- err
		}()
		synctest.Wait() // it has come
		leave()
		left, err := s.sellCombined(context.Background(),
			Order{Product: "p", Quantity: 1, Fence: 1, Seat: seats[1], Work: noWork})
		require.NoError(t, err)
		assert.EqualValues(t, 9, left)
		require.ErrorIs(t, <-first, context.Canceled)
	})
}

// A batch does not wait for an answer to its read when its lease has ended.
func TestABatchWhoseLeaseEndsAsItReads(t *testing.T) {
	s, _ := counted(t)
	lease, lose := context.WithCancel(context.Background())
	t.Cleanup(lose)
	s.rdb.AddHook(slowReads{lose: lose})
	_, err := s.sellCombined(lease, Order{Product: "p", Quantity: 1, Fence: 2, Seat: batch.New(lease, 1)[0], Work: noWork})
	require.ErrorIs(t, err, context.Canceled)
}

// slowReads answers to a read when its context has ended.
type slowReads struct {
	sentTo
	lose func()
}

func (r slowReads) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == fencedRead.Hash() {
			r.lose()
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			cmd.SetErr(ctx.Err())
			return ctx.Err()
		}
		return next(ctx, cmd)
	}
}

func noWork(context.Context) error { return nil }

// If a lease ends while others of the batch are at work, none of them is sold.
func TestALeaseThatEndsWhileABatchIsAtWork(t *testing.T) {
	s := newShelf(t, backendtest.StartEmbedded)
	lease, lose := context.WithCancel(context.Background())
	t.Cleanup(lose)
	seats := batch.New(lease, 2)
	var errs [2]error
	var all sync.WaitGroup
	quickDone := make(chan struct{})
	works := []func(context.Context) error{
		func(context.Context) error { close(quickDone); return nil },
		func(context.Context) error { <-quickDone; lose(); return nil },
	}
	for i := range seats {
		all.Go(func() {
			_, errs[i] = s.sellCombined(lease, Order{Product: "p", Quantity: 1, Fence: 1, Seat: seats[i], Work: works[i]})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.ErrorIs(t, err, context.Canceled)
	}
	left, err := s.Left(context.Background(), "p")
	require.NoError(t, err)
	assert.EqualValues(t, 10, left)
}
