package scenario

import (
	"context"
	"time"

	"stockapi/loadtest/shop"
)

// playOppositeOrder sends an order of two products to a, and one of the same two in the opposite order to b. Neither
// goes on before both have asked for their first lock: one by one, each then has it, and wants the other's. The fresh
// requests, for the first of the products, come while both are under way.
func playOppositeOrder(ctx context.Context, p *play) error {
	if err := p.opening(ctx); err != nil {
		return err
	}
	one, two := p.cell.Product, p.beside()
	if err := p.Client.SetStock(ctx, p.cell.Instances[a].URL, two, p.cell.Initial); err != nil {
		return err
	}
	with := func(items ...string) shop.Order {
		return shop.Order{Items: items, Fault: "hold@after:" + p.rung.Acquire, Wait: p.Load.TTL}
	}
	begun := time.Now()
	first, second := p.order(ctx, a, "1", with(one, two)), p.order(ctx, b, "2", with(two, one))
	for _, o := range []*pending{first, second} {
		if err := o.held(ctx); err != nil {
			return err
		}
	}
	for _, o := range []*pending{first, second} {
		if err := o.letGo(ctx); err != nil {
			return err
		}
	}
	first.suffered(begun, "asking for two locks while order 2 on %s asks for the same in the opposite order", p.cell.Instances[b].Name)
	return nil
}

// beside names a second product of the cell, which is taken off the shelf at its end.
func (p *play) beside() string {
	p.second = p.cell.Product + "-beside"
	return p.second
}

// clear removes what the cell had beside its product. Nothing depends on it but the next reader of the backend.
func (p *play) clear(ctx context.Context) {
	if p.second != "" {
		_ = p.Client.Forget(ctx, p.cell.Instances[b].URL, p.second)
	}
}
