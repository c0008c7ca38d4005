package history

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// The limits of an answer. An honest service stays far below; only an order that polls for its lock may send more
// commands.
const (
	maxUnits    = 16 // beyond the quantity: the audit has to see that there are too many
	maxCommands = 1024
	maxText     = 1 << 10
)

// cut is the name of the note that ends a truncated trace.
const cut = "cut"

// Bound drops the excess of an answer: units, commands, and the ends of texts, which it makes plain. Of the commands it
// drops first the acquires that found the lock taken, which prove nothing. If that is not enough, [Command.Cut] notes
// it.
func (op *Op) Bound() {
	texts := []*string{&op.Order, &op.Instance, &op.Detail, &op.For, &op.SoldBy}
	if op.Lease != nil {
		texts = append(texts, &op.Lease.Token)
	}
	if most := max(op.Quantity, 0) + maxUnits; int64(len(op.Units)) > most {
		op.Units = slices.Clone(op.Units[:most])
	}
	if len(op.Trace) > maxCommands {
		op.Trace = fewer(op.Trace)
	}
	for i := range op.Trace {
		cmd := &op.Trace[i]
		texts = append(texts, &cmd.Node, &cmd.Cmd, &cmd.Key, &cmd.Reply, &cmd.Err)
	}
	for _, text := range texts {
		*text = Clip(*text)
	}
}

// CheckUnits returns an error if an order names more units than a stock of this size can have sold it. A few too many
// are left for the audit, as in [Op.Bound].
func (op *Op) CheckUnits(stock int64) error {
	if most := max(stock, 0) + 2*maxUnits; int64(len(op.Units)) > most {
		return fmt.Errorf("order %s names %d units, and the stock had %d: it is no receipt of this stock",
			Plain(op.Order), len(op.Units), stock)
	}
	return nil
}

func fewer(trace []Command) []Command {
	kept := make([]Command, 0, maxCommands+1)
	for _, cmd := range trace {
		if cmd.Acquires() && cmd.Err == "" && !cmd.Succeeded() {
			continue
		}
		if len(kept) == maxCommands {
			end := kept[maxCommands-1].End
			return append(kept, Command{Cmd: cut, At: end, End: end})
		}
		kept = append(kept, cmd)
	}
	return kept
}

// Clip returns a text made plain and cut to 1 KB, with a checksum of a longer one: different texts, which may be keys
// or owners of a lock, stay different.
func Clip(s string) string {
	if len(s) > maxText {
		cut := strings.ToValidUTF8(s[:maxText], "")
		s = fmt.Sprintf("%s… (%d bytes, %08x)", cut, len(s), crc32.ChecksumIEEE([]byte(s)))
	}
	return Plain(s)
}
