package latch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/latch"
	"stockapi/loadtest/latch/latchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func of(r redis.Scripter, parties int, party string) *latch.Latch {
	return &latch.Latch{Redis: r, Name: "{test}", Parties: parties, Party: party, Terms: "300 requests"}
}

// keysOn returns all keys of a server.
func keysOn(t *testing.T, r *redis.Client) []string {
	t.Helper()
	keys, err := r.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	return keys
}

func TestAllGoOnWhenTheLastHasComeAndNothingIsLeftBehind(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		const lead = 150 * time.Millisecond
		starts := make([]time.Time, 3)
		var all errgroup.Group
		for i := range starts {
			all.Go(func() error {
				l := of(r, len(starts), fmt.Sprint(i))
				l.Lead = lead / time.Duration(i+1) // the longest counts, whoever asks for it
				time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
				s, err := l.Await(t.Context(), nil)
				slices.Sort(s.There)
				assert.Equal(t, []string{"0", "1", "2"}, s.There)
				starts[i] = s.Start
				return errors.Join(err, l.Done(t.Context()))
			})
		}
		require.NoError(t, all.Wait())
		assert.Equal(t, starts[0], starts[1])
		assert.Equal(t, starts[0], starts[2])
		now, err := r.Time(t.Context()).Result()
		require.NoError(t, err)
		assert.WithinDuration(t, now, starts[0], lead)
		assert.Empty(t, keysOn(t, r))
	})
}

func TestWhoComesTwiceCountsOnce(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		a, b := of(r, 2, "a"), of(r, 2, "b")
		for range 3 {
			s, err := a.Arrive(t.Context())
			require.NoError(t, err)
			assert.False(t, s.Open)
			assert.Equal(t, []string{"a"}, s.There)
		}
		opened, err := b.Arrive(t.Context())
		require.NoError(t, err)
		assert.True(t, opened.Open)
		again, err := b.Arrive(t.Context())
		require.NoError(t, err)
		assert.Equal(t, opened.Start, again.Start, "the instant is fixed once")
	})
}

func TestOneTooManyIsRefused(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		for _, party := range []string{"a", "b"} {
			_, err := of(r, 2, party).Arrive(t.Context())
			require.NoError(t, err)
		}
		_, err := of(r, 2, "c").Arrive(t.Context())
		require.ErrorIs(t, err, latch.ErrFull)
		require.NoError(t, of(r, 2, "a").Leave(t.Context()))
		_, err = of(r, 2, "c").Arrive(t.Context())
		require.ErrorIs(t, err, latch.ErrFull, "they have begun: nobody takes the place of one who has left")
	})
}

func TestWhoDisagreesIsRefusedAndToldWhy(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		_, err := of(r, 2, "a").Arrive(t.Context())
		require.NoError(t, err)
		var other *latch.TermsError
		_, err = of(r, 3, "b").Arrive(t.Context())
		require.ErrorAs(t, err, &other)
		assert.Equal(t, latch.TermsError{Parties: 2, Terms: "300 requests"}, *other)
		b := of(r, 2, "b")
		b.Terms = "200 requests"
		_, err = b.Arrive(t.Context())
		require.ErrorAs(t, err, &other)
		require.NoError(t, of(r, 2, "a").Leave(t.Context()))
		_, err = b.Arrive(t.Context())
		require.NoError(t, err, "when nobody is there any more, who comes first says what it is about")
	})
}

func TestWhoGivesUpTakesItsArrivalBack(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("Ctrl-C")
		a := of(r, 2, "a")
		_, err := a.Await(ctx, func(latch.State) { cancel(why) })
		require.ErrorIs(t, err, why)
		require.NoError(t, a.Leave(t.Context()))
		assert.Empty(t, keysOn(t, r))
		s, err := of(r, 2, "b").Arrive(t.Context())
		require.NoError(t, err)
		assert.False(t, s.Open, "b does not start short of one")
		s, err = of(r, 2, "c").Arrive(t.Context())
		require.NoError(t, err)
		assert.True(t, s.Open)
	})
}

