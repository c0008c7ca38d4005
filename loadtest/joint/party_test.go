package joint_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"stockapi/loadtest/history"
	"stockapi/loadtest/joint"
	"stockapi/loadtest/latch/latchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(url string, parties int) joint.Options {
	return joint.Options{
		URL: url, Name: "test", Parties: parties, Wait: 10 * time.Second, Say: func(string) {},
		Terms: joint.Terms{{Flag: "--requests", Value: "300"}, {Flag: "--rungs or --scenarios", Value: "v4"}},
	}
}

// gathered brings so many parties together. Each has a context of its own, which ends when another is gone.
func gathered(t *testing.T, url string, parties int) ([]*joint.Party, []context.Context) {
	t.Helper()
	all, contexts := make([]*joint.Party, parties), make([]context.Context, parties)
	together(t, parties, func(int) error {
		p, ctx, err := joint.Gather(t.Context(), options(url, parties))
		if err == nil {
			number := int(p.Name()[1] - '1')
			all[number], contexts[number] = p, ctx
		}
		return err
	})
	return all, contexts
}

// together does something for each party, at the same time.
func together(t *testing.T, parties int, do func(i int) error) {
	t.Helper()
	errs := make([]error, parties)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

func keysOn(t *testing.T, r *redis.Client) []string {
	t.Helper()
	keys, err := r.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	return keys
}

// A cell of three, from its shelf to one history, of which nothing stays on the Redis.
func TestACellOfThree(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		all, contexts := gathered(t, url, 3)
		runs, cells := make([]*history.Run, 3), make([]*history.Cell, 3)
		began := make([]time.Time, 3)
		together(t, 3, func(i int) (err error) {
			p, ctx := all[i], contexts[i]
			assert.Equal(t, i == 0, p.First())
			assert.Equal(t, all[0].Run(), p.Run())
			if runs[i], err = p.Introduce(ctx,
				&history.Run{ID: p.Run(), Seed: uint64(i), Load: history.Load{Requests: 300}}); err != nil {
				return err
			}
			share := forge(i+1, machine{}, i, 3, 5)
			if i == 0 {
				finish(share, 85)
			}
			cell := p.Cell(1, "")
			err = errors.Join(cell.Agree(ctx, share.Cell), cell.Begin(ctx))
			began[i], share.Cell.Start = time.Now(), time.Now()
			var merged error
			err = errors.Join(err, cell.Sold(ctx))
			cells[i], merged = cell.Merge(ctx, share.Cell)
			p.Close(ctx, err == nil && merged == nil)
			return errors.Join(err, merged)
		})
		for i := range all {
			assert.Equal(t, runs[0], runs[i], "all have the same run")
			assert.Equal(t, cells[0], cells[i], "and the same cell, to the last bit")
			assert.WithinDuration(t, began[0], began[i], time.Second)
		}
		assert.Len(t, runs[0].Parties, 3)
		assert.Equal(t, 900, runs[0].Whole().Requests)
		assert.Equal(t, history.Tally{Buyers: 15, Sold: 15}, cells[0].Tally())
		assert.Empty(t, keysOn(t, latchtest.Client(t, url)))
	})
}

func TestACellThatOneCannotRunNobodyRuns(t *testing.T) {
	all, contexts := gathered(t, latchtest.Embedded(t), 2)
	together(t, 2, func(i int) error {
		share := forge(i+1, machine{}, i, 2, 5)
		cell := all[i].Cell(1, []string{"", "needs two targets"}[i])
		share.Cell.NotRun = cell.NotRun()
		err := cell.Agree(contexts[i], share.Cell)
		assert.Equal(t, "needs two targets", share.Cell.NotRun)
		share = forge(1, machine{}, i, 2, 5)
		share.Cell.Instances[0].Clock = []string{"here", "there"}[i]
		err = errors.Join(err, all[i].Cell(2, "").Agree(contexts[i], share.Cell))
		assert.Equal(t, "needs one instance, first of all targets", share.Cell.NotRun)
		all[i].Close(contexts[i], true)
		return err
	})
}

