package html

import (
	"fmt"
	"strings"

	"stockapi/loadtest/history"
)

// written is what became of a command that writes the stock.
type written int

const (
	noWrite      written = iota
	wrote                // the stock is another one now
	refusedWrite         // the stock said no: a token that is too old, or a stock that had changed
	unsureWrite          // no reply came
)

func writeOf(cmd *history.Command) written {
	switch {
	case !cmd.WritesStock() || !cmd.End.Known() || cmd.UnknownScript():
		return noWrite
	case cmd.Lost():
		return unsureWrite
	case cmd.Wrote():
		return wrote
	case strings.HasPrefix(cmd.Reply, "[0"): // check and decrement in one step: there was not enough
		return noWrite
	}
	return refusedWrite
}

// whyRefused says in a few words why the stock refused a write of the order: with both tokens, if it was for an old
// one.
func (d *drawing) whyRefused(op *history.Op, cmd *history.Command) string {
	switch {
	case cmd.Err == history.StockChanged:
		return "refused: the stock has changed"
	case !strings.HasPrefix(cmd.Err, "STALE"):
		word, _, _ := strings.Cut(cmd.Err+cmd.Reply, " ")
		return "refused: " + clip(word, 20)
	}
	own, newest := int64(0), int64(0)
	if op.Lease != nil {
		own = op.Lease.Fence
	}
	for _, other := range d.window.ops {
		if other.Lease != nil && other.Lease.Fence > own && showedToken(other, cmd.End) {
			newest = max(newest, other.Lease.Fence)
		}
	}
	if own == 0 || newest == 0 {
		return "refused: token too old"
	}
	return fmt.Sprintf("refused: token %d < %d", d.cell.Ordinal(own), d.cell.Ordinal(newest))
}

// showedToken reports whether the order had shown the stock its token by then.
func showedToken(op *history.Op, by history.Instant) bool {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; onStock(cmd) && cmd.Err == "" && cmd.At <= by {
			return true
		}
	}
	return false
}
