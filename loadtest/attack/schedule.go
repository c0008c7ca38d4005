package attack

import (
	"context"
	"math/rand/v2"
	"time"
)

// schedule draws, for an open loop, when each request falls due: a Poisson process, fixed before the first is sent, of
// which it is known that the last request falls due just when the plan's rate says. So a rate that was not reached was
// not reached by the client, and never by the draw. For a closed loop it returns nil.
func schedule(p Plan) []time.Duration {
	if p.Rate <= 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	at := make([]float64, p.Requests)
	for i := 1; i < len(at); i++ {
		at[i] = at[i-1] + rng.ExpFloat64()
	}
	scale := float64(time.Second)
	if last := at[len(at)-1]; last > 0 {
		scale *= float64(len(at)-1) / p.Rate / last
	}
	due := make([]time.Duration, len(at))
	for i := range due {
		due[i] = time.Duration(at[i] * scale)
	}
	return due
}

// await waits until request i falls due and returns that moment. When all workers were busy it lies in the past
// already: the request is late, but it is sent, and its latency counts from when it should have been. A load that
// waits with a slow service instead would omit just the samples that matter.
func (r *run) await(ctx context.Context, i int) (due time.Time, ok bool) {
	if r.due == nil {
		return time.Now(), true
	}
	due = r.start.Add(r.due[i])
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return due, true
	case <-ctx.Done():
		return due, false
	}
}
