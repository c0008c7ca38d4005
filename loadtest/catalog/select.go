package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is one cell that is to be run.
type Spec struct {
	Scenario   Scenario
	Rung       Rung
	Instances  int
	Repetition int

	longer float64 // the factor by which its leases are lengthened, 0 if they are not
}

// Title names the cell as histories do.
func (s Spec) Title() string {
	return fmt.Sprintf("%s %s %s", s.Scenario.Name, s.Rung.Number, s.Rung.Name)
}

// Select returns the cells of the named scenarios and rungs, each as often as repeat says, in the table's order.
// No names means all. A rung goes by number or by name. A name that is not known is an error that lists those known.
func Select(scenarios, rungs []string, instances, repeat int) ([]Spec, error) {
	if err := known("scenario", scenarios, scenarioNames()); err != nil {
		return nil, err
	}
	if err := known("rung", rungs, rungNames()); err != nil {
		return nil, err
	}
	var specs []Spec
	for _, s := range Table {
		if len(scenarios) > 0 && !slices.Contains(scenarios, s.Name) {
			continue
		}
		for _, e := range s.Expect {
			rung := RungOf(e.Rung)
			if len(rungs) > 0 && !slices.Contains(rungs, rung.Number) && !slices.Contains(rungs, rung.Name) {
				continue
			}
			for i := range repeat {
				specs = append(specs, Spec{Scenario: s, Rung: rung, Instances: s.size(instances), Repetition: i + 1})
			}
		}
	}
	return specs, nil
}

func (s Scenario) size(several int) int {
	if s.Instances == Several {
		return several
	}
	return s.Instances
}

func known(what string, names, all []string) error {
	for _, n := range names {
		if !slices.Contains(all, n) {
			return fmt.Errorf("there is no %s %q; there are %s", what, n, strings.Join(all, ", "))
		}
	}
	return nil
}

func scenarioNames() []string {
	var names []string
	for _, s := range Table {
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
