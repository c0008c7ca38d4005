package html

import (
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// The page of a replay is that of its trace: without a matrix, but with the steps.

func isReplay(c *history.Cell) bool { return c.Kind == history.Replay }

// ofReplay makes the page that of a trace, the only one.
func (p *page) ofReplay(r *catalog.Row, s *section) {
	c := r.Shown().Cell
	p.Trace = shown(c.Scenario)
	p.Title, s.Title, s.Alone = p.Trace, catalog.RungTitle(r.Rung, r.Name)+" on real processes", true
	var broken []string
	for _, f := range c.Findings {
		if f.Result == history.Broken {
			broken = append(broken, string(f.Verdict))
		}
	}
	p.Good = len(r.Surprises)+len(r.Unknown)+len(r.Invalid) == 0 && c.NotTested == nil
	switch {
	case len(r.Surprises) > 0:
		p.Outcome = "Not as expected"
	case !p.Good:
		p.Outcome = "Not measured"
	case len(broken) == 0:
		p.Outcome = "No violation was found"
	default:
		p.Outcome = strings.Join(broken, ", ") + " BROKEN"
	}
}

// steps are those of a replay, each in the column of its client.
type steps struct {
	Clients []string
	Lines   []step
}

type step struct {
	At, What, Holds string
	Columns         []string // nil if no client took it
}

// stepsOf returns the steps of a cell, nil if it has none.
func stepsOf(c *history.Cell) *steps {
	if len(c.Steps) == 0 {
		return nil
	}
	all := &steps{}
	for _, in := range c.Instances {
		all.Clients = append(all.Clients, brief(in.Name))
	}
	for _, one := range c.Steps {
		s := step{At: one.At.String(), What: brief(one.What), Holds: shown(strings.ReplaceAll(one.Holds, "  ", ", "))}
		for i, name := range all.Clients {
			if name != brief(one.Client) {
				continue
			}
			s.Columns = make([]string, len(all.Clients))
			s.Columns[i] = s.What
		}
		all.Lines = append(all.Lines, s)
	}
	return all
}

// replayCommand returns the command line that replays the trace of a cell.
func replayCommand(c *history.Cell) string {
	words := []string{"go", "run", "./loadtest", "replay", c.Scenario}
	if len(c.Breaks) > 0 {
		var names []string
		for _, v := range c.Breaks {
			names = append(names, string(v))
		}
		words = append(words, "--expect", strings.Join(names, ","))
	}
	return shown(terminal.ShellLine(words))
}
