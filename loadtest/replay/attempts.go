package replay

import (
	"context"

	"stockapi/loadtest/history"
)

// attempts are how often a trace is replayed, and how many times as long as usual everything then takes. A machine that
// is busy may be too slow for the first: a timer that ends too early adds a command that the trace does not have.
var attempts = []float64{1, 2, 4}

// Prove replays a trace until it breaks the verdicts, or no attempt is left. One replay that breaks them is the proof.
func (e *Environment) Prove(
	ctx context.Context, t Trace, breaks []history.Verdict, show func(Line),
) (cell *history.Cell, err error) {
	for _, longer := range attempts {
		cell, err = e.Play(ctx, t, longer, show)
		if ctx.Err() != nil || err == nil && len(Missing(cell, breaks)) == 0 || Check(t) != nil {
			break
		}
	}
	return cell, err
}
