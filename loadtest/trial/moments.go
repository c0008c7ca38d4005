package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
)

// mostHeld bounds how many requests a row of cells holds, one a cell: some shops connect for each order, and send five
// requests before the sale begins.
const mostHeld = 12

// linesAt returns the line for each of these numbers, only for the last mostHeld if there are more.
func linesAt(line string, numbers []int) (lines []string) {
	lines = []string{}
	for _, k := range numbers[max(0, len(numbers)-mostHeld):] {
		lines = append(lines, fmt.Sprintf(line, k))
	}
	return lines
}

// each plays the lines of a fault, one after the other, and returns the most telling cell: the first with a defect, or
// else by weight. If a busy machine decided one, all are played again. With --quick it stops at the first that breaks.
func (t *Trial) each(f fault, play func(fault) (*history.Cell, error)) (*history.Cell, error) {
	var cells []*history.Cell
	for _, line := range f.lines {
		one := f
		one.line, one.lines = line, nil
		c, err := play(one)
		if err != nil {
			return nil, err
		}
		if cells = append(cells, c); t.Quick && t.tellsAll(c) {
			break
		}
	}
	if len(cells) == 0 {
		return t.notTested(f, whyNoMoment(t.passport, f.name)), nil
	}
	told := mostTelling(cells)
	if told.Defect != nil && len(cells) > 1 {
		told.Defect.Shown += "; " + moments(f.lines, cells)
	}
	return told, nil
}

// tellsAll reports whether no other moment of a fault can tell more than a cell: it has a defect, or the stock is
// broken, if it is judged at all. Before an order has read the stock, a lost lock breaks nothing else.
func (t *Trial) tellsAll(c *history.Cell) bool {
	isJudged := t.shop.Left != "" && t.unbalanced == ""
	return c.Defect != nil || c.NotTested == nil && hasBroken(c) &&
		(!isJudged || c.Finding(history.Stock).Result == history.Broken)
}

func hasBroken(c *history.Cell) bool { return history.FirstBroken(c.Findings).Verdict != "" }

// mostTelling returns the first cell of least weight.
func mostTelling(cells []*history.Cell) *history.Cell {
	return slices.MinFunc(cells, func(x, y *history.Cell) int { return cmp.Compare(weight(x), weight(y)) })
}

// weight is smaller for a more telling cell. One in which the database kept Bert waiting outweighs one that is ok: it
// may be the one that matters.
func weight(c *history.Cell) int {
	switch {
	case c.Defect != nil:
		return 0
	case c.NotTested != nil && c.Count != nil && c.Count.Kept:
		return 4
	case c.NotTested != nil:
		return 6
	case c.Finding(history.Stock).Result == history.Broken:
		return 1
	case hasBroken(c):
		return 2
	case c.IsVoid():
		return 3
	}
	return 5
}

// moments returns at which moments of a fault its cells have a defect: tried at 3, 5, 7: a defect at 5, 7.
func moments(lines []string, cells []*history.Cell) string {
	var tried, at []string
	for i, c := range cells {
		mark, _, _ := strings.Cut(lines[i], ".")
		number := strings.TrimLeft(mark, "a<>db")
		if slices.Contains(tried, number) { // the last reply, after the requests
			number += " answered"
		}
		tried = append(tried, number)
		if c.Defect != nil {
			at = append(at, tried[i])
		}
	}
	return fmt.Sprintf("tried at %s: a defect at %s", strings.Join(tried, ", "), strings.Join(at, ", "))
}

// whyNoMoment returns why a fault has no moment in a sale.
func whyNoMoment(p *sale.Passport, fault string) string {
	switch {
	case p.Elsewhere && p.ToDatabase.Why != "":
		return p.ToDatabase.Why
	case fault == "after-release":
		return "a sale sends nothing after its release"
	}
	return p.ToDatabase.String()
}
