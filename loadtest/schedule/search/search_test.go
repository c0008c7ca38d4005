package search

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// The orders of the tests: without a lock, and with one.
const (
	unlocked = "get set"
	locked   = "nx write eval"
	longer   = "nx get set eval"
)

func two(sends string) *fake { return &fake{sends: []string{sends, sends}} }

// textOf returns the steps of a schedule, or of its beginning, in one word.
func textOf(steps []Option) string {
	var text strings.Builder
	for _, step := range steps {
		text.WriteString(step.String())
	}
	return text.String()
}

// playAll plays all schedules that are left, and returns those that are whole, and the levels of their paths.
func playAll(t *testing.T, s *Search, w World) (texts []string, paths []Level) {
	t.Helper()
	for one := s.Next(); one != nil; one = s.Next() {
		end, err := w.Play(one.Choose)
		require.NoError(t, err)
		require.NoError(t, s.Done(one, end))
		if end.Whole {
			texts, paths = append(texts, textOf(one.Steps())), append(paths, one.path.Level)
		}
	}
	assert.True(t, s.IsEmpty())
	return texts, paths
}

// A search plays each schedule once, those with few changes of turn first.
func TestSearchPlaysEachScheduleOnce(t *testing.T) {
	for _, c := range []struct {
		world  *fake
		played []int // with at most 0, 1, 2 … changes
		why    string
	}{
		{two(unlocked), []int{0, 2, 4, 6}, "two orders of two commands have six orders"},
		{two(locked), []int{0, 2, 2, 6}, "a try is refused after one command of the holder, or after two"},
		{two(longer), []int{0, 2, 2, 8}, "or after three"},
		{&fake{sends: []string{unlocked, "eval", "eval"}}, []int{0, 0, 6, 12}, "three orders"},
		{&fake{sends: []string{"x/y"}}, []int{2}, "two commands of one order, sent at once"},
		{&fake{sends: nil}, []int{1}, "nothing to do"},
	} {
		s := New(Policy{})
		texts, paths := playAll(t, s, c.world)
		assert.ElementsMatch(t, c.world.all(), texts, c.why)
		assert.Len(t, texts, s.Complete, c.why)
		assert.True(t, slices.IsSortedFunc(paths, func(a, b Level) int { return a.Changes - b.Changes }), c.why)
		for changes, played := range c.played {
			assert.Equal(t, played, s.Played(Level{Changes: changes}), "%s: %d changes", c.why, changes)
			assert.True(t, s.IsWhole(Level{Changes: changes}), c.why)
		}
	}
}

// One fault is injected at every place, after all schedules without a fault.
func TestFaultsFirst(t *testing.T) {
	for _, sends := range []string{unlocked, locked} {
		w := two(sends)
		w.crashes = true
		s := New(Policy{FaultsFirst: true})
		texts, paths := playAll(t, s, w)
		assert.ElementsMatch(t, w.all(), texts)
		assert.True(t, slices.IsSortedFunc(paths, func(a, b Level) int {
			return cmp.Or(a.Faults-b.Faults, a.Changes-b.Changes)
		}))
		assert.Equal(t, 6, s.Played(Level{0, 9}))
		assert.Equal(t, len(texts)-6, s.Played(Level{1, 9}))
		assert.Greater(t, len(texts), 12)
	}
}

// A level beyond the bound is not whole, and one within it is. A schedule ends with the changes that are forced.
func TestBoundOfASearch(t *testing.T) {
	s := New(Policy{Most: func(l Level) bool { return l.Changes <= 1 }})
	texts, _ := playAll(t, s, two(unlocked))
	assert.Equal(t, []string{"aabb", "bbaa", "abba", "baab"}, texts)
	assert.True(t, s.IsWhole(Level{0, 1}))
	assert.False(t, s.IsWhole(Level{0, 2}))
	assert.False(t, s.IsWhole(Level{1, 2}))
}

