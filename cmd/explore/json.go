package main

import (
	"encoding/json"
	"os"

	"stockapi/internal/explore"
)

// A document holds the bounds and the cells. --json writes it.
type document struct {
	Clients  int   `json:"clients"`
	Nodes    int   `json:"nodes"`
	Stock    int64 `json:"stock"`
	Faults   int   `json:"faults"`
	Switches int   `json:"switches,omitempty"` // the limit, if there is one
	// Interrupted is true if the cells are not all: those that were explored before the program was interrupted.
	Interrupted bool           `json:"interrupted,omitempty"`
	Cells       []documentCell `json:"cells"`
}

// A documentCell holds the result of one rung under one kind of fault.
type documentCell struct {
	Rung      string              `json:"rung"`
	Situation string              `json:"situation,omitempty"`
	Fault     string              `json:"fault"`
	Schedules int                 `json:"schedules"`
	Exhausted bool                `json:"exhausted"`
	Surprise  string              `json:"surprise,omitempty"` // in what it is not as expected
	Found     []documentViolation `json:"violations"`
}

// A documentViolation is the shortest counterexample for one verdict.
type documentViolation struct {
	Verdict  explore.Verdict `json:"verdict"`
	Because  string          `json:"because"` // in a sentence
	Faults   int             `json:"faults"`
	Switches int             `json:"switches"`
	Steps    int             `json:"steps"`
	Trace    string          `json:"trace"`
	After    int             `json:"after"` // how many schedules were run until the verdict was first seen broken
}

// writeJSON writes what was found to the file that --json names.
func (f *flags) writeJSON(tasks []*task, r *results) error {
	if f.JSON == "" {
		return nil
	}
	doc := document{Clients: f.Clients, Nodes: f.Nodes, Stock: f.Stock, Faults: f.Faults, Switches: f.Switches,
		Interrupted: r.interrupted}
	for _, one := range tasks {
		cell := documentCell{Rung: one.cell.Rung, Situation: one.cell.Situation, Fault: one.cell.Fault,
			Schedules: one.cell.Schedules,
			Exhausted: one.cell.Exhausted, Surprise: one.surprise(), Found: []documentViolation{}}
		for i, found := range one.cell.Found {
			cell.Found = append(cell.Found, documentViolation{found.Verdict, one.stories[i].Sentence(found.Violation),
				found.Faults, found.Switches, len(found.Trace.Steps), found.Trace.String(), found.FoundAfter})
		}
		doc.Cells = append(doc.Cells, cell)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.JSON, append(text, '\n'), 0o644)
}
