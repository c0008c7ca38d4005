package porcupine_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/porcupine"
)

func TestAUnitSoldTwiceHasNoPlaceInAnySequence(t *testing.T) {
	page := picture(t, twice(10))
	says(t, page, "pause v5 watchdog: unit 7 was sold twice",
		"a sold unit 7 to order 4 at", "sold unit 7 again to order 5 at",
		`"Description":"order 4 on a: sold unit 7"`, `"Description":"order 5 on b: sold unit 7"`,
		"Without order 5 there is a sequence of all the others; with it there is none",
		`"Description":"11 units"`, `"StateDescription":"7 left"`, "for as long as it held the lock")
	says(t, page, `"Tag":"fault"`, "order 5 on b, stopped for 3.000 s", "From +0.051 s to +0.053 s.",
		`"Tag":"unit 7"`, "sold to order 4 on a", "sold to order 5 on b", "order 4 on a believes it holds the lock")
}

// Of an order that another one sold for, no command says when it was served: it sent the release, long after.
func TestAnOrderThatAnotherSoldForWasServedBeforeItsAnswer(t *testing.T) {
	c := twice(10)
	op := &c.Ops[5]
	op.Lease, op.SoldBy, op.Trace = nil, "p-3", op.Trace[1:]
	says(t, picture(t, c), "from when it was sent until it was answered", "It says that it was sold by order p-3.")
}

func TestAnOrderThatNamesAUnitTwice(t *testing.T) {
	c := forge(10)
	c.Ops[4].Units, c.Ops[4].Quantity = []int64{7, 7}, 2
	says(t, picture(t, c), "unit 7 was sold twice", "order 4 on a: sold unit 7", "Without order 4 there is a sequence")
}

func TestAWindowIsCutDownToItsOneViolation(t *testing.T) {
	c := twice(10)
	c.Ops[3].Units, c.Ops[6].Units = c.Ops[6].Units, c.Ops[3].Units // 5 is sold long before 8: no sequence has both
	w := first(c)
	require.NotNil(t, w)
	assert.Empty(t, w.NoPicture)
	assert.Equal(t, 3, w.Operations(), "the two sales, and what there was")
	says(t, picture(t, c), "Without order 5 there is a sequence", `"Description":"7 units"`)
}

func TestOrdersUnderWayAtOnceHaveLanesOfTheirOwn(t *testing.T) {
	c := unlocked(twice(10))
	for i := range c.Ops {
		c.Ops[i].Trace[0].At -= 15 * ms
		c.Ops[i].Instance = "aab"[i%3 : i%3+1]
	}
	all := boxes(t, picture(t, c))
	instances := map[int]string{}
	for i, one := range all {
		for _, other := range all[:i] {
			apart := one.Client != other.Client || one.End < other.Start || other.End < one.Start
			assert.True(t, apart, "%v and %v", one, other)
		}
		_, instance, _ := strings.Cut(one.Description, " on ")
		instance, _, _ = strings.Cut(instance, ":")
		if known, named := instances[one.Client]; named {
			assert.Equal(t, known, instance)
		}
		instances[one.Client] = instance
	}
	assert.Len(t, instances, 1+2+1, "the shop, two lanes of a, one of b")
}

func TestFaultsOfServersAreShown(t *testing.T) {
	c := twice(10)
	c.Faults = append(c.Faults,
		history.Fault{Instance: "a", On: "network", Text: "cut off from its lock", At: 40 * ms, End: history.Never},
		history.Fault{On: "locks", Text: "lock primary killed before it replicated", At: -ms, End: 500 * ms})
	says(t, picture(t, c), `"Tag":"fault 1"`,
		`"Tag":"fault 2: network"`, `"Description":"a, cut off from its lock"`, "to never.",
		`"Tag":"fault 3: locks"`, `"Description":"lock primary killed before it replicated"`)
}

func TestWhatHoldsHasNoWindow(t *testing.T) {
	assert.Nil(t, first(forge(10)))
	assert.Nil(t, first(&history.Cell{NotRun: "needs 5 nodes"}))
	stuck := forge(10)
	evidence := []history.Evidence{{Text: "no"}}
	stuck.Findings = []history.Finding{{Verdict: history.Liveness, Result: history.Broken, Evidence: evidence}}
	assert.Nil(t, porcupine.First(stuck), "nothing that a sequence of orders could show")
}

