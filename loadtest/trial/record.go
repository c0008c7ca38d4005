package trial

import (
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
)

// watchBackground learns from the commands of an instance which it sends in the background: those that came between
// two times, while its only order waited for a held reply, more often than in a plain sale, which may contain one by
// chance. Renewals are the order's, and so are reads of a lock that is renewed.
func watchBackground(b *record.Bench, commands []record.Observation, from, to time.Time) {
	p := b.Passport
	if p.Background == nil {
		p.Background = sale.Shapes{}
	}
	left := map[sale.Shape]int{} // how many are the order's
	for _, s := range p.Steps {
		left[s.Shape]++
	}
	for _, c := range commands {
		shape := b.Shape(&c.Seen)
		ofOrder := p.Usual(shape) != history.EffectNothing || c.Did((*history.Command).Prolongs) ||
			p.Every > 0 && shape.IsOnLock()
		if !c.Came.After(from) || !c.Came.Before(to) || ofOrder {
			continue
		}
		if left[shape]--; left[shape] < 0 {
			p.Background[shape] = true
		}
	}
}
