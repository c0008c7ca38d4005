package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

const (
	// untilHealed delays requests for longer than any cell lasts.
	untilHealed = time.Hour
	// farAway is the delay to the nodes of others once the vote was split. Who asks that much earlier than the others gets
	// in. It is longer than a busy machine usually stands still, and short beside the delay between two tries.
	farAway = 150 * time.Millisecond
)

// injectSplitVote lets an order on each of three instances ask for the lock at once. Each instance is near to nodes of
// its own: two, two and one. The requests to the nodes of others are held on the links until every node is taken, so
// nobody gets a majority. Later ones are only late. The orders are the fresh requests of the cell: one has to get in
// within its limit, and all of them in the end.
func injectSplitVote(ctx context.Context, f *faultCell) error {
	near := [][]string{nodes(1, 2), nodes(3, 4), nodes(5, 5)}
	if err := f.warmUp(ctx); err != nil {
		return err
	}
	if err := f.delayToOthers(near, untilHealed); err != nil {
		return err
	}
	begun := time.Now()
	var all []*pending
	for i := range near {
		all = append(all, f.send(ctx, i, strconv.Itoa(i+1), history.Probe, client.Order{Wait: f.cell.Limit * 6 / 5}))
	}
	taken := nodes(1, redlockNodes)
	if !f.rung.Quorum {
		taken = near[a] // the others wait for the first node, which is a's
	}
	if err := all[a].waitUntil(ctx, func() (bool, error) { return f.allTaken(ctx, taken) }); err != nil {
		return err
	}
	split := time.Now()
	if err := errors.Join(f.healAll(), f.delayToOthers(near, farAway)); err != nil {
		return err
	}
	for i, o := range all {
		if f.rung.Quorum {
			o.recordFaultOn(network, begun, split, "granted by %d of five nodes while others had the rest", len(near[i]))
		}
		if err := o.waitAnswered(ctx); err != nil {
			return err
		}
	}
	return f.gotInAfter(all, split)
}

// delayToOthers delays what each instance sends to nodes that are not near to it.
func (f *faultCell) delayToOthers(near [][]string, by time.Duration) error {
	var errs []error
	for i := range near {
		for j := range near {
			if i != j {
				errs = append(errs, f.onLinks(i, near[j], func(l *cluster.Link) error { return l.DelayRequests(by) }))
			}
		}
	}
	return errors.Join(errs...)
}

// allTaken reports whether each of those nodes has a key.
func (f *faultCell) allTaken(ctx context.Context, nodes []string) (bool, error) {
	for _, name := range nodes {
		if n, err := f.Targets.Servers[name].Keys(ctx); n == 0 || err != nil {
			return false, err
		}
	}
	return true, nil
}

// gotInAfter returns an error if an order had the lock before the vote was split, or never got it although one of them
// did. If nobody got in, the verdict on liveness says so.
func (f *faultCell) gotInAfter(all []*pending, split time.Time) error {
	var refused *pending
	sold := 0
	for _, o := range all {
		switch {
		case o.op.Outcome != history.Sold:
			refused = o
		case o.op.Lease.AcquiredAt < history.At(f.cell.Start, split):
			return fmt.Errorf("order %s got in before all nodes were taken", o.ID)
		default:
			sold++
		}
	}
	if refused != nil && sold > 0 {
		return fmt.Errorf("order %s never got in: %s %s", refused.ID, refused.op.Outcome, refused.op.Detail)
	}
	return nil
}
