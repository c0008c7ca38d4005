package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// schedule draws, for an open loop, when each request falls due: a Poisson process, fixed before the first request is
// sent, and scaled so that the last request falls due exactly at the plan's rate. So a missed rate is always the
// client's fault, never chance. For a closed loop it returns nil.
func schedule(p Plan) []time.Duration {
	if p.Rate <= 0 {
		return nil
	}
	at := make([]float64, p.Requests)
	for i := 1; i < len(at); i++ {
		at[i] = at[i-1] + rand.ExpFloat64()
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

// waitDue waits until request i falls due and returns that time. If all workers were busy, it has already passed: the
// request is late, but it is sent, and its latency counts from when it was due. A load generator that slows down with
// the service omits exactly the samples that matter.
func (r *run) waitDue(ctx context.Context, i int) (due time.Time, ok bool) {
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
