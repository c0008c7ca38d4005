package history

import "slices"

// A FoundDefect is a defect of a shop on trial, and the cells that have it.
type FoundDefect struct {
	Defect
	Cells []string `json:"cells"` // their names, first the one that shows it
	First *Cell    `json:"-"`
}

// DefectsOf returns the defects of a trial's cells, one for each cause, in the order of the cells. Those without a
// remedy come last: another one may explain them.
func DefectsOf(cells []*Cell) []FoundDefect {
	all := []FoundDefect{}
	for _, c := range cells {
		if c.Defect == nil {
			continue
		}
		i := slices.IndexFunc(all, func(d FoundDefect) bool { return d.Cause == c.Defect.Cause })
		if i < 0 {
			i, all = len(all), append(all, FoundDefect{Defect: *c.Defect, First: c})
		}
		all[i].Cells = append(all[i].Cells, c.Scenario)
	}
	slices.SortStableFunc(all, func(x, y FoundDefect) int {
		return min(len(y.Remedy), 1) - min(len(x.Remedy), 1)
	})
	return all
}