// The shortest schedule that breaks a verdict has the fewest changes, and then the fewest steps.
func TestShortestIsFound(t *testing.T) {
	s := New(Policy{})
	whole, err := s.All(&fake{sends: []string{"x " + unlocked, unlocked}}, nil)
	require.NoError(t, err)
	assert.True(t, whole)
	found := s.Found[history.Stock]
	assert.Equal(t, "aabba", textOf(found.Steps))
	assert.Equal(t, Level{0, 2}, found.Level)
	assert.Equal(t, 4, found.After, "baaab broke it before, and is as long")

	of := func(l Level, text string) Prefix {
		p := Prefix{Level: l}
		for _, c := range text {
			p.Steps = append(p.Steps, Option{ID: string(c)})
		}
		return p
	}
	inOrder := []Prefix{of(Level{0, 1}, "aab"), of(Level{0, 1}, "bba"), of(Level{0, 1}, "aaab"), of(Level{0, 2}, "aba"),
		of(Level{1, 0}, "a")}
	for i, p := range inOrder {
		for j, than := range inOrder {
			assert.Equal(t, i < j, p.IsShorter(than), "%v %v", p, than)
		}
	}
}

// A search stops when its user has seen enough, and plays nothing that cannot be wanted any more.
func TestSearchStops(t *testing.T) {
	s := New(Policy{})
	whole, err := s.All(two(unlocked), func() bool { return s.Total() == 2 })
	require.NoError(t, err)
	assert.False(t, whole)
	assert.Equal(t, 2, s.Complete)

	s = New(Policy{})
	s.Hopeless = func(p Prefix) bool {
		best, known := s.Found[history.Stock]
		return known && p.Changes >= best.Changes
	}
	whole, err = s.All(two(unlocked), nil)
	require.NoError(t, err)
	assert.True(t, whole)
	assert.Equal(t, 4, s.Total(), "abab and baba have more changes than abba")

	s = New(Policy{})
	s.Hopeless = func(p Prefix) bool { return s.Total() == 2 && p.Changes > 0 }
	whole, err = s.All(two(unlocked), nil)
	require.NoError(t, err)
	assert.True(t, whole)
	assert.Equal(t, 2, s.Total(), "ab was left when it could still be wanted")

	s = New(Policy{Hopeless: func(p Prefix) bool { return textOf(p.Steps) == "aa" }})
	texts, _ := playAll(t, s, two(unlocked))
	assert.Len(t, texts, 5)
	assert.Equal(t, 1, s.Redundant, "the first schedule is stopped as soon as it is hopeless")
}

// Of two orders of independent options, one is played.
func TestIndependentOptions(t *testing.T) {
	for _, c := range []struct {
		sends    []string
		complete int
	}{
		{[]string{"x/y"}, 1},
		{[]string{"x/y", "z"}, 4},    // z may come first, or last, or between x and y, or between y and x
		{[]string{unlocked, "z"}, 3}, // nothing is independent
	} {
		w := &fake{sends: c.sends}
		s := New(Policy{Independent: func(a, b Option) bool { return a.ID != b.ID && a.ID < "a z" && b.ID < "a z" }})
		texts, _ := playAll(t, s, w)
		assert.Len(t, texts, c.complete, c.sends)
		assert.Subset(t, w.all(), texts)
	}
}

// A schedule that goes another way than before ends the search with an error, or is lost with what would follow it.
func TestDivergence(t *testing.T) {
	w := two(unlocked)
	w.flaky = "ab"
	errDiverged := errors.New("another way")
	s := New(Policy{Divergence: func(taken []Option, step Option, options []Option) error {
		assert.Equal(t, "ab", textOf(taken))
		assert.Equal(t, "a set", step.ID)
		assert.Equal(t, "a get", options[0].ID)
		return errDiverged
	}})
	whole, err := s.All(w, nil)
	require.ErrorIs(t, err, errDiverged)
	assert.False(t, whole)

	w.reached = 0
	s = New(Policy{})
	texts, _ := playAll(t, s, w)
	assert.ElementsMatch(t, []string{"aabb", "bbaa", "abba", "baab", "baba"}, texts)
	assert.Equal(t, 1, s.Diverged)
	assert.True(t, s.IsWhole(Level{0, 1}))
	assert.False(t, s.IsWhole(Level{0, 2}))
}

