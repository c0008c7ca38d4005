package html

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// A sign shows at a glance what is worst in a cell: a word for the matrix, words for all else, and a class for its
// colour and mark, because not everybody can tell the colours apart.
type sign struct{ Word, Words, Class, Means string }

var (
	stockSign = sign{"stock", "stock broken", "broken stock-broken", "units were sold twice, or the books do not balance"}
	lockSign  = sign{"lock", "lock broken", "broken lock-broken", "the lock is broken, the stock is right"}
	stuckSign = sign{"stuck", "stuck", "broken stuck", "nothing is sold wrongly, but a fresh request does not get through"}
	orderSign = sign{"order", "unfair", "broken unfair", "the lock holds, but waiters get it out of turn"}
	herdSign  = sign{"herd", "unfair", "broken unfair", "the lock holds, but a release wakes all waiters"}
	okSign    = sign{"ok", "ok", "ok", "no violation was found"}
	doubtSign = sign{"?", "unknown", "unknown", "unknown: nothing is proved either way"}
	voidSign  = sign{"invalid", "invalid", "invalid", "a measurement of the client or of the machine, and not of the lock"}
	noneSign  = sign{"–", "not run", "none", "not run"}
)

// signs has the sign of each severity, the worst first.
var signs = []sign{stockSign, lockSign, stuckSign, orderSign, herdSign, voidSign, doubtSign, okSign, noneSign}

// severity returns the class of the marks of a violation, and none for another sign.
func (s sign) severity() string {
	_, class, _ := strings.Cut(s.Class, " ")
	return class
}

// signOf returns the sign of a cell.
func signOf(c *history.Cell) sign {
	if c.NotAsked != nil {
		return noneSign
	}
	return signOfAll(c.Findings...)
}

// signOfAll returns the sign of what is worst among findings.
func signOfAll(findings ...history.Finding) sign { return signs[history.SeverityOf(findings)] }

// signsIn lists the signs that the cells have, the worst first.
func signsIn(groups []*group) []sign {
	return slices.DeleteFunc(slices.Clone(signs), func(s sign) bool {
		has := func(one *section) bool { return one.sign == s }
		return !slices.ContainsFunc(groups, func(g *group) bool { return slices.ContainsFunc(g.Sections, has) })
	})
}

// whatHappened says what a broken verdict is about.
func whatHappened(f history.Finding) string {
	if first := evidenceOf(f); f.Verdict == history.Stock && len(first.Orders) > 1 {
		return fmt.Sprintf("unit %d was sold twice", first.Unit)
	}
	return terminal.Happenings[f.Verdict]
}

// headline says in a line what a timeline shows of a violation: its sign, in words, and what happened.
func (d *drawing) headline() {
	f := d.window.finding
	if f.Result != history.Broken {
		return
	}
	s, what := signOfAll(f), whatHappened(f)
	words := s.inWords(d.cell)
	if refused := d.refused(); f.Verdict == history.Exclusion && refused != nil {
		what += "; the stock refused the late write of " + d.cell.OrderName(refused.Order)
	}
	d.group("headline "+s.severity(), "")
	d.sign(s, 14, d.top-36)
	if what != "" {
		words += ": " + what
	}
	d.put("verdict", spot{x: 26, y: d.top - 32, text: words})
	d.end()
}

// inWords adds to the words whether the stock of the cell is right although its lock is broken.
func (s sign) inWords(c *history.Cell) string {
	if s == lockSign && c.Finding(history.Stock).Result == history.OK {
		return s.Words + ", stock safe"
	}
	return s.Words
}

// refused returns an order whose write the stock refused.
func (d *drawing) refused() *history.Op {
	for _, op := range d.window.ops {
		if refusedWriteOf(op) != nil {
			return op
		}
	}
	return nil
}

// sign draws the mark of a violation around a point. It is a path, because fonts differ.
func (d *drawing) sign(s sign, x, y float64) {
	path := map[string]string{
		stockSign.Class: "M%s %sm-5 -5l10 10m0 -10l-10 10",
		lockSign.Class:  "M%s %sm0 -6l6.5 11.5h-13z",
		stuckSign.Class: "M%s %sm-5 -5h10v10h-10z",
		orderSign.Class: "M%s %sm0 -6l6 6l-6 6l-6 -6z",
	}[s.Class]
	d.el("path", s.Words, "class", "sign", "d", fmt.Sprintf(path, number(x), number(y)))
}
