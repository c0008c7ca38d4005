package trial

import (
	"slices"
	"strings"

	"stockapi/loadtest/trial/sale"
)

// A Planned is a cell that a trial may play, as it is for a stock in Redis.
type Planned struct {
	Name string `json:"name"` // N is the number of a command
	// Line is the fault as a line, "" if none can express it. The lines of a slow or a renewed order may be longer.
	Line string `json:"line,omitempty"`
	// Quick means that --quick plays the cell. QuickIf restricts that to some commands, such as "it acquires".
	Quick   bool     `json:"quick"`
	QuickIf string   `json:"quick_if,omitempty"`
	Needs   []string `json:"needs,omitempty"` // what the shop needs, besides a lease that is short enough to wait for
}

// Cells returns all cells, in the order in which they are played.
func Cells() (all []Planned) {
	for _, f := range ofAnyShop() {
		c := Planned{Name: f.name, Line: f.line, Quick: f.quick || f.some != "", QuickIf: f.some}
		for _, need := range slices.Concat(f.needs, needsOf(f.parsed())) {
			if need.what != "" && !slices.Contains(c.Needs, need.what) {
				c.Needs = append(c.Needs, need.what)
			}
		}
		if strings.HasSuffix(f.name, " N") {
			c.Line = strings.Replace(f.line, "1", "N", 1)
		}
		if f.lines != nil { // it has one for each command after the release
			c.Line, c.Needs = strings.Replace(heldAfter, "%d", "N", 1), append(c.Needs, "a command after the release")
		}
		all = append(all, c)
	}
	return all
}

// ofAnyShop returns the faults before a sale is learned: those of one command, whose number is N.
func ofAnyShop() []fault {
	all := faultsFor(&sale.Passport{Steps: make([]sale.Step, 1)})
	for i := range all {
		all[i].name = numbered.ReplaceAllString(all[i].name, "$1 N")
	}
	return all
}
