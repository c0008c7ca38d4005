package main

import (
	"encoding/json"
	"os"

	"stockapi/cmd/explore/explore"
)

// A document is the file of --json.
type document struct {
	Clients int `json:"clients"`
	Faults  int `json:"faults"`
	// Interrupted is true if the program was interrupted before it had explored all cells.
	Interrupted bool           `json:"interrupted,omitempty"`
	Cells       []documentCell `json:"cells"`
}

// A documentCell is the result of one rung under one kind of fault.
type documentCell struct {
	explore.Exploration
	Surprise string `json:"surprise,omitempty"` // how it differs from its expectation
}

// writeJSON writes the results to the file of --json, if there is one.
func (f *flags) writeJSON(tasks []*task, r *results) error {
	if f.JSON == "" {
		return nil
	}
	doc := document{Clients: f.Clients, Faults: f.Faults, Interrupted: r.interrupted}
	for _, one := range tasks {
		doc.Cells = append(doc.Cells, documentCell{one.cell, one.surprise()})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.JSON, append(text, '\n'), 0o644)
}
