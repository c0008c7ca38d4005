package html

import (
	"slices"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/report/terminal"
)

// A lesson sums up the run at the top of the page, in the words of the terminal. If there are many cells it shows two
// as pictures: one whose stock broke, and one whose stock did not.
type lesson struct {
	Link      string // to the most instructive scenario
	Sentences []string
	Pictures  []example
}

type example struct {
	*section
	Found string
}

func lessonOf(groups []*group, rows []*catalog.Row, few bool) *lesson {
	name, sentences := terminal.LessonOf(rows)
	if name == "" {
		return nil
	}
	worst := groups[slices.IndexFunc(groups, func(g *group) bool { return g.Name == name })]
	l := &lesson{Link: worst.ID, Sentences: sentences}
	broken := worst.firstOf(func(s *section) bool { return s.sign == stockSign })
	stands := worst.firstOf(survives)
	if few || len(broken) == 0 || len(stands) == 0 {
		return l
	}
	for _, s := range []*section{broken[len(broken)-1], stands[0]} { // the strongest that breaks, and the first to hold
		c := s.row.Shown().Cell
		l.Pictures = append(l.Pictures, example{s, s.inWords(c)})
	}
	return l
}

// firstOf returns the sections that is accepts, limited to rungs of the first run if there are any of those.
func (g *group) firstOf(is func(*section) bool) []*section {
	all := slices.DeleteFunc(slices.Clone(g.Sections), func(s *section) bool { return !is(s) })
	if first := slices.DeleteFunc(slices.Clone(all), notFirst); len(first) > 0 {
		return first
	}
	return all
}

func notFirst(s *section) bool { return !catalog.RungOf(s.row.Rung).First }

// survives reports whether the stock is right, and not merely because orders wait for ever.
func survives(s *section) bool {
	return (s.sign == okSign || s.sign == lockSign) && !catalog.RungOf(s.row.Rung).Endless
}