// outlive ends a party's lease, as if it had not come for all that time.
func outlive(t *testing.T, r *redis.Client, party string) {
	t.Helper()
	require.NoError(t, r.ZAdd(t.Context(), "{test}:there", redis.Z{Score: 1, Member: party}).Err())
}

func TestWhoDiesIsCountedNoLonger(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		_, err := of(r, 2, "a").Arrive(t.Context())
		require.NoError(t, err)
		outlive(t, r, "a")
		s, err := of(r, 2, "b").Arrive(t.Context())
		require.NoError(t, err)
		assert.False(t, s.Open, "the dead do not count")
		s, err = of(r, 2, "c").Arrive(t.Context())
		require.NoError(t, err)
		assert.True(t, s.Open)

		outlive(t, r, "b")
		s, err = of(r, 2, "c").Arrive(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "b", s.Gone, "those who have begun see who is gone")
		assert.Equal(t, []string{"c"}, s.There)
		_, err = of(r, 2, "b").Arrive(t.Context())
		require.ErrorIs(t, err, latch.ErrFull, "and one that was only stopped learns that it was given up")
	})
}

func TestWhoIsDoneIsNotMissing(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		a, b := of(r, 2, "a"), of(r, 2, "b")
		_, err := a.Arrive(t.Context())
		require.NoError(t, err)
		_, err = b.Arrive(t.Context())
		require.NoError(t, err)
		require.NoError(t, a.Done(t.Context()))
		s, err := b.Arrive(t.Context())
		require.NoError(t, err)
		assert.Len(t, s.There, 2)
		require.NoError(t, b.Done(t.Context()))
		assert.Empty(t, keysOn(t, r))
	})
}

// One who leaves because another has gone is not the one to look at.
func TestTheFirstToGoIsNamed(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		for _, party := range []string{"a", "b", "c"} {
			_, err := of(r, 3, party).Arrive(t.Context())
			require.NoError(t, err)
		}
		require.NoError(t, of(r, 3, "b").Leave(t.Context()))
		require.NoError(t, of(r, 3, "a").Leave(t.Context()))
		s, err := of(r, 3, "c").Arrive(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "b", s.Gone)
		require.NoError(t, of(r, 3, "c").Leave(t.Context()))
		assert.Empty(t, keysOn(t, r))
	})
}

func TestWhatNobodyRemovesExpires(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		r := latchtest.Client(t, url)
		_, err := of(r, 2, "a").Arrive(t.Context())
		require.NoError(t, err)
		for _, key := range keysOn(t, r) {
			assert.Positive(t, r.PTTL(t.Context(), key).Val(), key)
		}
	})
}

func TestARedisThatIsAwayIsAnError(t *testing.T) {
	r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer r.Close()
	_, err := of(r, 2, "a").Await(t.Context(), nil)
	require.ErrorContains(t, err, "refused")
	_, _, err = latch.ReadClock(t.Context(), r)
	require.ErrorContains(t, err, "refused")
}

// Several begin at one instant: how far apart they really do, on one machine, it prints.
func TestStartSkew(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		const parties, times = 5, 10
		clients := make([]*redis.Client, parties)
		for i := range clients {
			clients[i] = latchtest.Client(t, url)
		}
		var skews []time.Duration
		for n := range times {
			began := make([]time.Time, parties)
			var all errgroup.Group
			for i, r := range clients {
				all.Go(func() error {
					o, longest, err := latch.ReadClock(t.Context(), r)
					if err != nil {
						return err
					}
					l := of(r, parties, fmt.Sprint(i))
					l.Name, l.Lead = fmt.Sprintf("{skew-%d}", n), 50*time.Millisecond+2*longest
					s, err := l.Await(t.Context(), nil)
					time.Sleep(time.Until(o.Here(s.Start)))
					began[i] = time.Now()
					return err
				})
			}
			require.NoError(t, all.Wait())
			skews = append(skews, slices.MaxFunc(began, time.Time.Compare).Sub(slices.MinFunc(began, time.Time.Compare)))
		}
		slices.Sort(skews)
		t.Logf("%d parties begin within %s, half of the time; within %s, always", parties, skews[times/2], skews[times-1])
		assert.Less(t, skews[times/2], 100*time.Millisecond)
	})
}
