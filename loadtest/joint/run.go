package joint

import (
	"context"

	"stockapi/loadtest/history"
)

// An introduction is what a party tells of itself before the first cell.
type introduction struct {
	Run   *history.Run
	Label string
}

// Introduce exchanges the parties' introductions, and returns the common run: the first party's, with all parties
// listed.
func (p *Party) Introduce(ctx context.Context, mine *history.Run) (*history.Run, error) {
	all, err := exchange(ctx, p, "hello", introduction{mine, p.Label()})
	if err != nil {
		return nil, err
	}
	run := *all[0].Run
	for i, other := range all {
		run.Parties = append(run.Parties, history.Party{
			Name: nameOf(i), Label: other.Label, Machine: other.Run.Machine, Stockapi: other.Run.Backend.Stockapi,
		})
	}
	return &run, nil
}

// Seed returns the seed of this party's load in the cell of that number: no two in a run are the same.
func (p *Party) Seed(run uint64, cell int) uint64 { return run + uint64(cell) + uint64(p.number)<<32 }
