package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// A Trial is a situation into which any service can be put that sells under a lock: it takes no more than the
// parameters ttl, work and wait, and what they lead to is not known beforehand.
type Trial struct {
	Name, Does string
	steps      func(*play) // nil: a crowd
	one        bool        // through the first instance alone
}

// Trials lists what can be tried on instances that somebody else has started.
func Trials() []Trial {
	return []Trial{
		{"one-instance", oneInstance.Does, nil, true},
		{"two-instances", twoInstances.Does, nil, false},
		{"slow-work", "an order's work takes 2.5 leases while another order waits", trySlowWork, false},
		{"late-release", "an order releases half a lease too late, while a second works; a third tries", tryLateRelease,
			false},
	}
}

// Try runs a trial on the instances at these URLs, and returns the cell with its verdicts. Nothing is expected of them.
func (r *Runner) Try(ctx context.Context, t Trial, rung, product string, urls []string) (*history.Cell, error) {
	if t.one {
		urls = urls[:1]
	}
	spec := catalog.Spec{Rung: catalog.Rung{Number: rung}, Scenario: catalog.Scenario{Name: t.Name, Crowd: t.steps == nil}}
	if t.steps != nil {
		spec.Scenario.TTL = renewedLease
	}
	return r.run(ctx, spec, product, urls, t.steps)
}

// trySlowWork sends an order whose work takes 2.5 leases. Once it is at work, another one arrives and waits.
func trySlowWork(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "anna", client.Order{Work: f.longWork(), Wait: 4 * f.Load.TTL})
	f.sleepUntil(begun.Add(f.Load.TTL / 4)) // nobody tells when it has the lock
	second := f.order(f.other(), "bert", client.Order{Wait: 4 * f.Load.TTL})
	first.waitWorked(begun)
	second.waitAnswered()
}

// tryLateRelease sends an order whose work takes 1.5 leases. The second gets in by then, unless the lease is renewed,
// and still works when the first releases. Then a third comes, which waits for no longer than a moment.
func tryLateRelease(f *play) {
	f.warmUp()
	begun := time.Now()
	first := f.order(a, "anna", client.Order{Work: f.Load.TTL * 3 / 2})
	f.sleepUntil(begun.Add(f.Load.TTL / 4))
	second := f.order(f.other(), "bert", client.Order{Work: f.Load.TTL, Wait: 4 * f.Load.TTL})
	first.waitWorked(begun)
	f.order(a, "3", client.Order{}).waitAnswered()
	second.waitAnswered()
}

// waitWorked waits until an order has ended whose work was to outlast its lease. It fails if that was over before.
func (o *inFlight) waitWorked(begun time.Time) {
	o.waitAnswered()
	if took := time.Since(begun); took < o.Load.TTL {
		o.fail("work=%s with ttl=%s was answered after %s: the service does not work for as long as the order asks", o.Work,
			o.Load.TTL, seconds(took))
	}
	o.recordFault(begun, "working %s under a lease of %s", seconds(o.Work), seconds(o.Load.TTL))
}

// other is the number of an instance besides a, if there is one.
func (f *play) other() int { return min(b, len(f.cell.Instances)-1) }
