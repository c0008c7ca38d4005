package trial

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A collector is a world that keeps the lines of its schedules.
type collector struct {
	*world
	lines []string
}

func (c *collector) Play(choose func([]search.Option) int) (search.End, error) {
	end, err := c.world.Play(choose)
	c.lines = append(c.lines, lineOf(c.words))
	return end, err
}

// worldOf returns a world of a planted shop whose lock was learned.
func worldOf(t *testing.T, of planted) *world {
	t.Helper()
	trial, ctx, err := New(t.Context(), options(t, of.command(t)...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, trial.Close()) })
	_, err = trial.Learn(ctx)
	require.NoError(t, err)
	b, err := trial.idleBench(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { trial.giveBack(b) })
	return &world{trial: trial, bench: b, units: 2, atOnce: true, states: map[string]bool{},
		asks: func(string) bool { return false }}
}

// All orders of the commands of a real shop are those that its code has: without a lock six, of which two, four and six
// have one, two and three changes of turn; with a lock those in which the second order is refused once, or never.
func TestOrdersOfARealShop(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	locked := []string{"aaaabbbb", "bbbbaaaa", "abaaabbbb", "aabaabbbb", "aaababbbb", "babbbaaaa", "bbabbaaaa",
		"bbbabaaaa"}
	for kind, want := range map[string][]string{
		"no-lock": {"aabb", "bbaa", "abba", "baab", "abab", "baba"}, "asks-again-at-once": locked,
	} {
		w := &collector{world: worldOf(t, planted{file: inPython, kind: kind})}
		s := search.New(search.Policy{})
		whole, err := s.All(w, nil)
		require.NoError(t, err)
		assert.True(t, whole, kind)
		assert.ElementsMatch(t, want, w.lines, kind)
		assert.Empty(t, w.why)
		assert.Zero(t, s.Diverged)
		for changes := range 4 {
			n := min(2*changes, 6)
			if kind != "no-lock" {
				n = []int{0, 2, 2, 8}[changes]
			}
			assert.Equal(t, n, s.Played(search.Level{Changes: changes}), "%s, %d changes", kind, changes)
		}
	}
}

// An order that waits by commands of its own cannot have every turn: once it has repeated one, another order goes on. A
// search tells in how many schedules that was so.
func TestOrderThatRepeatsACommandGivesWay(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	w := worldOf(t, planted{file: inPython, kind: "line"})
	for first, gaveWay := range map[int]bool{1: true, 100: false} {
		steps := 0
		end, err := w.Play(func(options []search.Option) int {
			next := shop.AtB // after Anna's first steps he has every turn that is offered
			if steps++; steps <= first {
				next = shop.AtA
			}
			return max(0, slices.IndexFunc(options, func(o search.Option) bool { return o.Who == next }))
		})
		require.NoError(t, err)
		assert.True(t, end.Whole, w.words)
		assert.Empty(t, w.why)
		assert.Equal(t, gaveWay, w.gaveWay, w.words)
	}
}

// Time passes when no order can go on: the lease of a lock that an order has left, and for which another one waits.
func TestLeasePassesWhenNoOrderCanGoOn(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	w := worldOf(t, planted{file: inPython, kind: "right"})
	w.kinds = []schedule.Kind{schedule.LoseReply}
	end, err := w.Play(func(options []search.Option) int {
		return max(0, slices.IndexFunc(options, search.Option.IsFault)) // of Anna's first command
	})
	require.NoError(t, err)
	assert.True(t, end.Whole)
	assert.Empty(t, w.why)
	assert.Equal(t, "lose-reply-a.bbb.expiry.bbbb", lineOf(w.words))
	assert.True(t, w.early)
}

// A schedule whose step is not there, since the shop goes another way, is lost, and its level is not whole.
func TestStepThatIsNotThere(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	w := worldOf(t, planted{file: inPython, kind: "no-lock"})
	s := search.New(search.Policy{})
	one := s.Next()
	end, err := w.Play(func(options []search.Option) int {
		for i := range options {
			if len(w.words) == 1 {
				options[i].ID += ", as it was before"
			}
		}
		return one.Choose(options)
	})
	require.NoError(t, err)
	require.NoError(t, s.Done(one, end))
	for one = s.Next(); one != nil; one = s.Next() {
		end, err = w.Play(one.Choose)
		require.NoError(t, err)
		require.NoError(t, s.Done(one, end))
	}
	assert.NotZero(t, s.Diverged)
	assert.False(t, s.IsWhole(search.Level{Changes: 3}))
}

