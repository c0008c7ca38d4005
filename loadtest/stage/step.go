package stage

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
)

// setStepping turns step mode on or off, in which commands wait at the wires.
func (s *shop) setStepping(begin bool) {
	s.held.Store(begin)
	s.calm()
	if begin {
		s.gate.Close()
	} else {
		s.gate.OpenAll()
	}
	s.tellSteps(begin)
}

// tellSteps sends the progress of the trace to the wall, if there is one.
func (s *shop) tellSteps(stepping bool) {
	trace := []event{}
	for i, one := range s.round.steps {
		trace = append(trace, event{"text": one.String(), "done": i < s.next})
	}
	s.record.add("step", event{"stepping": stepping, "trace": trace})
}

// step passes the next command of the trace or, without a trace, of the instance at; "" means either instance.
func (s *shop) step(ctx context.Context, at string) error {
	if s.next < len(s.round.steps) {
		if err := s.take(ctx, s.round.steps, s.next); err != nil {
			return err
		}
		s.next++
		s.tellSteps(true)
		return nil
	}
	next, came := -1, time.Time{}
	for _, site := range s.sites {
		waiting := s.gate.Of(&site.Client)
		if len(waiting) > 0 && (at == "" || at == site.Name) && (next < 0 || waiting[0].Came.Before(came)) {
			next, came = site.Index, waiting[0].Came
		}
	}
	if next < 0 {
		return refuse("error.idle")
	}
	return s.take(ctx, []schedule.Step{{Who: next}}, 0)
}

// take carries out step i.
func (s *shop) take(ctx context.Context, steps []schedule.Step, i int) error {
	_, err := s.rig.Step(ctx, steps, i)
	if errors.Is(err, rig.ErrNotSent) && ctx.Err() == nil { // a slow teacher or a slow machine: wait once more
		_, err = s.rig.Step(ctx, steps, i)
	}
	switch {
	case err == nil || errors.Is(err, rig.ErrUnanswered):
		return nil
	case errors.As(err, new(refusal)):
		return err
	case errors.Is(err, rig.ErrDead):
		return refuse("error.dead")
	default:
		return refuse("error.idle")
	}
}

// Send implements [rig.User]: the order of a client is the first at its instance.
func (s *shop) Send(_ context.Context, m schedule.Move, _ rig.Scene, _ <-chan struct{}) *rig.InFlight {
	if s.firstOf(m.At) == nil {
		s.buyAs(m.Who)
	}
	return s.firstOf(m.At)
}

// Note implements [rig.User]: the traces of rounds have no faults but time.
func (s *shop) Note(int, *rig.InFlight, history.Fault, time.Time) {}

// firstOf returns the first order at an instance; nil if there was none.
func (s *shop) firstOf(at int) *rig.InFlight {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.orders, func(o *order) bool { return o.At == at })
	if i < 0 {
		return nil
	}
	return s.orders[i].InFlight
}

// Pass implements [rig.User]: it expires all leases by deleting their keys, and records that, so that a class need not
// wait for a minute.
func (s *shop) Pass(ctx context.Context, _ schedule.Move) error {
	ended := false
	for _, store := range s.rig.Stores {
		holders, err := store.Holders(ctx)
		if err != nil {
			return err
		}
		for _, one := range holders {
			if one.Until.IsZero() || isOfQueue(one.Key) {
				continue
			}
			owner := s.holding(store.Name, one).Order
			at := time.Now()
			if err := store.Redis.Del(ctx, one.Key).Err(); err != nil {
				return err
			}
			ended = true
			s.noteEnd(owner, history.Command{Node: store.Host, Cmd: history.EndedLock, Key: one.Key, Reply: history.LeaseOver,
				At: history.At(s.cell.Start, at), End: history.At(s.cell.Start, at)})
		}
	}
	if !ended {
		return refuse("error.endless")
	}
	return nil
}

// noteEnd records in the trace of an order that its lease has expired.
func (s *shop) noteEnd(id string, note history.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if o.id != id {
			continue
		}
		o.ends, s.judge.due, s.redraw = append(o.ends, note), true, true
		if o.op != nil {
			o.op.Trace = append(o.op.Trace, note)
		}
	}
}
