package history

import "slices"

// Why a shop on trial turned an order away, if not for its lock.
const (
	TooMany   = "429: it limits the rate of orders"
	FullAgain = "it refused as sold out, although the shelf was full again"
)

const tooManyRequests = 429

// WhyTurnedAway says why an order of a full shelf was refused, if not for the lock: [TooMany], or [FullAgain] if the
// answer is that to an order of an empty shelf. It is empty if the order found the lock taken, or nobody knows.
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
