package html

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// severity says how bad a cell's violations are. Each has a colour, by its class, a sign and words of its own, because
// not everybody can tell the colours apart.
type severity struct{ class, sign, words string }

var (
	stockBroken = severity{"stock-broken", "✖", "stock broken"}
	lockBroken  = severity{"lock-broken", "▲", "lock broken"}
	stuck       = severity{"stuck", "■", "stuck"}
	unfair      = severity{"unfair", "◆", "unfair"}
)

// A judged verdict has the severity of its violations, and the sign that the matrix gives them.
type judged struct {
	verdict  history.Verdict
	severity severity
	sign     sign
}

// severities are those of the verdicts. The worst come first.
var severities = []judged{
	{history.Stock, stockBroken, stockSign},
	{history.Exclusion, lockBroken, lockSign},
	{history.OwnRelease, lockBroken, lockSign},
	{history.Fence, lockBroken, lockSign},
	{history.Liveness, stuck, stuckSign},
	{history.Order, unfair, orderSign},
	{history.Herd, unfair, herdSign},
}

// worstOf returns the worst verdict that is broken in a cell, and false if none is.
func worstOf(c *history.Cell) (worst judged, broken bool) {
	at := slices.IndexFunc(severities, func(j judged) bool { return c.Finding(j.verdict).Result == history.Broken })
	if at < 0 {
		return judged{}, false
	}
	return severities[at], true
}

// severityOf returns the severity of the cell's worst violation, and none without a class if nothing is broken.
func severityOf(c *history.Cell) severity {
	worst, _ := worstOf(c)
	s := worst.severity
	if s == lockBroken && c.Finding(history.Stock).Result == history.OK {
		s.words += ", stock safe"
	}
	return s
}

// severityOfVerdict returns the severity of a violation of that verdict.
func severityOfVerdict(v history.Verdict) severity {
	at := slices.IndexFunc(severities, func(j judged) bool { return j.verdict == v })
	return severities[max(at, 0)].severity
}

// headline says in a line what a timeline shows of a violation: its sign, its severity and what happened.
func (d *drawing) headline() {
	f := d.window.finding
	if f.Result != history.Broken {
		return
	}
	s := severityOfVerdict(f.Verdict)
	words := s.words
	if worst := severityOf(d.cell); s.class == worst.class {
		words = worst.words
	}
	what := violations[f.Verdict]
	switch first := evidenceOf(f); {
	case f.Verdict == history.Stock && len(first.Orders) > 1:
		what = fmt.Sprintf("unit %d was sold twice", first.Unit)
	case f.Verdict == history.Exclusion:
		if op := d.refused(); op != nil {
			what += "; the stock refused the late write of order " + clip(short(d.cell, op), 24)
		}
	}
	d.group("headline "+s.class, "")
	d.sign(s, 14, d.top-36)
	d.put("verdict", spot{x: 26, y: d.top - 32, text: words + ": " + lower(what)})
	d.end()
}

// lower returns a sentence without its capital, as the end of another one.
func lower(s string) string { return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// refused returns an order whose write the stock refused.
func (d *drawing) refused() *history.Op {
	for _, op := range d.window.ops {
		if refusedWriteOf(op) != nil {
			return op
		}
	}
	return nil
}

// sign draws the sign of a severity around a point. It is a path, because fonts differ.
func (d *drawing) sign(s severity, x, y float64) {
	path := map[string]string{
		stockBroken.class: "M%s %sm-5 -5l10 10m0 -10l-10 10",
		lockBroken.class:  "M%s %sm0 -6l6.5 11.5h-13z",
		stuck.class:       "M%s %sm-5 -5h10v10h-10z",
		unfair.class:      "M%s %sm0 -6l6 6l-6 6l-6 -6z",
	}[s.class]
	d.el("path", s.words, "class", "sign", "d", fmt.Sprintf(path, number(x), number(y)))
}
