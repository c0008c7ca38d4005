package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A lesson sums up the run at the top of the page: a sentence with links, what the scenario does, and two of
// its cells as pictures, a stock that broke and one that did not.
type lesson struct {
	Sentence []part
	Does     string
	Pictures []example
}

// part is a piece of a sentence; with a link it is one.
type part struct{ Text, Link string }

type example struct {
	*section
	Found string
	SVG   template.HTML
}

// lessonOf tells of a few cells what broke in each. Of more it tells which scenario breaks the locks of most rungs, and
// what survives it. Without a broken cell there is nothing to tell.
func lessonOf(groups []*group, rows []*catalog.Row, few bool) *lesson {
	name := catalog.MostInstructive(rows)
	switch {
	case name == "":
		return nil
	case few:
		return fewLessons(groups)
	}
	worst := groups[slices.IndexFunc(groups, func(g *group) bool { return g.Name == name })]
	most := fmt.Sprintf(" breaks %d of %d rungs", len(worst.with(isBroken)), len(worst.with(ran)))
	leases := slices.DeleteFunc(worst.with(ran), func(s *section) bool { return !expires(s) })
	holds := func(s *section) bool { return !isBroken(s.row.Shown().Cell) }
	if len(leases) > 1 && len(worst.with(isLockBroken)) > 0 && !slices.ContainsFunc(leases, holds) {
		most = " breaks every lock that expires"
	}
	l := &lesson{Does: worst.Does, Sentence: []part{{article(worst.Name), worst.ID}, {most, ""}}}
	broken := worst.firstOf(func(s *section) bool { return s.sign == stockSign })
	stands := worst.firstOf(survives)
	if len(stands) > 0 {
		l.Sentence = append(l.Sentence, part{"; ", ""})
		l.Sentence = append(append(l.Sentence, listed(stands)...), part{map[bool]string{
			true: " survives it", false: " survive it"}[len(stands) == 1], ""})
	}
	l.Sentence = append(l.Sentence, part{".", ""})
	if len(broken) > 0 && len(stands) > 0 {
		for _, s := range []*section{broken[len(broken)-1], stands[0]} { // the strongest that breaks, and the first to hold
			c := s.row.Shown().Cell
			l.Pictures = append(l.Pictures, example{s, s.inWords(c), small(c)})
		}
	}
	return l
}

// fewLessons is a sentence about each cell.
func fewLessons(groups []*group) *lesson {
	l := &lesson{}
	for _, g := range groups {
		for _, s := range g.with(ran) {
			if len(l.Sentence) > 0 {
				l.Sentence = append(l.Sentence, part{"; ", ""})
			}
			l.Sentence = append(l.Sentence, part{s.Title, s.ID}, part{": " + s.inWords(s.row.Shown().Cell), ""})
		}
	}
	l.Sentence = append(l.Sentence, part{".", ""})
	return l
}

// article puts an article before a scenario that is named by a noun: "A pause".
func article(name string) string {
	if strings.Contains(name, "-") {
		return name
	}
	return "A " + name
}

// listed is a list of rungs: those whose lock is broken are listed for their stock.
func listed(sections []*section) (out []part) {
	for i, s := range sections {
		text := s.row.Rung
		if s.sign == lockSign {
			text += "’s stock"
		}
		between := ", "
		if i == len(sections)-1 {
			between = " and "
		}
		if i > 0 {
			out = append(out, part{between, ""})
		}
		out = append(out, part{text, s.ID})
	}
	return out
}

// firstOf returns the sections that ran and are as is says: of the article and the answers to it, if there are any.
func (g *group) firstOf(is func(*section) bool) []*section {
	all := slices.DeleteFunc(g.with(ran), func(s *section) bool { return !is(s) })
	if first := slices.DeleteFunc(slices.Clone(all), notFirst); len(first) > 0 {
		return first
	}
	return all
}

func notFirst(s *section) bool { return !catalog.RungOf(s.row.Rung).First }

// expires reports whether time ends the rung's lock. A database ends a session with its connection alone.
func expires(s *section) bool {
	r := catalog.RungOf(s.row.Rung)
	return r.Kind != "" && r.Kind != catalog.NoLock && !r.OnSession() && !r.Endless
}

// survives reports whether the stock is right, and not because the lock waits for ever.
func survives(s *section) bool {
	return (s.sign == okSign || s.sign == lockSign) && !catalog.RungOf(s.row.Rung).Endless
}

// with returns the sections whose cell is as is says.
func (g *group) with(is func(*history.Cell) bool) []*section {
	var out []*section
	for _, s := range g.Sections {
		if is(s.row.Shown().Cell) {
			out = append(out, s)
		}
	}
	return out
}

func ran(c *history.Cell) bool { return c.NotRun == "" }

func isBroken(c *history.Cell) bool { return ran(c) && history.SeverityOf(c.Findings).Broken() }

func isLockBroken(c *history.Cell) bool {
	return ran(c) && c.Finding(history.Exclusion).Result == history.Broken
}

func isSign(s sign) func(*history.Cell) bool {
	return func(c *history.Cell) bool { return signOf(c) == s }
}