// Schedules that diverge count where their paths were to lead.
func TestDivergenceWithFault(t *testing.T) {
	w := two(unlocked)
	w.flaky, w.crashes = "ab", true
	s := New(Policy{FaultsFirst: true})
	playAll(t, s, w)
	assert.Equal(t, 1, s.DivergedWith(0))
	assert.Positive(t, s.DivergedWith(1))
	assert.Equal(t, s.Diverged, s.DivergedWith(0)+s.DivergedWith(1))
}

// What is in play is not whole, and it may leave more.
func TestScheduleInPlay(t *testing.T) {
	s, w := New(Policy{}), two(unlocked)
	first := s.Next()
	assert.Nil(t, s.Next())
	assert.Zero(t, s.Left())
	assert.False(t, s.IsEmpty())
	assert.False(t, s.IsWhole(Level{}))
	_, _ = w.Play(first.Choose)
	assert.Zero(t, s.Left(), "it is not done yet")
	require.NoError(t, s.Done(first, End{Whole: true}))
	assert.Equal(t, 2, s.Left())

	second := s.Next()
	assert.False(t, s.IsWhole(Level{}))
	_, _ = w.Play(second.Choose)
	require.NoError(t, s.Done(second, End{Whole: true}))
	assert.True(t, s.IsWhole(Level{}))
	assert.False(t, s.IsWhole(Level{Changes: 1}))
}

// A schedule that is played again begins and continues as before.
func TestAgain(t *testing.T) {
	s, w := New(Policy{}), two(unlocked)
	var texts []string
	for one := s.Next(); one != nil; one = s.Next() {
		_, _ = w.Play(one.Choose) // in vain
		again := s.Again(one)
		end, _ := w.Play(again.Choose)
		assert.Equal(t, one.Steps(), again.Steps())
		require.NoError(t, s.Done(again, end))
		texts = append(texts, textOf(again.Steps()))
	}
	assert.ElementsMatch(t, w.all(), texts)
	assert.True(t, s.IsWhole(Level{Changes: 3}))
}

// What would follow a schedule that its world ends stays unknown.
func TestScheduleEndsEarly(t *testing.T) {
	s, w := New(Policy{}), two(unlocked)
	one := s.Next()
	_, _ = w.Play(func(options []Option) int {
		if len(one.Steps()) == 3 {
			return -1
		}
		return one.Choose(options)
	})
	require.NoError(t, s.Done(one, End{}))
	texts, _ := playAll(t, s, w)
	assert.Len(t, texts, 5, "all but aabb")
	assert.False(t, s.IsWhole(Level{}))
}

// What would follow a schedule that is given up stays unknown.
func TestGiveUp(t *testing.T) {
	s, w := New(Policy{}), two(unlocked)
	for range 2 {
		one := s.Next()
		_, _ = w.Play(one.Choose)
		require.NoError(t, s.Done(one, End{Whole: true}))
	}
	one := s.Next()
	_, _ = w.Play(one.Choose)
	assert.Equal(t, "abba", textOf(one.Steps()))
	s.GiveUp(one)
	texts, _ := playAll(t, s, w)
	assert.ElementsMatch(t, []string{"baab", "baba"}, texts)
	assert.True(t, s.IsWhole(Level{}))
	assert.False(t, s.IsWhole(Level{Changes: 1}), "ab has one change")
}

// The level of a schedule counts what was chosen elsewhere, too.
func TestLevels(t *testing.T) {
	one := &Schedule{}
	_, _ = (&fake{sends: []string{unlocked, unlocked}, crashes: true}).Play(func(options []Option) int {
		n := len(options) - 1 - len(one.Steps())%2 // crash-b, then a's
		one.Note(options[max(n, 0)])
		return max(n, 0)
	})
	assert.Equal(t, "crash-baa", textOf(one.Steps()))
	for steps, level := range []Level{{}, {1, 0}, {1, 1}, {1, 1}} {
		assert.Equal(t, level, one.LevelAt(steps))
	}
	assert.Equal(t, Level{1, 1}, one.Level())
}
