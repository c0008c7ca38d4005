package stage

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

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
	sent := slices.ContainsFunc(s.orders, func(o *order) bool { return o.At == step.Who })
	s.mu.Unlock()
	if !sent {
		s.buyAs(step.Who)
	}
	cmd, err := s.rig.Await(ctx, s.sites[step.Who].End, step)
	if err != nil {
		return refuse("error.idle")
	}
	return s.pass(ctx, cmd)
}

// pass lets a command through, and waits for its answer.
func (s *shop) pass(ctx context.Context, cmd *wire.Command) error {
	if err := s.rig.Take(ctx, schedule.Grant, cmd); errors.Is(err, rig.ErrGivenUp) {
		return refuse("error.idle")
	}
	return nil
}

// expire waits until all leases that Redis holds are over.
func (s *shop) expire(ctx context.Context) error {
	s.passes.Store(true)
	s.tellSteps(true)
	defer s.passes.Store(false)
	for begun := time.Now(); time.Since(begun) < s.round.Lease+rig.Patience && ctx.Err() == nil; {
		if now, _, err := s.look(ctx); err != nil || len(now.Keys) == 0 {
			return err
		}
		time.Sleep(pollGap)
	}
	return refuse("error.endless")
}
