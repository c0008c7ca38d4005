package history

import "slices"

// Reasons other than its lock for which a shop on trial turned an order away.
const (
	TooMany   = "429: it limits the rate of orders"
	FullAgain = "it refused as sold out, although the shelf was full again"
)

const tooManyRequests = 429

// WhyTurnedAway returns why an order was refused although the stock was full: [TooMany], or [FullAgain] if the answer
// is the one for an empty stock. It is "" if the order found the lock taken, or if the reason is unknown.
func (c *Cell) WhyTurnedAway(op *Op) string {
	asked := slices.ContainsFunc(op.Trace, func(cmd Command) bool { return cmd.Acquires() })
	took := slices.ContainsFunc(op.Trace, func(cmd Command) bool { return cmd.Acquires() && cmd.Succeeded() })
	switch {
	case c.Facts == nil, op.Outcome != Busy, !op.Done.Known(), asked && !took:
		return ""
	case op.Status == tooManyRequests:
		return TooMany
	case c.Facts.SoldOut != nil && *c.Facts.SoldOut == Answer{Status: op.Status, Body: op.Detail}:
		return FullAgain
	}
	return ""
}
