package html

import (
	"slices"
)

// A group has the cells of a scenario, in the order of the ladder.
type group struct {
	ID, Name, Does string
	Sections       []*section
}

// groupsOf groups the sections by scenario, in their order, and links each with its neighbours.
func groupsOf(sections []*section) []*group {
	var groups []*group
	for _, s := range sections {
		at := slices.IndexFunc(groups, func(g *group) bool { return g.Name == s.row.Scenario.Name })
		if at < 0 {
			at = len(groups)
			id := "~" + safe(s.row.Scenario.Name) // no cell's ID has a tilde
			groups = append(groups, &group{ID: id, Name: s.row.Scenario.Name, Does: s.row.Scenario.Does})
		}
		groups[at].Sections = append(groups[at].Sections, s)
	}
	link(groups)
	return groups
}

// A walk has the links to a cell's neighbours in the matrix: Left and Right in its scenario, Up and Down of its rung.
// Any may be nil.
type walk struct{ Left, Right, Up, Down *neighbour }

type neighbour struct{ Link, Text string }

func link(groups []*group) {
	above := map[string]*section{} // by rung
	for _, g := range groups {
		slices.SortStableFunc(g.Sections, func(a, b *section) int { return byHeight(a.row, b.row) })
		for i, s := range g.Sections {
			if i > 0 {
				left := g.Sections[i-1]
				s.Walk.Left, left.Walk.Right = &neighbour{left.ID, left.row.Rung}, &neighbour{s.ID, s.row.Rung}
			}
			if up := above[s.row.Rung]; up != nil {
				s.Walk.Up, up.Walk.Down = &neighbour{up.ID, up.row.Scenario.Name}, &neighbour{s.ID, g.Name}
			}
			above[s.row.Rung] = s
		}
	}
}
