package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// watchWaiter learns how an order that found the lock taken waited.
func watchWaiter(b *record.Bench, o *shop.Order, commands []record.Observation) {
	p := b.Passport
	blocks := ""
	tries, shape := triesOf(b, commands)
	p.Tries = sale.Shapes{shape: len(tries) > 0}
	for _, c := range commands {
		p.Messages = p.Messages || c.Subscribes || c.Message
		if c.Blocks {
			blocks = strings.ToUpper(c.Args[0])
		}
	}
	switch {
	case p.Messages:
		p.Waiting = "are woken by a message"
	case blocks != "":
		p.Waiting = "block in " + blocks
	case wokenBetween(tries, b.Pair.Rig.Ends[o.At].Wires[0].Invalidations()):
		p.Waiting = "are woken by an invalidation (client tracking)"
	case len(tries) > 2:
		var gaps []time.Duration
		for i := range len(tries) - 1 {
			gaps = append(gaps, tries[i+1].Sub(tries[i]))
		}
		slices.Sort(gaps)
		p.Waiting = "poll every " + gaps[len(gaps)/2].Round(time.Millisecond).String()
	case p.Lead > p.Lease(): // the lock was free when it came
		p.Waiting = "were not observed"
	case o.HasEnded() && o.Ended.Sub(o.Sent)-p.Lead < 300*time.Millisecond:
		p.Waiting = "do not wait"
	default:
		p.Waiting = "wait without sending commands"
	}
}

// triesOf returns when an order tried to acquire the lock's key that it tried first: when it sent those of its tries,
// or looks, that it sent most often, and their shape. It may look by one command, and acquire by another.
func triesOf(b *record.Bench, commands []record.Observation) (tries []time.Time, most sale.Shape) {
	key, times := "", map[sale.Shape][]time.Time{}
	for _, d := range record.EffectsOf(commands) {
		shape := b.Shape(&d.Seen)
		renews := b.Passport.Renewals[shape] && !b.Passport.Acquires[shape]
		if !d.Acquires() || renews || !slices.Contains(b.Passport.Locks, d.Key) {
			continue
		}
		if key = cmp.Or(key, d.Key); d.Key != key {
			continue
		}
		times[shape] = append(times[shape], d.Sent)
		if most = cmp.Or(most, shape); len(times[shape]) > len(times[most]) {
			most = shape
		}
	}
	return times[most], most
}

// wokenBetween reports whether one of these times lies between each try and the next.
func wokenBetween(tries, came []time.Time) bool {
	for i := range len(tries) - 1 {
		if !slices.ContainsFunc(came, func(t time.Time) bool { return t.After(tries[i]) && t.Before(tries[i+1]) }) {
			return false
		}
	}
	return len(tries) > 1
}