func TestWhoWaitsInVainSaysForWhomAndLeavesNothing(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		o := options(url, 3)
		o.Wait = 100 * time.Millisecond
		var said []string
		o.Say = func(text string) { said = append(said, text) }
		_, _, err := joint.Gather(t.Context(), o)
		require.ErrorContains(t, err, "1 of 3 parties came to test within 100ms: ")
		require.ErrorContains(t, err, "--join-wait")
		assert.Contains(t, said, "1 of 3 parties have come to test…")
		assert.Empty(t, keysOn(t, latchtest.Client(t, url)))
	})
}

func TestWhoIsInterruptedWhileItWaitsTakesItsArrivalBack(t *testing.T) {
	url := latchtest.Embedded(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := options(url, 2)
	o.Say = func(string) { cancel() }
	_, _, err := joint.Gather(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, keysOn(t, latchtest.Client(t, url)))
}

func TestPartiesThatDisagreeAreToldOnWhat(t *testing.T) {
	url := latchtest.Embedded(t)
	ctx, cancel := context.WithCancel(t.Context())
	there := make(chan struct{}, 1000)
	o := options(url, 2)
	o.Say = func(string) { there <- struct{}{} }
	var first sync.WaitGroup
	first.Go(func() { _, _, _ = joint.Gather(ctx, o) })
	<-there
	for want, change := range map[string]func(*joint.Options){
		`--parties is 3 here and 2 with those who came first`:          func(o *joint.Options) { o.Parties = 3 },
		`--requests is "200" here and "300" with those who came first`: func(o *joint.Options) { o.Terms[0].Value = "200" },
		`disagree on --rungs or --scenarios: give all the same`: func(o *joint.Options) {
			o.Terms[1].Value = strings.Repeat("v4, ", 50)
		},
		`different versions of loadtest`: func(o *joint.Options) { o.Terms[1].Flag = "--locks" },
	} {
		other := options(url, 2)
		change(&other)
		_, _, err := joint.Gather(t.Context(), other)
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "\n")
	}
	cancel()
	first.Wait()
}

func TestOneTooManyIsToldSo(t *testing.T) {
	url := latchtest.Embedded(t)
	all, contexts := gathered(t, url, 2)
	_, _, err := joint.Gather(t.Context(), options(url, 2))
	require.ErrorContains(t, err, "test has its 2 parties already: choose another name for --join")
	together(t, 2, func(i int) error { all[i].Close(contexts[i], true); return nil })
}

func TestWhoLeavesEndsItForAll(t *testing.T) {
	latchtest.Each(t, func(t *testing.T, url string) {
		all, contexts := gathered(t, url, 3)
		all[1].Close(contexts[1], false)
		for _, i := range []int{0, 2} {
			err := all[i].Meet(contexts[i], "somewhere")
			require.ErrorContains(t, err, "party 2 (")
			require.ErrorContains(t, err, ") is gone: ")
			all[i].Close(contexts[i], false)
		}
		for _, key := range keysOn(t, latchtest.Client(t, url)) {
			assert.Contains(t, key, ":somewhere:", "only what they waited at, which expires")
		}
	})
}

func TestNobodyMeetsWhereThereIsNoRedis(t *testing.T) {
	_, _, err := joint.Gather(t.Context(), options("redis://127.0.0.1:1", 2))
	require.ErrorContains(t, err, "the Redis where the parties meet does not answer")
}

// A load generator that is alone goes the same way, and waits for nobody.
func TestAlone(t *testing.T) {
	var alone *joint.Cell
	share := forge(1, machine{}, 0, 1, 5)
	assert.True(t, alone.First())
	assert.Empty(t, alone.Prefix()+alone.NotRun())
	require.NoError(t, errors.Join(alone.Agree(t.Context(), share.Cell), alone.Begin(t.Context()),
		alone.Sold(t.Context())))
	cell, err := alone.Merge(t.Context(), share.Cell)
	require.NoError(t, err)
	assert.Same(t, share.Cell, cell)
}