// Whether the next try of an order that waits has come already is a matter of time: it decides nothing. Faults hit the
// order there, and its tries once they have a turn.
func TestFaultsOfAWaiter(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	w := worldOf(t, planted{file: inPython, kind: "right"})
	w.kinds, _ = KindsOf(nil)
	isBerts := func(o search.Option) bool { return o.Who == shop.AtB && o.Kind != schedule.Expiry }
	faultsNow := func() (ids []string) {
		for _, o := range w.faultsNow() {
			if isBerts(o) {
				ids = append(ids, o.Kind.Verb()+" at "+strings.Fields(o.ID)[3])
			}
		}
		return ids
	}
	line := []int{shop.AtA, shop.AtB, shop.AtA, shop.AtA, shop.AtA}
	_, err := w.Play(func(options []search.Option) int {
		switch len(w.steps.Steps()) {
		case 2: // he waits
			assert.Equal(t, []string{"give-up at waits", "crash at waits"}, faultsNow())
			w.awaitCommand(shop.AtB, mostPoll)
			assert.Len(t, w.line.player.HeldOf(shop.AtB), 1)
			assert.Equal(t, []string{"give-up at waits", "crash at waits"}, faultsNow())
		case 5: // the lock is free
			assert.Contains(t, faultsNow(), "lose-reply at set")
			return -1
		}
		who := line[len(w.steps.Steps())]
		return slices.IndexFunc(options, func(o search.Option) bool { return o.Kind == schedule.Grant && o.Who == who })
	})
	require.NoError(t, err)
	assert.Empty(t, w.why)
}

// An order whose try steps back has no turn before another one has changed the lock: it would have turns for ever.
func TestStepBackIsNoChange(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	w := worldOf(t, planted{file: inPython, kind: "steps-back"})
	line := []int{shop.AtA, shop.AtB, shop.AtB} // he counts, and steps back
	_, err := w.Play(func(options []search.Option) int {
		has := func(who int) int {
			return slices.IndexFunc(options, func(o search.Option) bool { return o.Who == who })
		}
		if n := len(w.steps.Steps()); n < len(line) {
			return has(line[n])
		}
		assert.NotEqual(t, -1, has(shop.AtA))
		assert.Equal(t, -1, has(shop.AtB))
		return -1
	})
	require.NoError(t, err)
	assert.Equal(t, "abb", lineOf(w.words))
}

// forgedWorld returns a world whose schedule has a defect, at its second word. It let Redis expire the lock, or not.
func forgedWorld(early bool) *world {
	w := &world{words: []string{"a", "b", "a"}, over: []history.Instant{1, 2, 3}, upTo: []int{1, 2, 3}, early: early,
		units: 2, bench: &record.Bench{}, cell: &history.Cell{Defect: &history.Defect{Cause: "no lock"},
			Findings: []history.Finding{{Verdict: history.Stock, Result: history.Broken,
				Evidence: []history.Evidence{{At: []history.Instant{1, 2}}}}}}}
	for who := range 3 {
		w.steps.Note(option(schedule.Grant, who%2, 0, ""))
	}
	return w
}

// What breaks when Redis has expired the lock is in doubt, until it breaks without that. It is played again three times
// at most.
func TestFindIsConfirmed(t *testing.T) {
	h := &hunt{}
	for range mostTries {
		f := h.doubtful(forgedWorld(true))
		require.NotNil(t, f)
		assert.False(t, f.confirmed)
	}
	assert.Nil(t, h.doubtful(forgedWorld(true)), "it was played again often enough")
	assert.False(t, h.found[0].confirmed)
	h.found[0].tried = 0
	assert.Nil(t, h.doubtful(forgedWorld(false)))
	require.Len(t, h.found, 1)
	assert.True(t, h.found[0].confirmed)
	assert.Equal(t, "ab", h.found[0].shortest.evidence, "what follows the evidence is cut")
	assert.Equal(t, "aba", h.found[0].shortest.whole)
	assert.Nil(t, h.doubtful(&world{cell: &history.Cell{}}), "nothing broke")
}

