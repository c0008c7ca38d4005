package replay

import (
	"context"
	"fmt"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
)

// An Environment starts the servers and the instances of replays, several at a time.
type Environment struct{ *rig.Testbed }

// Open returns an environment; of its options only Backend, Stockapi and Say are used. If one of its processes dies on
// its own, the returned context ends with that as its cause.
func Open(ctx context.Context, of cluster.Options) (*Environment, context.Context, error) {
	of.Product = "lt-replay"
	b, ctx, err := rig.Open(ctx, of)
	return &Environment{b}, ctx, err
}

// Check returns why a trace cannot be replayed; nil if there is no known reason.
func Check(t schedule.Trace) error {
	rung, why := catalog.RungOf(t.Rung), t.VirtualOnly()
	switch {
	case why != "":
		return fmt.Errorf("%s is %s", t, why)
	case rung.Number == "":
		return fmt.Errorf("there is no rung %s", t.Rung)
	case rung.Kind != catalog.Redis && !rung.OnNodes() && rung.Kind != catalog.NoLock:
		return fmt.Errorf("%s cannot be replayed: its locks are not in Redis", t.Rung)
	}
	return nil
}

// Play replays a trace, with all times multiplied by longer, and returns the cell with its verdicts. It calls show
// after each step. An error means that the trace could not be replayed; a broken verdict is a finding, not an error.
func (e *Environment) Play(
	ctx context.Context, t schedule.Trace, longer float64, show func(Line),
) (*history.Cell, error) {
	if err := Check(t); err != nil {
		return nil, err
	}
	r := &replay{Environment: e, trace: t, rung: catalog.RungOf(t.Rung), times: usual.longer(longer)}
	defer r.close()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	return r.play(ctx, longer, show)
}
