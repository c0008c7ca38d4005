package html

import (
	"cmp"
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
	var worst *group
	for _, g := range groups {
		if len(g.with(isBroken)) > 0 && (worst == nil || g.instructive(worst) > 0) {
			worst = g
		}
	}
	if worst == nil {
		return nil
	}
	broken, stock := worst.with(isBroken), worst.with(isSign(stockSign))
	most := fmt.Sprintf(" breaks %d of %d rungs, and the stock on %d of them",
		len(broken), len(worst.with(ran)), len(stock))
	if worst.Does != "" {
		most += ": " + worst.Does
	}
	out := []finding{{"Breaks most", []part{{worst.Name, worst.ID}, {most + ".", ""}}}}
	held := append(worst.listed("", okSign), worst.listed(" Lock broken, stock right: ", lockSign)...)
	if len(held) > 0 {
		out = append(out, finding{"Holds there", held})
	}
	example := append(stock, broken...)[0]
	return append(out, finding{"For example", []part{{example.Title, example.ID}, {": " + example.Story, ""}}})
}

// instructive compares how much can be learnt of two scenarios: more of one that breaks most rungs and yet not all.
func (g *group) instructive(h *group) int {
	someHold := func(g *group) int { return min(len(g.with(ran))-len(g.with(isBroken)), 1) }
	return cmp.Or(someHold(g)-someHold(h), len(g.with(isBroken))-len(h.with(isBroken)))
}

// listed is a sentence of the rungs that have that sign, empty if there is none.
func (g *group) listed(label string, s sign) []part {
	out := []part{{label, ""}}
	for i, s := range g.with(isSign(s)) {
		if i > 0 {
			out = append(out, part{", ", ""})
		}
		out = append(out, part{rungName(s.row.Rung, s.row.Name), s.ID})
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, part{".", ""})
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

func isBroken(c *history.Cell) bool { return ran(c) && audit.Story(c.Findings) != "" }

func isSign(s sign) func(*history.Cell) bool {
	return func(c *history.Cell) bool { return signOf(c) == s }
}
