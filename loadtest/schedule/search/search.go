package search

import (
	"slices"

	"stockapi/loadtest/history"
)

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
	// Hopeless reports whether no schedule that begins so is wanted, now and later. Nil: all are.
	Hopeless func(Prefix) bool
	// Divergence returns the error that ends the search when a schedule cannot take a step that it took before. If
	// Divergence is nil, or returns nil, only that schedule ends.
	Divergence func(taken []Option, step Option, options []Option) error
}

// A Search is a search in progress.
type Search struct {
	Policy
	Tally

	frontier frontier
	inPlay   []*Schedule
	played   map[Level]int  // whole schedules, by what they had at their end
	diverged map[int]int    // schedules, by the faults of their paths
	unplayed map[Level]bool // of prefixes beyond the bounds, and of those whose continuations are unknown
}

// New returns a search of all schedules of a world.
func New(p Policy) *Search {
	s := &Search{Policy: p, frontier: frontier{faultsFirst: p.FaultsFirst}, played: map[Level]int{},
		diverged: map[int]int{}, unplayed: map[Level]bool{}}
	s.add(path{})
	return s
}

// All plays schedules until none is left, or until stop, unless nil, reports that the search may end. It reports
// whether none was left.
func (s *Search) All(w World, stop func() bool) (bool, error) {
	for s.Left() > 0 {
		if stop != nil && stop() {
			return false, nil
		}
		one := s.Next()
		end, err := w.Play(one.Choose)
		if err != nil {
			return false, err
		}
		if err := s.Done(one, end); err != nil {
			return false, err
		}
	}
	return true, nil
}

// IsEmpty reports whether no schedule is left to be played, and none is being played.
func (s *Search) IsEmpty() bool { return s.Left() == 0 && len(s.inPlay) == 0 }

// Left returns the number of paths that are left. Each is the beginning of at least one schedule.
func (s *Search) Left() int {
	for s.frontier.Len() > 0 && s.isHopeless(s.frontier.paths[0].Prefix) {
		s.frontier.next()
	}
	return s.frontier.Len()
}

// LeftWith returns the number of paths that are left with that many faults.
func (s *Search) LeftWith(faults int) (n int) {
	for _, p := range s.frontier.paths {
		if p.Faults == faults {
			n++
		}
	}
	return n
}

// Peek returns the level of the path that is played next, false if none is left.
func (s *Search) Peek() (Level, bool) {
	if s.Left() == 0 {
		return Level{}, false
	}
	return s.frontier.paths[0].Level, true
}

// Next returns the next schedule to be played, nil if there is none at the moment: one in play may leave more. Hand it
// back by [Search.Done], [Search.Again] or [Search.GiveUp].
func (s *Search) Next() *Schedule {
	if s.Left() == 0 {
		return nil
	}
	one := &Schedule{search: s, path: s.frontier.next()}
	s.inPlay = append(s.inPlay, one)
	return one
}

// Done takes back a schedule that was played. What it left to be tried is played later. It returns the error of
// [Policy.Divergence].
func (s *Search) Done(one *Schedule, end End) (err error) {
	s.remove(one)
	s.Count(one, end)
	switch {
	case one.diverged != nil:
		s.diverged[one.path.Faults]++
		s.unplayed[one.path.Level] = true
		if d := one.diverged; s.Divergence != nil {
			err = s.Divergence(one.steps, d.step, d.options)
		}
	case end.Whole:
		s.played[one.Level()]++
	case !one.stopped: // its world has ended it
		s.unplayed[one.path.Level] = true
	}
	for _, p := range one.branches {
		s.add(p)
	}
	return err
}

// Again returns a schedule that is to be played in place of another one, from the same path.
func (s *Search) Again(one *Schedule) *Schedule {
	again := &Schedule{search: s, path: one.path}
	s.inPlay[slices.Index(s.inPlay, one)] = again
	return again
}

// GiveUp takes back a schedule that could not be played. Its continuations stay unknown.
func (s *Search) GiveUp(one *Schedule) {
	s.remove(one)
	s.unplayed[one.path.Level] = true
}

func (s *Search) remove(one *Schedule) {
	i := slices.Index(s.inPlay, one)
	s.inPlay = slices.Delete(s.inPlay, i, i+1)
}

// IsWhole reports whether all schedules within a level were played, but for those that the policy leaves out as
// redundant or hopeless.
func (s *Search) IsWhole(most Level) bool {
	for l := range s.unplayed {
		if l.within(most) {
			return false
		}
	}
	return !slices.ContainsFunc(s.inPlay, func(o *Schedule) bool { return o.path.within(most) }) &&
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

// DivergedWith returns the number of schedules that could not take a step of their path, of those that had that many
// faults.
func (s *Search) DivergedWith(faults int) int { return s.diverged[faults] }

func (s *Search) add(p path) {
	switch {
	case s.isHopeless(p.Prefix):
	case s.Most != nil && !s.Most(p.Level):
		s.unplayed[p.Level] = true
	default:
		s.frontier.add(p)
	}
}

func (s *Search) isHopeless(p Prefix) bool { return s.Hopeless != nil && s.Hopeless(p) }
