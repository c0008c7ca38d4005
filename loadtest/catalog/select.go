package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// First returns the names of the scenarios and rungs of a first run.
func (t Table) First() (scenarios, rungs []string) {
	for _, s := range t {
		if s.First {
			scenarios = append(scenarios, s.Name)
		}
	}
	for _, r := range Rungs {
		if r.First {
			rungs = append(rungs, r.Number)
		}
	}
	return scenarios, rungs
}

// Select returns the cells of the named scenarios and rungs, each repeat times, in the table's order. No names means
// all. A rung goes by number or by name. An unknown name is an error, and so is a selection without a cell.
func (t Table) Select(scenarios, rungs []string, instances, repeat int) ([]Spec, error) {
	scenarios, rungs = lower(scenarios), lower(rungs)
	if err := known("scenario", scenarios, t.names()); err != nil {
		return nil, err
	}
	if err := known("rung", rungs, rungNames()); err != nil {
		return nil, err
	}
	var specs []Spec
	for _, s := range t {
		if !s.among(scenarios) {
			continue
		}
		for _, e := range s.Expect {
			rung := RungOf(e.Rung)
			if !rung.among(rungs) {
				continue
			}
			for i := range repeat {
				specs = append(specs, Spec{Scenario: s, Rung: rung, Instances: s.size(instances), Repetition: i + 1})
			}
		}
	}
	if len(specs) == 0 {
		return nil, t.noCell(scenarios, rungs)
	}
	return specs, nil
}

// noCell returns an error with the reason why the first of the scenarios does not apply to the first of the rungs.
func (t Table) noCell(scenarios, rungs []string) error {
	for _, s := range t {
		for _, r := range Rungs {
			if why := s.NotApplicable[r.Number]; why != "" && s.among(scenarios) && r.among(rungs) {
				return fmt.Errorf("no cell is left: %s does not apply to %s: %s; \"loadtest list %s\" lists the scenarios that do",
					s.Name, r.Number, why, r.Number)
			}
		}
	}
	return errors.New("no cell is left: --repeat is 0")
}

// Part returns the named scenarios with only the named rungs. Without a scenario among the names it returns all of
// them; without a rung, each has all rungs. A name that a scenario and a rung share is the scenario's. An unknown name
// is an error.
func (t Table) Part(names []string) (Table, error) {
	scenarios, rungs, err := t.Sort(names)
	if err != nil {
		return nil, err
	}
	var part Table
	for _, s := range t {
		if s.among(scenarios) {
			part = append(part, s.with(rungs))
		}
	}
	return part, nil
}

// Sort splits names into scenarios and rungs; see [Table.Part].
func (t Table) Sort(names []string) (scenarios, rungs []string, err error) {
	names = lower(names)
	if err := known("scenario or rung", names, t.Known()); err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		if slices.Contains(t.names(), n) {
			scenarios = append(scenarios, n)
		} else {
			rungs = append(rungs, n)
		}
	}
	return scenarios, rungs, nil
}

// lower returns the names in lower case, as in the tables: prose has V4 and RedLock.
func lower(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	return out
}

// with returns the scenario with only these rungs.
func (s Scenario) with(rungs []string) Scenario {
	whole := s
	s.Expect, s.NotApplicable = nil, map[string]string{}
	for _, e := range whole.Expect {
		if RungOf(e.Rung).among(rungs) {
			s.Expect = append(s.Expect, e)
		}
	}
	for number, why := range whole.NotApplicable {
		if RungOf(number).among(rungs) {
			s.NotApplicable[number] = why
		}
	}
	return s
}

// among reports whether the scenario is named, or no name is given.
func (s Scenario) among(names []string) bool {
	return len(names) == 0 || slices.Contains(names, s.Name)
}

// among reports whether the rung is named, by number or by name, or no name is given.
func (r Rung) among(names []string) bool {
	return len(names) == 0 || slices.Contains(names, r.Number) || slices.Contains(names, r.Name)
}

func (s Scenario) size(several int) int {
	if s.Instances == Several {
		return several
	}
	return s.Instances
}

func known(what string, names, all []string) error {
	for _, n := range names {
		if slices.Contains(all, n) {
			continue
		}
		if near := DidYouMean(n, all); near != "" {
			return fmt.Errorf("there is no %s %q%s", what, n, near)
		}
		return fmt.Errorf("there is no %s %q; there are %s", what, n, strings.Join(all, ", "))
	}
	return nil
}

// Known returns the names of all scenarios and rungs, and the numbers of the rungs.
func (t Table) Known() []string { return slices.Concat(t.names(), rungNames()) }

func (t Table) names() []string {
	var names []string
	for _, s := range t {
		names = append(names, s.Name)
	}
	return names
}

func rungNames() []string {
	var names []string
	for _, r := range Rungs {
		names = append(names, r.Number, r.Name)
	}
	return names
}
