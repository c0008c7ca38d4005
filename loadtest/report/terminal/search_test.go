package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// A search says what it has covered, and what is left. It is enough if each order of two changes was played, without a
// fault, and the shop went the same way again.
func TestSearched(t *testing.T) {
	level := func(units int64, faults, whole, within, played, left int) history.Level {
		return history.Level{Units: units, Faults: faults, Whole: whole, Within: within, Played: played, Left: left}
	}
	all := func(levels ...history.Level) *history.Search {
		return &history.Search{Levels: levels, States: 7, Took: 9 * time.Second, Within: 5 * time.Minute}
	}
	diverged, oversold := all(level(2, 0, 3, 8, 8, 0)), all(level(1, 0, 2, 4, 5, 0))
	diverged.Levels[0].Diverged, oversold.Levels[0].Oversold = 1, true
	astray := all(level(2, 0, 3, 8, 8, 0), level(2, 1, 0, 4, 4, 0))
	astray.Levels[1].Diverged = 1
	unsure := all(level(2, 0, 3, 8, 8, 0))
	unsure.Unconfirmed, unsure.Unmeasured, unsure.Why = 1, 2, "Anna did not come to rest"
	unsure.GaveWay, unsure.Starts, unsure.Starting = 3, 2, 3*time.Second
	over := all(level(2, 0, 3, 8, 8, 0), level(2, 1, 1, 20, 131, 73))
	over.Took = over.Within
	for _, one := range []struct {
		of     *history.Search
		enough bool
		want   string
	}{
		{all(level(2, 0, 3, 8, 8, 0)), true,
			"2 units: every order in which the turn changes at most 3 times: 8, no unit sold twice; 7 distinct states in 9s"},
		{over, true, "2 units: every order in which the turn changes at most 3 times: 8, no unit sold twice; with one " +
			"fault: every order in which the turn changes at most once: 20, 111 with more changes, at least 73 left, 5m0s " +
			"were over; 7 distinct states in 5m0s"},
		{oversold, true, "the last unit: every order in which the turn changes at most twice: 4, 1 with more changes, a " +
			"unit sold twice; 7 distinct states in 9s"},
		{all(level(2, 0, -1, 0, 3, 9)), false,
			"2 units: 3 orders of commands, no unit sold twice, at least 9 left; 7 distinct states in 9s"},
		{diverged, false, "2 units: every order in which the turn changes at most 3 times: 8, no unit sold twice, 1 went " +
			"another way than before; 7 distinct states in 9s; it goes another way each time: too many schedules could not be " +
			"played as before"},
		{astray, false, "2 units: every order in which the turn changes at most 3 times: 8, no unit sold twice; with one " +
			"fault: every order in which the turn changes at most 0 times: 4, 1 went another way than before; 7 distinct " +
			"states in 9s; it goes another way each time: too many schedules could not be played as before"},
		{unsure, true, "2 units: every order in which the turn changes at most 3 times: 8, no unit sold twice; 7 distinct " +
			"states in 9s; two instances were started twice, 1.5s each time; in 3 schedules an order that repeated a command " +
			"had no further turn; not confirmed: 1 schedule broke something that broke in no replay; not measured: 2 " +
			"schedules, such as: Anna did not come to rest"},
	} {
		trial := &Trial{Shop: history.Shop{Search: one.of}, Cells: []*history.Cell{{Scenario: "ab", Line: "ab"}}}
		assert.Equal(t, one.want, strings.Join(trial.Searched(), "; "))
		assert.Equal(t, map[bool]int{true: 0, false: 2}[one.enough], trial.ExitCode(), one.want)
	}
	assert.Empty(t, (&Trial{}).Searched())
}
