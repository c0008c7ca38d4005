package search

// Peek returns the level of the path that is played next, false if none is left.
func (s *Search) Peek() (Level, bool) {
	if s.frontier.Len() == 0 {
		return Level{}, false
	}
	return s.frontier.paths[0].Level, true
}

// Less reports whether a level is played before another one if faults come first.
func (l Level) Less(other Level) bool {
	return l.Faults < other.Faults || l.Faults == other.Faults && l.Changes < other.Changes
}

// LeftWith returns the number of paths that are left with that many faults. Each is the beginning of a schedule.
func (s *Search) LeftWith(faults int) (n int) {
	for _, p := range s.frontier.paths {
		if p.Faults == faults {
			n++
		}
	}
	return n
}
