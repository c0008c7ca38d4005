package html

import (
	"fmt"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// finding is one thing that the run shows, for the top of the page: a label and a sentence with links.
type finding struct {
	Label string
	Parts []part
}

// part is a piece of a sentence; with a link it is one.
type part struct{ Text, Link string }

// findings tells three things of the run: which scenario breaks most rungs, which rungs hold there, and what one of
// the broken cells shows. Without a broken cell there is nothing to tell.
func findings(groups []*group) []finding {
	worst, all := worst(groups)
	if worst == nil {
		return nil
	}
	var most []part
	if all != nil {
		most = append(breaks(all), part{"; ", ""})
	}
	most = append(most, breaks(worst)...)
	if worst.Does != "" {
		most = append(most, part{": " + worst.Does, ""})
	}
	out := []finding{{"Breaks most", append(most, part{".", ""})}}
	if held := held(worst); len(held) > 0 {
		out = append(out, finding{"Holds there", held})
	}
	example := worst.with(isSign(stockSign))
	if len(example) == 0 {
		example = worst.with(isBroken)
	}
	s := example[0]
	return append(out, finding{"For example", []part{{s.Title, s.ID}, {": " + s.Story, ""}}})
}

// worst returns the scenario that breaks most rungs and yet not all, so that something can be learnt of those that
// hold. If one that breaks all its rungs breaks more, it returns that too. If each scenario breaks all of its rungs, or
// none, worst is the one that breaks most.
func worst(groups []*group) (worst, all *group) {
	most := func(is func(*group) bool) (g *group) {
		for _, h := range groups {
			if h.broken() > 0 && is(h) && (g == nil || h.broken() > g.broken()) {
				g = h
			}
		}
		return g
	}
	worst = most(func(g *group) bool { return g.broken() < g.ran() })
	all = most(func(g *group) bool { return g.broken() == g.ran() })
	if worst == nil {
		return all, nil
	}
	if all == nil || all.broken() <= worst.broken() {
		return worst, nil
	}
	return worst, all
}

func (g *group) broken() int { return len(g.with(isBroken)) }

func (g *group) ran() int { return len(g.with(func(c *history.Cell) bool { return c.NotRun == "" })) }

// breaks says how many of a scenario's rungs it breaks, and of how many it breaks the stock.
func breaks(g *group) []part {
	of := "rungs"
	if g.ran() == 1 {
		of = "rung"
	}
	text := fmt.Sprintf(" breaks %d of %d %s", g.broken(), g.ran(), of)
	switch n := len(g.with(isSign(stockSign))); n {
	case 0:
	case g.broken():
		text += ", and the stock on all of them"
	default:
		text += fmt.Sprintf(", and the stock on %d of them", n)
	}
	return []part{{g.Name, g.ID}, {text, ""}}
}

// held lists the rungs of a scenario in which no violation was found, and those whose lock broke and whose stock did
// not.
func held(g *group) []part {
	out := listed(g.with(isSign(okSign)))
	if safe := g.with(isSign(lockSign)); len(safe) > 0 {
		if len(out) > 0 {
			out = append(out, part{". ", ""})
		}
		out = append(append(out, part{"Lock broken, stock right: ", ""}), listed(safe)...)
	}
	if len(out) > 0 {
		out = append(out, part{".", ""})
	}
	return out
}

func listed(sections []*section) []part {
	var out []part
	for i, s := range sections {
		if i > 0 {
			out = append(out, part{", ", ""})
		}
		out = append(out, part{rungName(s.row.Rung, s.row.Name), s.ID})
	}
	return out
}

// with returns the sections whose cell is as is says.
func (g *group) with(is func(*history.Cell) bool) []*section {
	var out []*section
	for _, s := range g.Sections {
		if is(s.row.Shown()) {
			out = append(out, s)
		}
	}
	return out
}

func isBroken(c *history.Cell) bool { return c.NotRun == "" && audit.Story(c.Findings) != "" }

func isSign(s sign) func(*history.Cell) bool {
	return func(c *history.Cell) bool { return signOf(c) == s }
}
