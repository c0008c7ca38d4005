package join

import (
	"context"

	"stockapi/loadtest/history"
)

// introduction is what a party says of itself before the first cell.
type introduction struct {
	Run   *history.Run
	Label string
}

// Introduce tells the others what this party is made of, and returns the run that all make together: the first party's,
// with the names of all.
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

// Seed is what this party draws its load from, in the cell of that number: all of them in one run differ.
func (p *Party) Seed(run uint64, cell int) uint64 { return run + uint64(cell) + uint64(p.number)<<32 }