// A search ends with a word if the shop no longer takes orders as it did.
func TestLimitedShop(t *testing.T) {
	h, w := &hunt{}, forgedWorld(false)
	require.NoError(t, h.isLimited(w))
	h.unfit, h.played = 7, 8
	require.ErrorContains(t, h.isLimited(w), "does the shop sell only once to a customer?")
	h.played = 100
	require.NoError(t, h.isLimited(w))
	w.bench.Orders = []*shop.Order{{InFlight: &rig.InFlight{Op: history.Op{Status: 429}}}}
	require.ErrorContains(t, h.isLimited(w), "answered 429")
}

// Of all schedules with a defect the shortest one is told that breaks a verdict, whichever is played first: benches
// play several at once.
func TestShortestScheduleIsTold(t *testing.T) {
	h := &hunt{}
	for _, of := range []struct {
		line  string
		units int64
		early bool
		ok    bool // no verdict is broken, as the defect has done no harm
		told  string
	}{
		{"aab", 2, false, true, "aab"},
		{"bab", 2, false, false, "ba"},
		{"aab", 2, false, true, "ba"},
		{"aba", 1, false, false, "ab of the last unit"},
		{"aba", 2, false, false, "ab"},
		{"aab", 2, true, false, "ab"}, // in doubt
		{"aab", 1, false, false, "aa of the last unit"},
		{"abb", 2, false, false, "aa of the last unit"},
	} {
		w := forgedWorld(of.early)
		if of.ok {
			w.cell.Findings[0].Result = history.OK
		}
		w.units, w.words, w.steps = of.units, strings.Split(of.line, ""), search.Schedule{}
		for _, word := range w.words {
			w.steps.Note(option(schedule.Grant, int(word[0]-'a'), 0, ""))
		}
		f := h.doubtful(w)
		assert.Equal(t, of.early, f != nil, of)
		s := h.found[0].shortest
		assert.Equal(t, of.told, nameOfSchedule(s.evidence, s.units), of)
	}
}

// A schedule is cut to the evidence of what its defect explains.
func TestReasonOfDefect(t *testing.T) {
	c := &history.Cell{Findings: []history.Finding{
		{Verdict: history.Exclusion, Result: history.Broken, Because: "both held it"},
		{Verdict: history.OwnRelease, Result: history.Broken, Because: "a removed it"}}}
	assert.Equal(t, history.Exclusion, reasonOf(c).Verdict)
	c.Defect = &history.Defect{Shown: "a removed it"}
	assert.Equal(t, history.OwnRelease, reasonOf(c).Verdict)
	c.Defect.Shown = "a released it"
	assert.Equal(t, history.Exclusion, reasonOf(c).Verdict)
}

// Liveness is asked once of each end of a schedule that counts, and whenever that is to be confirmed.
func TestEndIsAskedOnce(t *testing.T) {
	h := &hunt{ends: map[string]bool{}}
	asks := h.asksOf(false)
	assert.Equal(t, []bool{true, false, true}, []bool{asks("free"), asks("free"), asks("held")})
	assert.True(t, h.asksOf(true)("free"))
	w := &world{why: "it does not count", asks: func(string) bool {
		assert.Fail(t, "the end would not be asked again")
		return true
	}}
	assert.False(t, w.isAsked())
}

// What a schedule has left tells its end apart from others: the kinds and sizes of the keys that it has made, changed
// or removed. Their names and values differ each time.
func TestLeftovers(t *testing.T) {
	state := func(kind string, ends time.Time, parts ...string) wire.KeyState {
		s := wire.KeyState{Kind: kind, Ends: ends, Parts: map[string]string{}}
		for _, part := range parts {
			s.Parts[part] = "value of " + part
		}
		return s
	}
	line, later := wire.Key{Name: "line"}, time.Unix(1000, 0)
	before := map[wire.Key]wire.KeyState{line: state("list", time.Time{}, "0")}
	with := func(key string, s wire.KeyState) map[wire.Key]wire.KeyState {
		now := maps.Clone(before)
		now[wire.Key{Name: key}] = s
		return now
	}
	seen := map[string]string{}
	for what, now := range map[string]map[wire.Key]wire.KeyState{
		"nothing":             before,
		"no line":             nil,
		"a longer line":       with("line", state("list", time.Time{}, "0", "1")),
		"a key":               with("session:1", state("string", time.Time{}, "")),
		"one with a TTL":      with("session:1", state("string", later, "")),
		"one of another sort": with("session:1", state("hash", time.Time{}, "customer")),
	} {
		left := leftovers(before, now)
		assert.Empty(t, seen[left], what)
		seen[left] = what
	}
	assert.Equal(t, leftovers(before, with("session:1", state("hash", later, "Anna"))),
		leftovers(before, with("session:2", state("hash", later.Add(time.Second), "Bert"))))
	assert.Equal(t, leftovers(before, before), leftovers(before, with("line", state("list", time.Time{}, "7"))))
}

