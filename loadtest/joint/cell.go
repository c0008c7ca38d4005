package joint

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/latch"
)

// A Cell is one cell that several parties run together, step by step: Agree, Begin, Sold, Merge. A load generator that
// is alone has a nil Cell, on which each step returns at once.
type Cell struct {
	party  *Party
	name   string
	notRun string
	before latch.Offset // of the clocks, before the cell
}

// Cell returns the cell of that number. notRun says why it cannot be run by this party, if so.
func (p *Party) Cell(number int, notRun string) *Cell {
	return &Cell{party: p, name: fmt.Sprintf("cell-%d", number), notRun: notRun}
}

// First reports whether this party does what has to be done once.
func (c *Cell) First() bool { return c == nil || c.party.First() }

// Prefix returns the beginning of the ids of this party's orders, which no other party uses.
func (c *Cell) Prefix() string {
	if c == nil {
		return ""
	}
	return c.party.Name() + "-"
}

// NotRun says why this party cannot run the cell, if that is known beforehand.
func (c *Cell) NotRun() string {
	if c == nil {
		return ""
	}
	return c.notRun
}

// A claim is what a party tells of a cell before it begins.
type claim struct {
	NotRun    string
	Instances []history.Instance
}

// Agree settles whether the cell is run: if one party cannot run it, none does, and the cell says why. The first party
// has filled the shelf by then.
func (c *Cell) Agree(ctx context.Context, cell *history.Cell) (err error) {
	if c == nil {
		return nil
	}
	if c.before, err = c.party.clock(ctx); err != nil {
		return err
	}
	claims, err := exchange(ctx, c.party, c.name+":ready", claim{cell.NotRun, cell.Instances})
	if err == nil {
		cell.NotRun = notRunReason(claims)
	}
	return err
}

// notRunReason says why a cell is not run, empty if it is.
func notRunReason(claims []claim) string {
	for _, c := range claims {
		switch {
		case c.NotRun != "":
			return c.NotRun
		case len(c.Instances) == 1 &&
			(len(claims[0].Instances) != 1 || !sameInstance(c.Instances[0], claims[0].Instances[0])):
			return "needs one instance, first of all targets"
		}
	}
	return ""
}

// sameInstance reports whether two parties mean the same instance. They may use different addresses for it.
func sameInstance(a, b history.Instance) bool {
	return a.Name == b.Name && a.Clock == b.Clock && (a.Clock != "" || a.URL == b.URL)
}

// Begin waits until all parties are ready to send, and then for the instant at which all of them start.
func (c *Cell) Begin(ctx context.Context) error {
	if c == nil {
		return nil
	}
	start, err := c.party.meet(ctx, c.name+":start", c.party.lead)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Until(c.before.Here(start))):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Sold waits until all parties have sent their orders and got the answers.
func (c *Cell) Sold(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c.party.Meet(ctx, c.name+":sold")
}

// Merge exchanges the parties' measurements, and returns the merged cell.
func (c *Cell) Merge(ctx context.Context, mine *history.Cell) (*history.Cell, error) {
	if c == nil {
		return mine, nil
	}
	after, err := c.party.clock(ctx)
	if err != nil {
		return nil, err
	}
	shares, err := exchange(ctx, c.party, c.name+":share", Share{Cell: mine, Clock: c.before.Span(after)})
	if err != nil {
		return nil, err
	}
	return Merge(shares)
}
