package catalog

import (
	"fmt"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

// An Expectation says what must be found when a rung meets a scenario, and why, in one sentence.
type Expectation struct {
	Rung    string
	Results map[history.Verdict]history.Result // one for each verdict
	Why     string
}

// outcome lists the verdicts that break. Whatever else can be asked of the rung holds.
type outcome []history.Verdict

var (
	holds         = outcome{}
	soldTwice     = outcome{history.Stock} // whatever the lock did
	shared        = outcome{history.Exclusion}
	oversold      = outcome{history.Stock, history.Exclusion}
	freed         = outcome{history.OwnRelease}
	oversoldFreed = outcome{history.Stock, history.Exclusion, history.OwnRelease}
	stuck         = outcome{history.Liveness}
	overtaken     = outcome{history.Order}
	herded        = outcome{history.Herd}
)

// groups name every rung once and say what becomes of it in a scenario.
type groups []group

// A group names rungs that come to the same for the same reason.
type group struct {
	rungs  []string
	others bool // the rungs are all those that no group names
	like   Variant
	skip   bool // the scenario does not apply to them
	breaks outcome
	why    string
}

// on says what the rungs of these numbers, separated by spaces, come to, and why.
func on(rungs string, breaks outcome, why string) groups {
	return groups{{rungs: strings.Fields(rungs), breaks: breaks, why: why}}
}

// like says that a rung comes to the same as another, for the same reason. A variant that no group names does so too.
func like(rung string, of Variant) groups {
	return groups{{rungs: []string{rung}, like: of}}
}

// skip says that the scenario does not apply to these rungs, and why.
func skip(rungs, why string) groups {
	return groups{{rungs: strings.Fields(rungs), skip: true, why: why}}
}

// skipOthers says that the scenario does not apply to the rungs that no group names, and why.
func skipOthers(why string) groups { return groups{{others: true, skip: true, why: why}} }

func all(parts ...groups) groups { return slices.Concat(parts...) }

// What several scenarios say alike.
var (
	// needNoFault are rungs that a crowd alone breaks.
	needNoFault = all(
		skip("v0", "it guards nothing: a crowd alone breaks it, as one-instance and two-instances show"),
		skip("v0.5", "its mutex ends at the instance's border: two-instances breaks it without any fault"),
		skip("v11-two", "it lets two in: two-instances breaks it without any fault"),
	)
	// takeNoLock are the rungs of which no lock can expire.
	takeNoLock = skip("v16 v17", "it has no lock, so there is nothing to expire or to release")
	// haveOneServer are the rungs to which nothing can happen that concerns some of several nodes.
	haveOneServer = skipOthers("its lock does not lie on several nodes")
)

// complete gives each scenario its expectations. It panics if the groups of one do not name every rung exactly once:
// that is a mistake in this package.
func complete(scenarios []Scenario) []Scenario {
	for i := range scenarios {
		if err := scenarios[i].expand(); err != nil {
			panic(fmt.Sprintf("the catalogue is wrong: %s: %s", scenarios[i].Name, err))
		}
	}
	return scenarios
}

// expand makes the expectations of the groups. It returns an error that names each rung that is missing, named twice or
// not known, or that an outcome does not fit.
func (s *Scenario) expand() error {
	named, others, err := s.groups.byRung()
	if err != nil {
		return err
	}
	s.NotApplicable = map[string]string{}
	for _, r := range Rungs {
		g, err := groupOf(r, named, others)
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

// groupOf returns what is said of a rung. A rung that is like another, as a variant is, follows that one, which may be
// like a third.
func groupOf(r Rung, named map[string]group, others *group) (group, error) {
	g, ok := named[r.Number]
	switch {
	case !ok && others != nil:
		return *others, nil
	case !ok && r.Variant.Of != "":
		g = group{like: r.Variant}
	case !ok:
		return g, fmt.Errorf("nothing is said of %s", r.Number)
	}
	as := ""
	for range Rungs {
		of := g.like
		if of.Of == "" {
			g.why = as + g.why
			return g, nil
		}
		as += of.words()
		if g, ok = named[of.Of]; !ok {
			g = group{like: RungOf(of.Of).Variant}
		}
		if !ok && g.like.Of == "" {
			return g, fmt.Errorf("%s is to be like %s, of which nothing is said", r.Number, of.Of)
		}
	}
	return g, fmt.Errorf("%s is to be like itself", r.Number)
}

// byRung returns the group that names each rung, by its number, and the group of all others, if there is one.
func (gs groups) byRung() (named map[string]group, others *group, err error) {
	named = map[string]group{}
	for _, g := range gs {
		if g.others {
			others = &g
		}
		for _, number := range g.rungs {
			if _, twice := named[number]; twice {
				return nil, nil, fmt.Errorf("%s is named twice", number)
			}
			if RungOf(number).Number == "" {
				return nil, nil, fmt.Errorf("there is no rung %s", number)
			}
			named[number] = g
		}
	}
	return named, others, nil
}

// expectation gives every verdict its result: what breaks, what holds, and what cannot be asked of the rung.
func (s *Scenario) expectation(r Rung, g group) (Expectation, error) {
	e := Expectation{Rung: r.Number, Why: g.why, Results: map[history.Verdict]history.Result{}}
	for _, v := range history.Verdicts {
		asked, breaks := v == s.Asks || slices.Contains(r.Asked, v), slices.Contains(g.breaks, v)
		switch {
		case breaks && !asked:
			return e, fmt.Errorf("%s cannot break %s: it is not asked of it", r.Number, v)
		case breaks:
			e.Results[v] = history.Broken
		case asked:
			e.Results[v] = history.OK
		default:
			e.Results[v] = history.NotApplicable
		}
	}
	return e, nil
}

// words begin the reason of a variant.
func (v Variant) words() string {
	if v.When == "" {
		return "as " + v.Of + ": "
	}
	return "as " + v.Of + ", " + v.When + ": "
}