func TestLineOfWords(t *testing.T) {
	assert.Equal(t, "ab2a.late-a.b<.expiry.ab", lineOf([]string{"a", "b2", "a", "late-a", "b<", "expiry", "a", "b"}))
	assert.Empty(t, lineOf(nil))
}

func TestKindsOfFaults(t *testing.T) {
	kinds, err := KindsOf([]string{"late", "expiry"})
	require.NoError(t, err)
	assert.Equal(t, []schedule.Kind{schedule.Late, schedule.Expiry, schedule.Work}, kinds)
	kinds, err = KindsOf([]string{NoFault})
	require.NoError(t, err)
	assert.Empty(t, kinds)
	kinds, err = KindsOf(nil)
	require.NoError(t, err)
	assert.Len(t, kinds, 9)
}

// A searchedShop is a shop whose every order is played, and what is to be found.
type searchedShop struct {
	file, kind string
	kinds      []schedule.Kind
	changes    int
	cause      string
}

// searched returns the shops whose every order the tests play: in a run of the league more.
func searched() []searchedShop {
	all := []searchedShop{
		{inPython, "rereads-late", nil, 3, "it reads the stock before it holds the lock"},
		{inPython, "gives-back", nil, 3, "it releases the lock before it writes the stock"},
		{inPython, "pipelines", nil, 1, ""},
		{inPython, "asks-info", []schedule.Kind{schedule.LoseReply}, 0, ""},
		{inPython, "checks-clock", []schedule.Kind{schedule.Work}, 0, ""},
	}
	if !isLeague() {
		return all
	}
	const stolen = "it releases the lock without comparing its value"
	return append(all, searchedShop{"../../examples/tokenless_shop.py", "", []schedule.Kind{schedule.Work}, 2, stolen},
		searchedShop{inPython, "checks-clock", []schedule.Kind{schedule.Work}, 1, ""},
		searchedShop{inPython, "healed", []schedule.Kind{schedule.Hold}, 0, ""},
		searchedShop{inPython, "remembers-sold-out", nil, 1, ""},
		searchedShop{inPython, "renews-on", []schedule.Kind{schedule.LoseRequest}, 0,
			"the lock is renewed after its order has ended"},
		searchedShop{inPython, "tidies-up", nil, 2, "it releases the lock twice"},
		searchedShop{inPython, "line", []schedule.Kind{schedule.LoseReply}, 0,
			"a dead waiter keeps its place in the queue"},
		searchedShop{inPython, "popper", []schedule.Kind{schedule.CrashBefore}, 0, "a waiter is never woken"})
}

// What no cell names is found: a stock that is read anew only after the second refusal, a unit that is given back in
// one order only, and, with a fault, the release of another order's lock. Shops that only look odd are not accused.
func TestEveryOrderFinds(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	for _, of := range searched() {
		t.Run(filepath.Base(of.file)+" "+of.kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, planted{file: of.file, kind: of.kind}.command(t)...)
			o.AtOnce, o.Every = 2, &Range{Changes: of.changes, Kinds: of.kinds, For: 5 * time.Minute}
			trial, ctx, err := New(t.Context(), o)
			require.NoError(t, err)
			_, err = trial.Learn(ctx)
			require.NoError(t, err)
			report, cells, err := trial.PlayEvery(ctx, func(string) {})
			require.NoError(t, err)
			require.NoError(t, trial.Close())
			var causes []string
			for _, d := range history.DefectsOf(cells) {
				causes = append(causes, d.Cause)
				assert.Contains(t, d.Cells[0], d.First.Line)
			}
			want := slices.DeleteFunc([]string{of.cause}, func(cause string) bool { return cause == "" })
			assert.ElementsMatch(t, want, causes)
			assert.False(t, report.GoesAnotherWay())
		})
	}
}