func TestAWindowIsSmallHoweverManyOrdersThereAre(t *testing.T) {
	c := forge(20_000)
	for i := 1; i < len(c.Ops); i += 2 { // all of b sell what a has sold, at the same time
		c.Ops[i].Units, c.Ops[i].Lease = c.Ops[i-1].Units, c.Ops[i-1].Lease
	}
	w := first(c)
	require.NotNil(t, w)
	assert.Empty(t, w.NoPicture)
	assert.LessOrEqual(t, w.Operations(), 20)
	assert.Less(t, len(picture(t, c)), 100<<10)
}

func TestOrdersOfUnknownOutcomeMayHaveSoldOrNot(t *testing.T) {
	c := twice(10)
	for i := range 60 { // as many as Porcupine would come to no end with
		c.Ops = append(c.Ops, lost(fmt.Sprint("lost-", i), 30*ms))
	}
	page := picture(t, c)
	says(t, page, "order lost-0 on a: outcome unknown", "answered never")
	assert.Equal(t, 6, strings.Count(page, ": outcome unknown"))
}

func TestOrdersThatWereRefusedWait(t *testing.T) {
	c := twice(10) // ends with 1 left
	refused := c.Ops[9]
	refused.Order, refused.Outcome, refused.Units, refused.Quantity = "p-refused", history.Refused, nil, 7
	c.Ops = append(c.Ops, refused)
	assert.NotContains(t, picture(t, c), "order refused", "it came when the window was over")
	refused.Lease = &history.Lease{AcquiredAt: 45 * ms, ReleasedAt: 80 * ms}
	c.Ops[10] = refused
	says(t, picture(t, c), "order refused on b: refused, less than 7 left")
	c.Ops[10].Quantity = 1
	assert.NotContains(t, picture(t, c), "order refused", "the stock did not come down so far in this window")
}

func TestUnitsThatNeverExisted(t *testing.T) {
	for _, unit := range []int64{0, -3, 12} {
		c := forge(10)
		c.Ops = append(c.Ops, forgeSale("odd", "a", unit, 200*ms))
		says(t, picture(t, c),
			fmt.Sprintf("unit %d was never there", unit), fmt.Sprintf("order odd on a: sold unit %d", unit))
	}
}

func TestBooksThatDoNotBalance(t *testing.T) {
	c := forge(10)
	*c.Left, c.Ops[9].Units = 0, []int64{1}
	says(t, picture(t, c), "10 sold, but the stock went from 11 to 0", "order 9 on b: sold unit 1")

	*c.Left, c.Ops[9].Units = 3, []int64{2}
	says(t, picture(t, c), "the books do not balance",
		`"Description":"11 units"`, `"Description":"3 units"`, "What was left at the end.")

	c.Initial, *c.Left, c.Ops = 100, 50, append(c.Ops, lost("lost", 5*ms))
	says(t, picture(t, c), "order lost on a: outcome unknown")
}

func TestWhatPorcupineCannotShowItSays(t *testing.T) {
	t.Run("too many unknown outcomes", func(t *testing.T) {
		t.Parallel()
		c := forge(10)
		c.Initial = 100
		for i := range 60 {
			c.Ops = append(c.Ops, lost(fmt.Sprint("lost-", i), 0))
		}
		assert.Equal(t, "it did not finish with 72 operations in 2s", reason(t, c))
	})
	t.Run("too many orders", func(t *testing.T) {
		c := forge(3000)
		*c.Left = 0
		assert.Equal(t, "it shows only among all 3000 orders, which are too many", reason(t, c))
	})
	t.Run("no violation", func(t *testing.T) {
		c := forge(10)
		claim(c, history.Stock, "p-4")
		assert.Contains(t, porcupine.First(c).NoPicture, "it found a legal sequence")
	})
	t.Run("leases by different clocks", func(t *testing.T) {
		for _, clocks := range [][]string{{"m", "n"}, {"", ""}} {
			c := shared()
			c.Instances[0].Clock, c.Instances[1].Clock = clocks[0], clocks[1]
			claim(c, history.Exclusion, "p-4", "p-5")
			assert.Contains(t, porcupine.First(c).NoPicture, "not known to have one clock")
		}
	})
}

