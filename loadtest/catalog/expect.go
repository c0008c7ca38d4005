package catalog

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// Breaks are the verdicts that break. All others that apply to the rung hold.
type Breaks []history.Verdict

// The outcomes that most tables use.
var (
	Holds         = Breaks{}
	SoldTwice     = Breaks{history.Stock} // whether or not the lock held
	Shared        = Breaks{history.Exclusion}
	Oversold      = Breaks{history.Stock, history.Exclusion}
	Freed         = Breaks{history.OwnRelease}
	OversoldFreed = Breaks{history.Stock, history.Exclusion, history.OwnRelease}
	Stuck         = Breaks{history.Liveness}
	Overtaken     = Breaks{history.InOrder}
	Herded        = Breaks{history.Herd}
)

// Groups name every rung once, with its outcome in a scenario.
type Groups []group

// A group is a set of rungs with the same outcome for the same reason.
type group struct {
	rungs  []string
	others bool // all rungs that no group names, except variants of a rung that one names
	like   Variant
	skip   bool // the scenario does not apply to them
	breaks Breaks
	why    string
}

// On returns a group: the rungs with these numbers, separated by spaces, the verdicts that break, and why.
func On(rungs string, breaks Breaks, why string) Groups {
	return Groups{{rungs: strings.Fields(rungs), breaks: breaks, why: why}}
}

// Like returns a group: a rung with the outcome and the reason of another one. A variant that no group names is like
// its rung by default.
func Like(rung string, of Variant) Groups {
	return Groups{{rungs: []string{rung}, like: of}}
}

// Skip returns a group: rungs to which the scenario does not apply, and why.
func Skip(rungs, why string) Groups {
	return Groups{{rungs: strings.Fields(rungs), skip: true, why: why}}
}

// SkipOthers returns a group: the rungs that no other group names, to which the scenario does not apply, and why. A
// variant of a named rung is not among them: it follows that rung.
func SkipOthers(why string) Groups { return Groups{{others: true, skip: true, why: why}} }

// Expecting returns the scenario with the expectations of the groups. It panics if they do not name every rung exactly
// once, which is a mistake in a table.
func (s Scenario) Expecting(parts ...Groups) Scenario {
	if err := s.expand(slices.Concat(parts...)); err != nil {
		panic(fmt.Sprintf("the catalogue is wrong: %s: %s", s.Name, err))
	}
	return s
}

// expand makes the expectations of the groups. Its error names a rung that is missing, named twice or unknown, or whose
// outcome has a verdict that does not apply to it.
func (s *Scenario) expand(of Groups) error {
	groups, err := of.byRung()
	if err != nil {
		return err
	}
	s.NotApplicable = map[string]string{}
	for _, r := range Rungs {
		g, err := groups.groupOf(r.Number, len(Rungs))
		if err != nil {
			return err
		}
		if g.skip {
			s.NotApplicable[r.Number] = g.why
			continue
		}
		e, err := s.expectation(r, g)
		if err != nil {
			return err
		}
		s.Expect = append(s.Expect, e)
	}
	return nil
}

// A grouping maps each named rung, by number, to its group, and holds the group of all others, if there is one.
type grouping struct {
	named  map[string]group
	others *group
}

// groupOf returns the group of a rung. A rung that no group names follows the rung that it is a variant of, which may
// follow a third: a chain of at most that length. A rung whose chain leads to no named group is one of the others.
func (t grouping) groupOf(number string, chain int) (group, error) {
	g, named := t.named[number]
	if !named {
		g.like = RungOf(number).Variant
	}
	switch {
	case named && g.like.Of == "":
		return g, nil
	case g.like.Of == "" && t.others != nil:
		return *t.others, nil
	case g.like.Of == "":
		return g, fmt.Errorf("%s has no expectation", number)
	case chain == 0:
		return g, fmt.Errorf("%s is to be like itself", number)
	}
	of, err := t.groupOf(g.like.Of, chain-1)
	if !of.others {
		of.why = asWords(g.like) + of.why
	}
	return of, err
}

// byRung sorts the groups by the rungs that they name.
func (gs Groups) byRung() (grouping, error) {
	t := grouping{named: map[string]group{}}
	for _, g := range gs {
		if g.others {
			t.others = &g
		}
		for _, number := range g.rungs {
			if _, twice := t.named[number]; twice {
				return t, fmt.Errorf("%s is named twice", number)
			}
			if RungOf(number).Number == "" {
				return t, fmt.Errorf("there is no rung %s", number)
			}
			t.named[number] = g
		}
	}
	return t, nil
}

// expectation gives every verdict its result: broken, ok, or not applicable.
func (s *Scenario) expectation(r Rung, g group) (Expectation, error) {
	e := Expectation{Rung: r.Number, Why: g.why, Results: map[history.Verdict]history.Result{}}
	for _, v := range history.Verdicts {
		judged, breaks := v == s.AlsoJudged || slices.Contains(r.Judged, v), slices.Contains(g.breaks, v)
		switch {
		case breaks && !judged:
			return e, fmt.Errorf("%s cannot break %s, which is not judged for it", r.Number, v)
		case breaks:
			e.Results[v] = history.Broken
		case judged:
			e.Results[v] = history.OK
		default:
			e.Results[v] = history.NotApplicable
		}
	}
	return e, nil
}

// asWords returns the beginning of the reason of a rung that is like another.
func asWords(v Variant) string {
	if v.When == "" {
		return "as " + v.Of + ": "
	}
	return "as " + v.Of + ", " + v.When + ": "
}
