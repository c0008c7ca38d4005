package replay

import (
	"context"
	"errors"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// attempts has the factor by which the times of each attempt are stretched. On a busy machine the first attempt may be
// too fast: a timer that fires too early adds a command that is not in the trace. The last one is for traces that could
// not be completed before.
var attempts = []float64{1, 2, 4, 8}

// Prove replays a trace until it breaks the verdicts or no attempt is left, and returns the last cell. A single replay
// that breaks them is proof. Before each attempt it calls begin with the factor, and with the error of the previous
// attempt if that could not be completed; after each step it calls step.
func (e *Environment) Prove(
	ctx context.Context, t schedule.Trace, breaks []history.Verdict, begin func(longer float64, because error),
	step func(Line),
) (*history.Cell, error) {
	var cell *history.Cell
	var err error
	for i, longer := range attempts {
		if i == len(attempts)-1 && err == nil {
			break
		}
		begin(longer, err)
		cell, err = e.Play(ctx, t, longer, step)
		if ctx.Err() != nil || errors.As(err, new(cluster.Needs)) || err == nil && len(Missing(cell, breaks)) == 0 {
			break
		}
	}
	return cell, err
}
