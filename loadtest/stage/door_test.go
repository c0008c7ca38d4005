package stage

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	var refused refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	return http.StatusOK
}

// One code per second from a guesser's address is checked. A right code is never delayed from another address, nor from
// the same one unless it has sent many wrong codes.
func TestWrongCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &class{guessers: map[string]guesser{}}
		assert.Equal(t, http.StatusForbidden, statusOf(c.guess("proxy", false)))
		assert.Equal(t, http.StatusTooManyRequests, statusOf(c.guess("proxy", false)), "the second one in a second")
		assert.NoError(t, c.guess("proxy", true), "of another phone there")

		const lasts, gap = 60 * time.Second, 5 * time.Millisecond
		looked, told := 0, 0
		for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(gap) {
			if c.guess("guesser", true) == nil { // the guesser would have found this code
				looked++
			}
			if statusOf(c.guess("guesser", false)) == http.StatusForbidden {
				told++
			}
			require.NoError(t, c.guess("elsewhere", true))
		}
		assert.InDelta(t, lasts.Seconds(), looked, slips)
		assert.InDelta(t, lasts.Seconds(), told, 1)
		_ = c.guess("guesser", false)
		assert.Equal(t, http.StatusTooManyRequests, statusOf(c.guess("guesser", true)))
		time.Sleep(guessGap)
		assert.NoError(t, c.guess("guesser", true))
		time.Sleep(slips * guessGap)
		_ = c.guess("proxy", false)
		assert.Len(t, c.guessers, 1, "an address is forgotten when it owes nothing")
	})
}

// A full class gives away places without an open page, the longest abandoned first. A person who lost the place and
// joins again keeps the points.
func TestPlacesOfAFullClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &class{}
		for range animals {
			_, err := c.join("", true)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		first, second, third := c.persons[0], c.persons[1], c.persons[2]
		first.streams.open(1)
		second.points, second.votes[0] = 7, &vote{}
		time.Sleep(keptFor / 2)
		_, err := c.join("", true)
		assert.Equal(t, http.StatusTooManyRequests, statusOf(err))
		time.Sleep(keptFor / 2)

		p, err := c.join("", true)
		require.NoError(t, err)
		assert.Equal(t, second.name, p.name, "the first is there")
		assert.NotEqual(t, second.id, p.id)
		assert.Zero(t, p.points)
		_, err = c.find(second.id)
		assert.Equal(t, http.StatusNotFound, statusOf(err))

		back, err := c.join(second.id, true)
		require.NoError(t, err)
		assert.Same(t, second, back)
		assert.Equal(t, third.name, back.name)
		assert.Equal(t, 7, back.points)
		names := map[string]bool{}
		for _, p := range c.persons {
			names[p.name] = true
		}
		assert.Len(t, names, len(animals))
		for range len(animals) - 3 { // all but the one with a page, and the two that have just joined
			_, err = c.join("", true)
			require.NoError(t, err)
		}
		_, err = c.join("", true)
		assert.Equal(t, http.StatusTooManyRequests, statusOf(err), "these have just come")

		c.begin()
		_, err = c.find(third.id)
		require.Error(t, err)
		assert.Nil(t, second.votes[0])
	})
}

// Orders end concurrently: a phone that has shown three buyers must never show two afterwards.
func TestStaleListOfBuyers(t *testing.T) {
	c := &class{}
	p, err := c.join("", true)
	require.NoError(t, err)
	c.tellShared(100, []string{p.name, "b", "c"})
	c.tellShared(100, []string{p.name, "b"})
	require.Len(t, p.twice, 1)
	assert.Equal(t, soldTwice{Unit: 100, Times: 3, With: []string{"b", "c"}}, p.twice[0])
}
