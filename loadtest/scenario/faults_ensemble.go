package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// ensembleWait bounds the wait of an order for a lock whose holder has to find its servers again.
const ensembleWait = 10 * time.Second

// loseLeader is minority-down for an ensemble of three: its leader dies while a holds the lock. The other two elect a
// leader, and the holder goes on in its session. The next order on b waits behind it.
func (f *faultCell) loseLeader(ctx context.Context) error {
	first, err := f.holdFirst(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	others, err := f.killLeader(ctx, first)
	if err != nil {
		return err
	}
	if err := f.waitElected(ctx, first, others); err != nil {
		return err
	}
	err = f.serveBehind(ctx, first)
	first.recordFaultOn(lockServer, begun, time.Now(), "whose ensemble lost its leader, one server of three")
	if err == nil && first.op.Outcome != history.Sold {
		return fmt.Errorf("order %s lost its lock with one server of three: %s", first.ID, first.op.Detail)
	}
	return err
}

// loseEnsemble is majority-down for an ensemble of three: two servers die for good while a holds the lock.
func (f *faultCell) loseEnsemble(ctx context.Context) error {
	first, begun, _, err := f.withoutMajority(ctx)
	if err != nil {
		return err
	}
	err = first.finish(ctx)
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers away")
	return err
}

// ensembleReturns is quorum-returns for an ensemble of three: one of the two servers that died returns. The next order
// on b waits behind a, which still has its lock.
func (f *faultCell) ensembleReturns(ctx context.Context) error {
	first, begun, dead, err := f.withoutMajority(ctx)
	if err != nil {
		return err
	}
	if err := dead.Restart(ctx); err != nil {
		return err
	}
	first.recordFaultOn(lockServer, begun, time.Now(), "with two of three servers away")
	f.probes = []int{b}
	return f.serveBehind(ctx, first)
}

// withoutMajority kills two servers of three while a holds the lock, and lets an order on b ask for it in vain. It
// returns one of the dead.
func (f *faultCell) withoutMajority(ctx context.Context) (
	first *pending, begun time.Time, dead *cluster.ZooKeeper, err error,
) {
	if first, err = f.holdFirst(ctx); err != nil {
		return nil, begun, nil, err
	}
	begun = time.Now()
	others, err := f.killLeader(ctx, first)
	if err != nil {
		return nil, begun, nil, err
	}
	dead = others[0]
	dead.Kill()
	if err := first.waitUntil(ctx, func() (bool, error) {
		_, failed := others[1].Leads(ctx)
		return failed != nil, nil
	}); err != nil {
		return nil, begun, nil, err
	}
	return first, begun, dead, f.order(ctx, b, "2", client.Order{}).waitAnswered(ctx)
}

// killLeader kills the leader of the ensemble, and returns the others.
func (f *faultCell) killLeader(ctx context.Context, o *pending) (others []*cluster.ZooKeeper, err error) {
	servers := f.Targets.Ensemble
	for i, m := range servers {
		if leads, err := m.Leads(ctx); err != nil {
			return nil, err
		} else if leads {
			m.Kill()
			return slices.Delete(slices.Clone(servers), i, i+1), nil
		}
	}
	return nil, errors.New("no server of the ensemble leads: " + o.ID)
}

// waitElected waits until one of these servers leads the others.
func (f *faultCell) waitElected(ctx context.Context, o *pending, servers []*cluster.ZooKeeper) error {
	return o.waitUntil(ctx, func() (bool, error) {
		return slices.ContainsFunc(servers, func(m *cluster.ZooKeeper) bool {
			leads, err := m.Leads(ctx)
			return leads && err == nil
		}), nil
	})
}

// serveBehind sends orders to b until one waits for the lock, which the first order holds. Those before it have found
// no server yet. Then both go on.
func (f *faultCell) serveBehind(ctx context.Context, first *pending) error {
	next, held := (*pending)(nil), false
	if err := first.waitUntil(ctx, func() (done bool, err error) {
		next = f.order(ctx, b, fmt.Sprintf("next-%d", len(f.orders)), client.Order{
			Fault: "hold@after:" + f.rung.Taken, Wait: ensembleWait,
		})
		held, err = next.waitHeldOrAnswered(ctx)
		return held || next.op.Outcome != history.NotSold, err
	}); err != nil {
		return err
	}
	if held {
		if err := next.endHold(ctx); err != nil {
			return err
		}
	}
	if err := first.finish(ctx); err != nil {
		return err
	}
	return next.waitAnswered(ctx)
}
