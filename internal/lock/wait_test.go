package lock

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Waiters of Redlock that tried together must not retry together: their delays differ, by up to half of the mean.
func TestAroundIsRandom(t *testing.T) {
	delay, seen := Around(time.Second, rand.N[time.Duration]), map[time.Duration]bool{}
	for n := range 100 {
		d := delay(n)
		seen[d] = true
		assert.GreaterOrEqual(t, d, 500*time.Millisecond)
		assert.LessOrEqual(t, d, 1500*time.Millisecond)
	}
	assert.Greater(t, len(seen), 90)
}
