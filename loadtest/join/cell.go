package join

import (
	"context"
	"fmt"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/latch"
)

// Cell is one cell that several parties run together, step by step: Agree, Begin, Sold, Merge. That of a load generator
// which is alone is nil: there is nobody to wait for, and each step returns at once.
type Cell struct {
	party  *Party
	name   string
	notRun string
	before latch.Offset // of the clocks, before the cell
}

// Cell returns the cell of that number. notRun is why it cannot take place where this party is, if it cannot.
func (p *Party) Cell(number int, notRun string) *Cell {
	return &Cell{party: p, name: fmt.Sprintf("cell-%d", number), notRun: notRun}
}

// First reports whether it is this party that does what has to be done once.
func (c *Cell) First() bool { return c == nil || c.party.First() }

// Prefix is what the orders of this party begin with, so that no other has the same.
func (c *Cell) Prefix() string {
	if c == nil {
		return ""
	}
	return c.party.Name() + "-"
}

// NotRun is why the cell cannot take place where this party is, if that is known beforehand.
func (c *Cell) NotRun() string {
	if c == nil {
		return ""
	}
	return c.notRun
}

// claim is what a party says of a cell before it begins.
type claim struct {
	NotRun    string
	Instances []history.Instance
}

// Agree settles whether the cell takes place: where one party cannot run it, none does, and the cell says why. The first
// party has filled the shelf by then.
func (c *Cell) Agree(ctx context.Context, cell *history.Cell) (err error) {
	if c == nil {
		return nil
	}
	if c.before, err = c.party.clock(ctx); err != nil {
		return err
	}
	claims, err := exchange(ctx, c.party, c.name+":ready", claim{cell.NotRun, cell.Instances})
	if err == nil {
		cell.NotRun = verdict(claims)
	}
	return err
}

// verdict is why a cell does not take place, empty if it does.
func verdict(claims []claim) string {
	for _, c := range claims {
		switch {
		case c.NotRun != "":
			return c.NotRun
		case len(c.Instances) == 1 && (len(claims[0].Instances) != 1 || !same(c.Instances[0], claims[0].Instances[0])):
			return "needs one instance, first of all targets"
		}
	}
	return ""
}

// same reports whether two parties speak of one instance. They may call it by different addresses.
func same(a, b history.Instance) bool {
	return a.Name == b.Name && a.Clock == b.Clock && (a.Clock != "" || a.URL == b.URL)
}

// Begin waits until all parties are about to send, and then for the instant at which all do.
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

// Sold waits until all parties have sent what they had to send, and got their answers.
func (c *Cell) Sold(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c.party.Meet(ctx, c.name+":sold")
}

// Merge gives the others what this party measured, and returns what all did together.
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
