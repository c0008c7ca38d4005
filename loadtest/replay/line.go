package replay

import (
	"context"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
)

// A Line is one step as it was taken.
type Line struct {
	Step  schedule.Step
	Who   int    // the client whose column it stands in; -1: nobody's
	What  string // what was done
	Holds string // what the servers held afterwards
	After time.Duration
}

// holds lists the holders of the locks on each server after a step, and the stock.
func (p *player) holds(ctx context.Context, s schedule.Step) string {
	by := ""
	if s.ByClient() {
		by = p.clients[s.Who].Name
	}
	var parts []string
	for _, node := range p.nodes {
		parts = append(parts, node.text(ctx, by))
	}
	left, err := p.stock.rdb.Get(ctx, "ProductStock_"+product).Result()
	if err != nil {
		left = "?"
	}
	return strings.Join(append(parts, "stock: "+left), "  ")
}
