package search

import (
	"slices"

	"stockapi/loadtest/history"
)

// A Tally counts schedules that were played, and keeps the shortest that broke each verdict.
type Tally struct {
	Complete  int // schedules that are whole
	Redundant int // schedules that were stopped, since others are as good
	Diverged  int // schedules that could not take a step that they took before
	Found     map[history.Verdict]Found
}

// A Found is the shortest prefix that breaks a verdict.
type Found struct {
	Prefix
	After int // how many schedules were played until the verdict first broke, maybe by a longer one
}

// Count counts a schedule. What it broke before it was stopped counts, too.
func (t *Tally) Count(one *Schedule, end End) {
	switch {
	case one.HasDiverged():
		t.Diverged++
	case end.Whole:
		t.Complete++
	default:
		t.Redundant++
	}
	for verdict, steps := range end.Broken {
		t.find(verdict, Prefix{one.LevelAt(steps), one.steps[:steps]})
	}
}

func (t *Tally) find(verdict history.Verdict, p Prefix) {
	best, known := t.Found[verdict]
	if known && !p.IsShorter(best.Prefix) {
		return
	}
	if !known {
		best.After = t.Total()
	}
	p.Steps = slices.Clone(p.Steps)
	if t.Found == nil {
		t.Found = map[history.Verdict]Found{}
	}
	t.Found[verdict] = Found{p, best.After}
}

// Total returns how many schedules were played, each to its end or until it was stopped.
func (t *Tally) Total() int { return t.Complete + t.Redundant + t.Diverged }
