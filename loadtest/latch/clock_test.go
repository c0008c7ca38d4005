package latch_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/latch"
)

// server is a Redis whose clock is ahead by so much, and whose answers take their time.
type server struct {
	redis.Cmdable
	ahead       time.Duration
	there, back time.Duration
}

func (s *server) Time(ctx context.Context) *redis.TimeCmd {
	time.Sleep(s.there)
	now := time.Now().Add(s.ahead)
	time.Sleep(s.back)
	cmd := redis.NewTimeCmd(ctx)
	cmd.SetVal(now)
	return cmd
}

// However lopsided a round trip is, the truth lies within what was said.
func TestTheOffsetIsKnownToHalfARoundTrip(t *testing.T) {
	for _, ahead := range []time.Duration{0, -3 * time.Hour, 5 * time.Hour} {
		for _, s := range []*server{{there: 4 * time.Millisecond}, {back: 4 * time.Millisecond}} {
			s.ahead = ahead
			o, longest, err := latch.ReadClock(t.Context(), s)
			require.NoError(t, err)
			assert.LessOrEqual(t, (o.Ahead - ahead).Abs(), o.Within)
			assert.GreaterOrEqual(t, longest, 2*o.Within-2*time.Microsecond)
			assert.GreaterOrEqual(t, o.Within, 2*time.Millisecond)
		}
	}
}

func TestTwoReadingsBoundAllBetweenThem(t *testing.T) {
	drifts := latch.Offset{Ahead: 10, Within: 2}.Span(latch.Offset{Ahead: 20, Within: 4})
	assert.Equal(t, latch.Offset{Ahead: 16, Within: 9}, drifts, "8 to 24, rounded outwards")
	assert.Equal(t, drifts, latch.Offset{Ahead: 20, Within: 4}.Span(latch.Offset{Ahead: 10, Within: 2}))
}

func TestAnInstantIsTurnedIntoOneOfOurs(t *testing.T) {
	now := time.Now()
	assert.Equal(t, now.Add(-time.Hour), latch.Offset{Ahead: time.Hour}.Here(now))
}
