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

// statusOf returns the status that a page gets for an error.
func statusOf(err error) int {
	var refused refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	return http.StatusOK
}

// A guesser who tries all codes has one a second looked at, however many it sends. It delays no right code: none from
// another address, and none from its own unless many wrong ones have come from there.
func TestWrongCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &class{guessers: map[string]guesser{}}
		assert.Equal(t, http.StatusForbidden, statusOf(c.guess("proxy", false)))
		assert.Equal(t, http.StatusTooManyRequests, statusOf(c.guess("proxy", false)), "the second one in a second")
		assert.NoError(t, c.guess("proxy", true), "of another phone there")

		const lasts, gap = 60 * time.Second, 5 * time.Millisecond
		looked, told := 0, 0
		for begun := time.Now(); time.Since(begun) < lasts; time.Sleep(gap) {
			if c.guess("guesser", true) == nil { // if this was the code, it would be found
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
