package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// Passport learns the lock of a shop from plain sales, from one that is held before its write, and from one that
// finds the lock taken. It learns the sold-out answer from an order for an empty shelf. A passport beside an error says
// what was learned until then.
func Passport(ctx context.Context, s *shop.Shop) (p *sale.Passport, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil { // such as a dead server
			err = context.Cause(ctx)
		}
	}()
	if err := s.Prepare(ctx); err != nil {
		return nil, err
	}
	s.Say("starting two instances of the shop…")
	p = &sale.Passport{Facts: history.Facts{Elsewhere: s.IsElsewhere()}, Late: map[sale.Kind]sale.LateCommand{}}
	b, err := record.Open(ctx, s, p)
	if err != nil {
		return nil, err
	}
	defer b.Pair.Close()
	if s.IsElsewhere() {
		if err := checkShelf(b, s.UnitsFor(0)); err != nil {
			return nil, err
		}
	}
	s.Say("learning what the lock is…")
	if err := learnLocks(b); err != nil {
		return nil, unknownFirst(b, err)
	}
	if err := learnRequests(b); err != nil {
		return nil, err
	}
	if err := learnSharing(b); err != nil {
		return nil, err
	}
	again, err := holdOne(b, false)
	if err == nil {
		watchAtWork(b)
	}
	switch {
	case err != nil:
		return p, unknownFirst(b, err)
	case !again:
		return p, learnSoldOut(b)
	}
	if b, err = Warm(ctx, s, p); err != nil { // a shop that lost its lock may be down
		return p, err
	}
	defer b.Pair.Close()
	if _, err = holdOne(b, false); err != nil {
		return p, err
	}
	return p, learnSoldOut(b)
}

// unknownFirst prefixes an error of the shop with the command of its last orders that the server did not know: that is
// the likely cause.
func unknownFirst(b *record.Bench, err error) error {
	if !errors.Is(err, shop.ErrShop) {
		return err
	}
	name := ""
	b.Pair.Rig.Gate.Each(func(cmd *wire.Command) { name = cmp.Or(name, b.Pair.Ledger.Unknown(&cmd.Seen)) })
	if name == "" {
		return err
	}
	version := b.Pair.Rig.Stores[0].Redis.InfoMap(b.Pair.Context, "server").Item("Server", "redis_version")
	rest := strings.TrimPrefix(err.Error(), shop.ErrShop.Error()+": ")
	return fmt.Errorf("%w: it sends %s, which the trial's Redis %s does not know: put a newer redis-server on the "+
		"PATH; %s", shop.ErrShop, history.Clip(name), version, rest)
}

// Warm starts a pair that has sold at both instances, and is fit for a cell. Close it.
func Warm(ctx context.Context, s *shop.Shop, p *sale.Passport) (*record.Bench, error) {
	b, err := record.Open(ctx, s, p)
	if err != nil {
		return nil, err
	}
	b.Pair.LookAt(p.Keys)
	for _, script := range p.Scripts { // else a first renewal could get a NOSCRIPT, behind a held command
		err = errors.Join(err, b.Pair.Rig.Stores[0].Redis.ScriptLoad(ctx, script).Err())
	}
	for at := range b.Pair.Rig.Ends {
		_, first := firstAt(b, at)
		err = errors.Join(err, first)
	}
	for range 3 { // the first order of an instance also connects, and loads scripts
		if err == nil && b.IsAsNew() {
			return b, nil
		}
	}
	err = cmp.Or(err, notAsNew(b))
	b.Pair.Close()
	return nil, err
}

// notAsNew returns why a bench is not fit for a cell: its last plain order did not sell, or left the lock.
func notAsNew(b *record.Bench) error {
	if len(b.Orders) == 0 {
		return fmt.Errorf("%w: an instance exited", shop.ErrShop)
	}
	o := b.Orders[len(b.Orders)-1]
	if b.HasSold(o) {
		return fmt.Errorf("%w: a plain order sold, and left the lock", shop.ErrShop)
	}
	f := &firstOrder{bench: b, order: o}
	return fmt.Errorf("%w: a plain order did not sell: %s", shop.ErrShop, f.said())
}

// problem returns why a plain order with these writes of the stock shows that the shop cannot be tried, nil if it can.
func problem(b *record.Bench, o *shop.Order, writes []record.Written) error {
	f := &firstOrder{bench: b, order: o, wrote: b.Pair.Shop.IsElsewhere()}
	f.see(writes)
	if o.Op.Outcome == history.Sold && f.wrote && !f.misses() && (o.Op.Status != http.StatusAccepted || !f.later) {
		return nil
	}
	f.awaitJob()
	for _, hint := range hints {
		if hint.applies(f) {
			return fmt.Errorf("%w: %s", shop.ErrShop, hint.says(f))
		}
	}
	text := "give the request by --order, and what a sale looks like by --sold"
	if b.Pair.Shop.Order.IsProgram() {
		text = "the program sells by exit code 0, and with --sold only if that matches what it printed"
	}
	if !b.Pair.Shop.IsElsewhere() {
		text = cmp.Or(f.whatItTouched(), text)
	}
	return fmt.Errorf("%w: the first order did not sell: %s%s; %s", shop.ErrShop, f.said(), f.hindrance(), text)
}
