package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// recoveries are the scenarios after which the time to the next success says something about a lock.
var recoveries = []string{"crash", "pause", "cut-off", "node-restart", "redis-down"}

// RecoveryTitle and RecoveryNote explain the figures of a [Recovery].
const (
	RecoveryTitle = "how soon the next request got through, by where the locks lie"
	RecoveryNote  = "from when the holder was dead, stopped or cut off, or the servers were back; " +
		"never: none got through; >: it gave up then, as the holder still had the lock"
)

// A Recovery says how soon requests get through after a fault: a line per scenario, a column per kind of lock.
type Recovery struct {
	Kinds []catalog.Kind
	Lines []RecoveryLine
}

// A RecoveryLine is a scenario with the TTL of its locks, or of their sessions, and a cell for each kind.
type RecoveryLine struct {
	Scenario, TTL string
	Cells         []string
}

// NewRecovery returns the table of what was run, or nil if that is too little to compare.
func NewRecovery(rows []*catalog.Row) *Recovery {
	rows = filter(rows, func(r *catalog.Row) bool {
		return slices.Contains(recoveries, r.Scenario.Name) && slices.ContainsFunc(r.Cells, played)
	})
	t := &Recovery{Kinds: filter(catalog.Kinds, func(kind catalog.Kind) bool {
		return slices.ContainsFunc(rows, func(r *catalog.Row) bool { return catalog.KindOf(r.Rung) == kind })
	})}
	for _, name := range recoveries {
		of := filter(rows, func(r *catalog.Row) bool { return r.Scenario.Name == name })
		if len(of) == 0 {
			continue
		}
		line := RecoveryLine{Scenario: name, TTL: filter(of[0].Cells, played)[0].TTL.String()}
		for _, kind := range t.Kinds {
			line.Cells = append(line.Cells,
				inShort(filter(of, func(r *catalog.Row) bool { return catalog.KindOf(r.Rung) == kind })))
		}
		t.Lines = append(t.Lines, line)
	}
	if len(t.Lines) < 2 {
		return nil
	}
	return t
}

// played reports whether the cell was run to its end.
func played(c *catalog.Assessment) bool { return c.NotRun == "" && c.Aborted == "" }

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}

// A next is the result of the next request of a rung.
type next struct {
	rung   string
	result int
	took   time.Duration
}

const (
	through = iota
	gaveUp
	never
)

// nextOf returns the median over the row's repetitions.
func nextOf(r *catalog.Row) next {
	var all []next
	for _, c := range filter(r.Cells, played) {
		took, got := audit.Next(c.Cell)
		n := next{r.Rung, gaveUp, took}
		switch {
		case c.Finding(history.Liveness).Result != history.OK:
			n.result = never
		case got:
			n.result = through
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b next) int { return cmp.Or(a.result-b.result, cmp.Compare(a.took, b.took)) })
	return all[(len(all)-1)/2]
}

// inShort summarizes the next requests of rungs of one kind, and names those that differ from most.
func inShort(rows []*catalog.Row) string {
	var texts []string
	for result, sign := range []string{through: "", gaveUp: "> ", never: "never"} {
		var rungs []string
		var took []time.Duration
		for _, r := range rows {
			if n := nextOf(r); n.result == result {
				rungs, took = append(rungs, n.rung), append(took, n.took)
			}
		}
		if len(rungs) == 0 {
			continue
		}
		text := sign
		if result != never {
			text += between(slices.Min(took), slices.Max(took))
		}
		if result != through && len(rungs) < len(rows) {
			text = strings.Join(rungs, " ") + " " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// between renders the range of several durations.
func between(shortest, longest time.Duration) string {
	from, to := shortest.Round(time.Millisecond).Milliseconds(), longest.Round(time.Millisecond).Milliseconds()
	if from == to {
		return fmt.Sprintf("%d ms", to)
	}
	return fmt.Sprintf("%d–%d ms", from, to)
}

// Recoveries prints the table, if there is one. Its columns share the width.
func (p Printer) Recoveries(rows []*catalog.Row) {
	r := NewRecovery(rows)
	if r == nil {
		return
	}
	head := table.Row{"", "TTL"}
	var configs []table.ColumnConfig
	const names = 20 // the width of the first two columns
	for i, kind := range r.Kinds {
		head = append(head, string(kind))
		configs = append(configs, table.ColumnConfig{Number: i + 3,
			WidthMax: (p.width()-names)/len(r.Kinds) - 1, WidthMaxEnforcer: text.WrapSoft})
	}
	t := newTable(head, configs...)
	for _, l := range r.Lines {
		line := table.Row{l.Scenario, l.TTL}
		for _, text := range l.Cells {
			line = append(line, text)
		}
		t.AppendRow(line)
	}
	p.wrapped("", 0, RecoveryTitle)
	p.wrapped("", 0, RecoveryNote)
	lines, _ := rendered(t)
	p.lines(lines)
}
