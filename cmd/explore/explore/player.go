package explore

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"stockapi/internal/lock"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
)

// A player plays schedules of one rung within its bounds. It implements [search.World].
type player struct {
	t       *testing.T
	rung    lock.Rung
	bounds  Bounds
	servers *servers

	choices []choice        // between which the last step was chosen
	taken   map[string]bool // IDs of the steps that any schedule has taken; nil: not recorded
}

func newPlayer(t *testing.T, rung string, b Bounds) (*player, error) {
	r, err := lock.Find(rung)
	if err != nil {
		return nil, err
	}
	if !IsExplorable(r) {
		return nil, fmt.Errorf("%s cannot be explored: its locks are not in Redis", r.Number)
	}
	if err := b.fits(r); err != nil {
		return nil, err
	}
	servers, err := newServers(r)
	if err != nil {
		return nil, err
	}
	return &player{t: t, rung: r, bounds: b, servers: servers}, nil
}

// IsExplorable reports whether a rung keeps its locks in Redis, or needs no server for them.
func IsExplorable(r lock.Rung) bool {
	return !slices.ContainsFunc(r.Needs, func(need string) bool {
		return need != lock.NeedRedis && need != lock.NeedRedlock
	})
}

// Play plays one schedule.
func (p *player) Play(choose func([]search.Option) int) (search.End, error) {
	return p.play(func(choices []choice) int { return choose(optionsOf(choices)) }), nil
}

// play plays one schedule, whose steps are chosen with all that is known of them.
func (p *player) play(choose func([]choice) int) (end search.End) {
	p.inBubble(func(w *world) {
		end.Whole = w.run(func(choices []choice) int {
			p.choices = choices
			n := choose(choices)
			if n >= 0 && p.taken != nil {
				p.taken[choices[n].ID] = true
			}
			return n
		})
		if end.Whole {
			w.finish()
		}
		end.Broken = map[history.Verdict]int{}
		for verdict, violation := range w.judge.violated {
			end.Broken[verdict] = violation.At
		}
	})
	return end
}

// inBubble calls do with a new world, in a bubble of testing/synctest.
func (p *player) inBubble(do func(*world)) {
	synctest.Test(p.t, func(*testing.T) {
		w := newWorld(p.rung, p.bounds, p.servers)
		defer w.end()
		do(w)
	})
}

// policy returns the policy of a search that reorders no steps, but lets options sleep unless it is plain.
func (p *player) policy() search.Policy {
	policy := search.Policy{Divergence: p.divergence}
	if !p.bounds.Plain {
		policy.Independent = func(a, b search.Option) bool { return commuteInPlace(p.choice(a), p.choice(b)) }
	}
	return policy
}

// choice returns the current choice that is this option.
func (p *player) choice(o search.Option) choice {
	return p.choices[slices.IndexFunc(p.choices, func(c choice) bool { return c.ID == o.ID })]
}

// errDiverged ends a search: the same choices must make the same schedule.
var errDiverged = errors.New("a schedule did not go the same way twice")

// divergence is the error of a schedule that cannot take a step that it took before.
func (p *player) divergence(taken []search.Option, step search.Option, options []search.Option) error {
	return fmt.Errorf("%w: %s could not be taken after %s; possible steps: %s", errDiverged, step, p.trace(taken),
		stepNames(options))
}

// trace returns the trace of steps.
func (p *player) trace(steps []search.Option) schedule.Trace {
	trace := schedule.Trace{Rung: p.rung.Number, Situation: p.bounds.Situation}
	for _, step := range steps {
		trace.Steps = append(trace.Steps, step.Step)
	}
	return trace
}

// isCutShort reports whether a search must stop at its bounds.
func (p *player) isCutShort(t *search.Tally) bool {
	return p.bounds.Schedules > 0 && t.Total() >= p.bounds.Schedules
}

// isSurprised reports whether a search may end because a verdict was broken that should hold.
func (p *player) isSurprised(t *search.Tally) bool {
	if !p.bounds.UntilSurprise {
		return false
	}
	for v := range t.Found {
		if !p.isExpected(v) {
			return true
		}
	}
	return false
}

func (p *player) isExpected(v history.Verdict) bool {
	breaks, _, _ := catalog.ExpectSchedules(p.rung.Number, p.bounds.Situation, FaultNames(p.bounds))
	return slices.Contains(breaks, v)
}