func TestTwoHoldersOfOneLock(t *testing.T) {
	page := picture(t, shared())
	says(t, page, "two held the lock at once", "order 4 acquires the lock", "order 5 releases the lock",
		`"StateDescription":"held by order 4 on a"`, "both hold the lock", "Without order 5 there is a sequence")
	assert.NotContains(t, page, "sold unit")
	assert.NotContains(t, page, `"StateDescription":"held by order 5 on b"`, "it never gets it")
}

func TestAHolderWithoutAReleaseMayHaveReleased(t *testing.T) {
	c := shared()
	c.Ops[2].Lease.ReleasedAt = history.Never
	c.Ops[2].Done = history.Never
	page := picture(t, c)
	says(t, page, "order 4 on a and order 5 on b both held the lock")
	last := slices.MaxFunc(boxes(t, page), func(a, b box) int { return cmp.Compare(a.End, b.End) })
	assert.Equal(t, "order 2 releases the lock", last.Description)
}

func TestWithoutALockOrdersAreAsLongAsTheyWorked(t *testing.T) {
	says(t, picture(t, unlocked(twice(10))),
		"for as long as it was at work: there is no lock", `"OriginalStart":"41000000"`)
}

func TestAcrossClocksOnlyTheClientsTimesCount(t *testing.T) {
	c := twice(10)
	c.Instances[1].Clock = "n"
	page := picture(t, c)
	says(t, page, "from when it was sent until it was answered", `"OriginalStart":"40000000"`)
	assert.NotContains(t, page, "believes it holds the lock")
}

func TestAPageNeedsNothingButABrowser(t *testing.T) {
	page := picture(t, twice(10))
	says(t, page, `content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"`)
	assert.NotContains(t, page, "src=")
	assert.NotContains(t, page, "https:")
	assert.Equal(t, strings.Count(page, "http://www.w3.org/2000/svg"), strings.Count(page, "http:"))
}

func TestTheSameHistoryMakesTheSamePage(t *testing.T) {
	c := twice(10)
	for i := range 5 {
		c.Ops = append(c.Ops, lost(fmt.Sprint("lost-", i), 30*ms))
	}
	page := picture(t, c)
	for range 10 {
		assert.Equal(t, page, picture(t, c))
	}
}

func TestHostileStringsStayText(t *testing.T) {
	evil := "</script><img src=x onerror=alert(1)>\x00\u202e"
	for _, c := range []*history.Cell{twice(10), shared()} {
		c.Scenario, c.Rung, c.Name = evil, evil, evil
		for i := range c.Ops {
			c.Ops[i].Order, c.Ops[i].Detail = fmt.Sprint(evil, i), evil
			if c.Ops[i].Instance == "b" {
				c.Ops[i].Instance = evil
			}
		}
		c.Instances[1].Name = evil
		c.Faults = []history.Fault{{Order: evil, Instance: evil, Text: evil}}
		page := picture(t, c)
		assert.NotContains(t, page, "<img")
		assert.Equal(t, 1, strings.Count(page, "</script>"))
		assert.NotRegexp(t, `"(StateDescription|Metadata)":"[^"]*\\u003c[^b]`, page, "what Porcupine puts into its markup")
	}
}

func TestImpossibleTimesDoNoHarm(t *testing.T) {
	for _, odd := range []history.Instant{math.MinInt64, math.MaxInt64 - 1, history.Never, -1} {
		for _, c := range []*history.Cell{twice(10), shared(), unlocked(twice(10))} {
			c.Ops[3].Sent, c.Ops[4].Done, c.Ops[5].Trace[1].End = odd, odd, odd
			c.Faults = append(c.Faults, history.Fault{Text: "lock primary killed before it replicated", At: odd, End: -odd})
			if l := c.Ops[2].Lease; l != nil {
				l.AcquiredAt = odd
			}
			if w := first(c); w != nil && w.NoPicture == "" {
				require.NoError(t, w.Write(io.Discard))
			}
		}
	}
}

func TestAFullDiskIsNoticed(t *testing.T) {
	full := errors.New("disk full")
	w := first(twice(10))
	require.ErrorIs(t, w.Write(failing{full}), full)
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
