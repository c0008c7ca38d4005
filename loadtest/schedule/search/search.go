package search

import (
	"slices"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// An Option is a step that may come next.
type Option struct {
	schedule.Step
	// ID is the same for the same step in every state. The step itself names a command by its place among those that
	// wait, which changes.
	ID string
}

// A World plays schedules, each from its beginning.
type World interface {
	// Play plays one schedule. It calls choose before each step with what may come next, at least one option, and takes
	// the one whose index is returned; -1 ends the schedule.
	Play(choose func([]Option) int) (End, error)
}

// An End is how a schedule has ended.
type End struct {
	Whole  bool                    // it went on until nothing could come next
	Broken map[history.Verdict]int // which verdicts broke, and after how many steps each shows
}

// A Policy is what a search leaves to its user.
type Policy struct {
	// Most bounds what is played. A nil bound is none.
	Most func(Level) bool
	// FaultsFirst plays all schedules with fewer faults before those with more.
	FaultsFirst bool
	// Independent reports whether two options of one state may be taken in either order with the same result and as many
	// changes of turn, so that one order is enough. Nil: no two are.
	Independent func(a, b Option) bool
	// Hopeless reports whether no schedule that begins with these steps is wanted. Nil: all are.
	Hopeless func(steps []Option, level Level) bool
	// Diverged returns the error that ends the search when a schedule cannot take a step that it took before. If Diverged
	// is nil, or returns nil, only that schedule ends.
	Diverged func(taken []Option, step Option, options []Option) error
}

// A Search is a search in progress.
type Search struct {
	Policy

	Complete  int // schedules that are whole
	Redundant int // schedules that were stopped, since others are as good
	Diverged  int // schedules that could not take a step that they took before

	frontier frontier
	inPlay   []*Schedule
	played   map[Level]int // whole schedules, by what they had at their end
	lost     []Level       // of schedules whose continuations are unknown
	err      error
}

// New returns a search of all schedules of a world.
func New(p Policy) *Search {
	s := &Search{Policy: p, frontier: frontier{faultsFirst: p.FaultsFirst}, played: map[Level]int{}}
	s.add(path{})
	return s
}

// All plays schedules until none is left, or until stop, unless nil, reports that the search may end. It reports whether
// none was left.
func (s *Search) All(w World, stop func() bool) (bool, error) {
	for {
		if s.IsEmpty() {
			return true, s.err
		}
		if stop != nil && stop() {
			return false, s.err
		}
		one := s.Next()
		if one == nil {
			return true, s.err
		}
		end, err := w.Play(one.Choose)
		if err != nil {
			return false, err
		}
		if s.Done(one, end); s.err != nil {
			return false, s.err
		}
	}
}

// IsEmpty reports whether no schedule is left to be played, and none is being played.
func (s *Search) IsEmpty() bool { return s.Left() == 0 && len(s.inPlay) == 0 }

// Left returns the number of paths that are left. Each is the beginning of at least one schedule.
func (s *Search) Left() int { return s.frontier.Len() }

// Next returns the next schedule to be played, nil if there is none at the moment: one in play may leave more. Hand it
// back by [Search.Done], or by [Search.Again].
func (s *Search) Next() *Schedule {
	for s.frontier.Len() > 0 {
		if p := s.frontier.next(); !s.isHopeless(p) {
			one := &Schedule{search: s, path: p, last: noOne}
			s.inPlay = append(s.inPlay, one)
			return one
		}
	}
	return nil
}

// Done takes back a schedule that was played. What it left to be tried is played later. It returns the error of
// [Policy.Diverged].
func (s *Search) Done(one *Schedule, end End) error {
	s.remove(one)
	switch {
	case one.diverged != nil && s.Policy.Diverged != nil:
		d := one.diverged
		s.err = s.Policy.Diverged(one.steps, d.step, d.options)
		fallthrough
	case one.diverged != nil:
		s.Diverged++
		s.lost = append(s.lost, one.path.Level)
	case end.Whole:
		s.Complete++
		s.played[one.Level()]++
	default:
		s.Redundant++
	}
	for _, p := range one.branches {
		s.add(p)
	}
	return s.err
}

// Again returns a schedule that is to be played in place of another one, from the same path.
func (s *Search) Again(one *Schedule) *Schedule {
	again := &Schedule{search: s, path: one.path, last: noOne}
	s.inPlay[slices.Index(s.inPlay, one)] = again
	return again
}

// GiveUp takes back a schedule that could not be played. Its continuations stay unknown.
func (s *Search) GiveUp(one *Schedule) {
	s.remove(one)
	s.lost = append(s.lost, one.path.Level)
}

func (s *Search) remove(one *Schedule) {
	i := slices.Index(s.inPlay, one)
	s.inPlay = slices.Delete(s.inPlay, i, i+1)
}

// IsWhole reports whether all schedules within a level were played.
func (s *Search) IsWhole(most Level) bool {
	return !slices.ContainsFunc(s.lost, func(l Level) bool { return l.within(most) }) &&
		!slices.ContainsFunc(s.inPlay, func(o *Schedule) bool { return o.path.within(most) }) &&
		!slices.ContainsFunc(s.frontier.paths, func(p path) bool { return p.within(most) })
}

// Played returns the number of whole schedules within a level that have exactly its faults.
func (s *Search) Played(most Level) (n int) {
	for l, of := range s.played {
		if l.Faults == most.Faults && l.Changes <= most.Changes {
			n += of
		}
	}
	return n
}

func (s *Search) add(p path) {
	if (s.Most == nil || s.Most(p.Level)) && !s.isHopeless(p) {
		s.frontier.add(p)
	}
}

func (s *Search) isHopeless(p path) bool { return s.Hopeless != nil && s.Hopeless(p.steps, p.Level) }
