package html

import (
	"slices"

	"stockapi/loadtest/history"
)

// A sign shows the worst result of a cell at a glance: a word for the matrix, words for other places, and a CSS class
// for its colour and its mark. The mark is for readers who cannot tell the colours apart.
type sign struct{ Word, Words, Class, Means string }

var (
	stockSign = sign{"stock", "stock broken", "broken stock-broken", "units were sold twice, or the books do not balance"}
	lockSign  = sign{"lock", "lock broken", "broken lock-broken", "the lock is broken, the stock is right"}
	stuckSign = sign{"stuck", "stuck", "broken stuck", "all sales are right, but a fresh request does not get through"}
	orderSign = sign{"order", "unfair", "broken unfair", "the lock holds, but waiters acquire it out of turn"}
	herdSign  = sign{"herd", "unfair", "broken unfair", "the lock holds, but a release wakes all waiters"}
	okSign    = sign{"ok", "ok", "ok", "no violation was found"}
	doubtSign = sign{"?", "unknown", "unknown", "unknown: inconclusive"}
	voidSign  = sign{"invalid", "invalid", "invalid", "it measured the client or the machine, not the lock"}
	noneSign  = sign{"–", "not run", "none", "not run"}
)

// signs has the sign of each severity, the worst first.
var signs = []sign{stockSign, lockSign, stuckSign, orderSign, herdSign, voidSign, doubtSign, okSign, noneSign}

func signOf(c *history.Cell) sign {
	if c.NotTested != nil {
		return noneSign
	}
	return signOfAll(c.Findings...)
}

// signOfAll returns the sign of the worst finding.
func signOfAll(findings ...history.Finding) sign { return signs[history.SeverityOf(findings)] }

// signsIn lists the signs of the cells, the worst first.
func signsIn(groups []*group) []sign {
	return slices.DeleteFunc(slices.Clone(signs), func(s sign) bool {
		has := func(one *section) bool { return one.sign == s }
		return !slices.ContainsFunc(groups, func(g *group) bool { return slices.ContainsFunc(g.Sections, has) })
	})
}

// inWords returns the words, with "stock safe" if the lock of the cell is broken and its stock is right.
func (s sign) inWords(c *history.Cell) string {
	if s == lockSign && c.Finding(history.Stock).Result == history.OK {
		return s.Words + ", stock safe"
	}
	return s.Words
}
