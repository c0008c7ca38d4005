package sale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// Slow work holds Anna's order at the fewest commands that outlast her lease, and the acquire of a renewed lock for
// less.
func TestSlowWorkIsHeldAtSeveralCommands(t *testing.T) {
	const once, twice, thrice = "a<read.b>end.a>end", "a<read.b>end.a>write.b>end.a>end",
		"a<acquired.b>end.a<read.b>end.a>write.b>end.a>end"
	of := func(effect history.Effect) Step {
		return Step{Effects: []history.Command{{Source: history.Looked, Effect: effect}}}
	}
	for _, one := range []struct {
		lease, every, patience time.Duration
		line                   string
		lasts                  bool
	}{
		{2, 0, 5, once, true},
		{30, 0, 0, once, true},
		{8, 0, 5, twice, true},
		{10, 0, 5, thrice, true},
		{10, 3, 5, thrice, true},
		{10, 7, 5, thrice, false},
		{14, 0, 5, thrice, false},
		{20, 0, 5, thrice, false},
	} {
		p := &Passport{Facts: history.Facts{Locks: []string{"lock"}, TTL: one.lease * time.Second,
			Every: one.every * time.Second, Patience: one.patience * time.Second},
			Steps: []Step{of(history.EffectAcquired), of(history.EffectRead), of(history.EffectWrote)}}
		assert.Equal(t, one.line, p.SlowLine(), one)
		assert.Equal(t, one.lasts, p.CanBeSlow(), one)
		p.Steps = p.Steps[:1]
		p.Steps = append(p.Steps, of(history.EffectWrote))
		assert.NotContains(t, p.SlowLine(), "acquired", "the acquire is the last command before the write")
	}
}
