package stage

import (
	"context"
	"slices"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// stepTime bounds how long a step waits for the command that it names, or for its answer.
const stepTime = 5 * time.Second

// setStepping begins or ends that commands wait at the wires until somebody says so.
func (s *shop) setStepping(begin bool) {
	s.held.Store(begin)
	if begin {
		s.gate.Close()
	} else {
		s.gate.OpenAll()
	}
	s.tellSteps(begin)
}

// tellSteps tells the wall how far the trace is, if there is one.
func (s *shop) tellSteps(stepping bool) {
	trace := []event{}
	for i, one := range s.round.steps {
		trace = append(trace, event{"text": one.String(), "done": i < s.next})
	}
	s.record.add("step", event{"stepping": stepping, "trace": trace, "passes": s.passes.Load()})
}

// step lets the next command through: that of the trace, or else that of an instance, or of either if at is "".
func (s *shop) step(ctx context.Context, at string) error {
	if s.next < len(s.round.steps) {
		if err := s.take(ctx, s.round.steps[s.next]); err != nil {
			return err
		}
		s.next++
		s.tellSteps(true)
		return nil
	}
	var oldest *wire.Command
	for _, site := range s.sites {
		waiting := s.gate.Of(&site.Client)
		if len(waiting) == 0 || at != "" && at != site.Name {
			continue
		}
		if oldest == nil || waiting[0].Came.Before(oldest.Came) {
			oldest = waiting[0]
		}
	}
	if oldest == nil {
		return refuse("error.idle")
	}
	return s.pass(ctx, oldest)
}

// take takes a step of the trace. It sends the order that the step is the first of.
func (s *shop) take(ctx context.Context, step schedule.Step) error {
	if step.Kind == schedule.Time || step.Kind == schedule.Expiry {
		return s.expire(ctx)
	}
	s.mu.Lock()
	sent := slices.ContainsFunc(s.orders, func(o *order) bool { return o.at == step.Who })
	s.mu.Unlock()
	if !sent {
		s.buyAs(step.Who)
	}
	cmd, err := s.await(ctx, s.sites[step.Who])
	if err != nil {
		return err
	}
	return s.pass(ctx, cmd)
}

// await waits for a command of an instance at its wires.
func (s *shop) await(ctx context.Context, at *site) (*wire.Command, error) {
	for begun := time.Now(); time.Since(begun) < stepTime && ctx.Err() == nil; {
		if waiting := s.gate.Of(&at.Client); len(waiting) > 0 {
			return waiting[0], nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, refuse("error.idle")
}

// pass lets a command through, and waits for its answer.
func (s *shop) pass(ctx context.Context, cmd *wire.Command) error {
	if !s.gate.Decide(cmd, schedule.Pass) {
		return refuse("error.idle") // its instance has given it up
	}
	select {
	case <-cmd.Done():
	case <-time.After(stepTime):
	case <-ctx.Done():
	}
	return nil
}

// expire waits until all leases that Redis holds are over.
func (s *shop) expire(ctx context.Context) error {
	s.passes.Store(true)
	s.tellSteps(true)
	defer s.passes.Store(false)
	for begun := time.Now(); time.Since(begun) < s.round.Lease+stepTime && ctx.Err() == nil; {
		if now, _, err := s.look(ctx); err != nil || len(now.Keys) == 0 {
			return err
		}
		time.Sleep(pollGap)
	}
	return refuse("error.endless")
}
