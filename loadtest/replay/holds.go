package replay

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A Line is a step that was taken.
type Line struct {
	Step  schedule.Step
	Who   int    // the client whose column it belongs to; -1: none
	What  string // what was done
	Holds string // the holders of locks afterwards, and the stock
	After time.Duration
}

// holds lists the holders of the locks on each server, and the stock, after a step.
func (p *player) holds(ctx context.Context, s schedule.Step) string {
	by := ""
	if s.ByClient() {
		by = p.clients[s.Who].Name
	}
	var parts []string
	for _, node := range p.nodes {
		parts = append(parts, node.text(ctx, by))
	}
	text := "?"
	if left, err := p.left(ctx); err == nil {
		text = strconv.FormatInt(left, 10)
	}
	return strings.Join(append(parts, "stock: "+text), "  ")
}

// left returns the remaining stock.
func (p *player) left(ctx context.Context) (int64, error) {
	return p.stock.Redis.Get(ctx, "ProductStock_"+product).Int64()
}

// A store is a server with the known owners of its tokens.
type store struct {
	*wire.Store
	owners map[string]string // by token: the client whose step created it
}

// expiries returns the future expiries of the keys, and of members with a deadline, on a lock server.
func (s *store) expiries(ctx context.Context) (ends []time.Time, err error) {
	all, err := s.Holders(ctx)
	for _, one := range all {
		if one.Until.After(time.Now()) {
			ends = append(ends, one.Until)
		}
	}
	return ends, err
}

// text lists the holders of a server's locks. New holders belong to the client by, whose step was the last.
func (s *store) text(ctx context.Context, by string) string {
	all, err := s.Holders(ctx)
	owners := map[string]string{}
	var parts []string
	for _, one := range all {
		if strings.HasPrefix(one.Key, "{") { // not a holder: a queue, or its deadlines
			continue
		}
		text := cmp.Or(s.owners[one.Token], by, "?")
		owners[one.Token] = text
		if !one.Until.IsZero() {
			text += fmt.Sprintf(" %.2f s", time.Until(one.Until).Seconds())
		}
		parts = append(parts, text)
	}
	s.owners = owners
	switch {
	case s.Down:
		return s.Name + ": down"
	case err != nil:
		return s.Name + ": ?"
	case len(parts) == 0:
		return s.Name + ": free"
	}
	return s.Name + ": " + strings.Join(parts, ", ")
}
