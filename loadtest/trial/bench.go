package trial

import (
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// isFit reports whether the bench is fit for another cell after one: the fresh orders of the cell have sold at both
// instances, or else others do now, and the lock is free.
func isFit(b *record.Bench) bool {
	if !soldAfresh(b) || b.Pair.IsDown(shop.AtA) || b.Pair.IsDown(shop.AtB) {
		return b.IsAsNew()
	}
	b.Pair.Quiet(b.Pair.Context)
	return b.BecomesFree()
}

// soldAfresh reports whether the last fresh order at each instance has sold.
func soldAfresh(b *record.Bench) bool {
	var sold [2]bool
	for _, o := range b.Orders {
		if o.Fresh {
			sold[o.At] = b.HasSold(o)
		}
	}
	return sold[shop.AtA] && sold[shop.AtB]
}
