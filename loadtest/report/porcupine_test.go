package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

const ms = history.Instant(time.Millisecond)

// forge makes a cell that sold n units of as many as it had and one more, one after the other under a lock, over two
// instances of one clock.
func forge(n int) *history.Cell {
	left := int64(1)
	c := &history.Cell{
		Scenario: "pause", Rung: "v5", Name: "watchdog", Product: "p", Initial: int64(n) + 1, Left: &left,
		Instances: []history.Instance{{Name: "a", Clock: "m"}, {Name: "b", Clock: "m"}},
	}
	for i := range n {
		c.Ops = append(c.Ops, forgeSale(fmt.Sprint(i), "ab"[i%2:i%2+1], c.Initial-int64(i), history.Instant(10*i)*ms))
	}
	return c
}

// forgeSale is an order that was sent at some time, held the lock from 2 to 7 ms later, and was answered at 9.
func forgeSale(id, instance string, unit int64, t history.Instant) history.Op {
	return history.Op{
		Order: "p-" + id, Phase: history.Buy, Instance: instance, Outcome: history.Sold, Status: 200,
		Sent: t, Done: t + 9*ms, Quantity: 1, Units: []int64{unit}, Left: unit - 1,
		Lease: &history.Lease{AcquiredAt: t + 2*ms, ReleasedAt: t + 7*ms},
		Trace: []history.Command{
			{Node: "n", Cmd: "set", Key: "lock", At: t + ms, End: t + 2*ms, Reply: "true"},
			{Node: "n", Cmd: "eval:release", Key: "lock", At: t + 7*ms, End: t + 8*ms, Reply: "1"},
		},
	}
}

// twice is forge's history with order 5 selling what order 4 had sold.
func twice(n int) *history.Cell {
	c := forge(n)
	c.Ops[5].Units, c.Ops[5].Sent, c.Ops[5].Lease.AcquiredAt = c.Ops[4].Units, 41*ms, 42*ms
	return c
}

// shared is forge's history with order 4 holding the lock until order 5 has it too.
func shared() *history.Cell {
	c := forge(10)
	c.Ops[4].Lease.ReleasedAt, c.Ops[4].Done = 53*ms, 60*ms
	return c
}

func check(c *history.Cell) (info porcupine.LinearizationInfo, illegal bool) {
	c.Findings, c.Coverage = audit.Judge(c)
	return checkFirstViolation(c)
}

// picture expects that there is a picture, and returns its page.
func picture(t require.TestingT, c *history.Cell) string {
	info, illegal := check(c)
	require.True(t, illegal)
	var page bytes.Buffer
	require.NoError(t, porcupine.Visualize(model, info, &page))
	return page.String()
}

func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		assert.Contains(t, html.UnescapeString(page), text)
	}
}

func TestAUnitSoldTwiceHasNoPlaceInAnySequence(t *testing.T) {
	page := picture(t, twice(10))
	says(t, page, `"Description":"order 4 on a sells unit 7"`, `"Description":"order 5 on b sells unit 7"`,
		`"Description":"order 1 on b sells unit 10"`, `"StateDescription":"7 left"`)
	assert.NotContains(t, page, "sells unit 11", "far from the violation")
}

func TestAUnitThatWasNeverThere(t *testing.T) {
	c := forge(10)
	c.Ops[0].Units, c.Ops[0].Left = []int64{15}, 14
	says(t, picture(t, c), `"Description":"order 0 on a sells unit 15"`, `"Description":"there are 11 left"`)
}

func TestAnOrderThatNamesAUnitTwice(t *testing.T) {
	c := forge(10)
	c.Ops[4].Units, c.Ops[4].Quantity = []int64{7, 7}, 2
	_, illegal := check(c)
	assert.False(t, illegal, "as one sale it has its place")
}

func TestTwoHoldersHaveNoPlaceInAnySequence(t *testing.T) {
	says(t, picture(t, shared()), `"Description":"order 4 on a acquires the lock"`,
		`"Description":"order 5 on b releases the lock"`, "held by order 3 on b")
	c := shared()
	c.Instances[1].Clock = "another"
	c.Findings = []history.Finding{{Verdict: history.Exclusion, Result: history.Broken,
		Evidence: []history.Evidence{{Text: "both", Orders: []string{"p-4", "p-5"}}}}}
	_, illegal := checkFirstViolation(c)
	assert.False(t, illegal, "times of two clocks cannot be compared")
}

func TestWithoutOrdersThereIsNoPicture(t *testing.T) {
	lost, none := forge(10), int64(0)
	lost.Left = &none // a unit is gone, and nobody has it
	for _, c := range []*history.Cell{lost, forge(10), {NotAsked: &history.NotAsked{Reason: "needs 5 nodes"}}} {
		_, illegal := check(c)
		assert.False(t, illegal)
	}
}

func TestAWindowIsSmallHoweverManyOrdersThereAre(t *testing.T) {
	c := forge(20_000)
	for i := 1; i < len(c.Ops); i += 2 { // all of b sell what a has sold, at the same time
		c.Ops[i].Units, c.Ops[i].Lease = c.Ops[i-1].Units, c.Ops[i-1].Lease
	}
	assert.Less(t, len(picture(t, c)), 100<<10)
}

func TestForgedHistoriesEndNothing(t *testing.T) {
	for _, odd := range []history.Instant{math.MinInt64, math.MaxInt64, history.Never, 0} {
		for _, c := range []*history.Cell{twice(10), shared()} {
			c.Ops[3].Sent, c.Ops[4].Done, c.Ops[5].Lease.AcquiredAt = odd, odd, odd
			c.Ops[5].Units = []int64{math.MaxInt64}
			if info, illegal := check(c); illegal {
				require.NoError(t, porcupine.Visualize(model, info, io.Discard))
			}
		}
	}
}

func TestNamesAreNoMarkup(t *testing.T) {
	c := twice(10)
	c.Ops[4].Instance = "<b>"
	_, data, _ := strings.Cut(picture(t, c), "const data = ")
	assert.NotContains(t, data, "<b>")
}
