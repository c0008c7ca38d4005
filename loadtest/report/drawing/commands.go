package drawing

import (
	"fmt"
	"strconv"
	"strings"

	"stockapi/loadtest/history"
)

// The kinds of commands that are drawn. A refused write was rejected by the stock: its token is too old, or the stock
// has changed. An unsure write got no reply, so its effect is unknown.
const (
	read         = "read"
	write        = "write"
	refusedWrite = "refused"
	unsureWrite  = "unsure"
	acquire      = "acquire"
	renew        = "renew"
	release      = "release"
	woken        = "woken"
	other        = "other"
)

// kindOf returns the kind of a command, "" if it is not drawn, such as a note of a fault.
func kindOf(cmd *history.Command) string {
	switch {
	case cmd.Woken():
		return woken
	case cmd.Fault(), cmd.Ended(), cmd.Cut(), cmd.UnknownScript():
		return ""
	case cmd.WritesStock():
		return writeOf(cmd)
	case cmd.ReadsStock():
		return read
	case cmd.Acquires():
		return acquire
	case cmd.Prolongs():
		return renew
	case cmd.Releases():
		return release
	}
	return other
}

func writeOf(cmd *history.Command) string {
	switch {
	case cmd.Lost():
		return unsureWrite
	case cmd.Wrote():
		return write
	case !cmd.End.Known() || strings.HasPrefix(cmd.Reply, "[0"): // check and decrement in one step: too little stock
		return other
	}
	return refusedWrite
}

// command adds a command of an order, -1 for a command whose sender is unknown.
func (m *maker) command(order int, cmd *history.Command) {
	kind := kindOf(cmd)
	if kind == "" {
		return
	}
	drawn := Command{Order: order, Lane: -1, Lock: m.lockOf(cmd), Kind: kind, Came: never, At: timeOf(cmd.At),
		End: timeOf(cmd.End), Heard: never, Node: clip(cmd.Node, 80), Effect: cmd.Effect.String()}
	drawn.Failed = kind != read && kind != woken && !cmd.Succeeded() && !cmd.Wrote()
	drawn.Text, drawn.Reply = clip(strings.TrimSpace(cmd.Cmd+" "+cmd.Key), 120), clip(cmd.Reply+cmd.Err, 120)
	if cmd.Source != history.Looked {
		drawn.Effect = ""
	}
	if cmd.Wire != nil {
		drawn.Came, drawn.Heard = timeOf(cmd.Wire.Came), timeOf(cmd.Wire.Heard)
		if cmd.Wire.Text != "" {
			drawn.Text = clip(cmd.Wire.Text, 240)
		}
	}
	if order >= 0 {
		drawn.Lane = m.Orders[order].Lane
	}
	switch kind {
	case read:
		if _, err := strconv.ParseInt(cmd.Reply, 10, 64); err == nil && cmd.End.Known() {
			drawn.Says = "reads " + clip(cmd.Reply, 20)
		}
	case refusedWrite:
		drawn.Says = m.whyRefused(order, cmd)
	case unsureWrite:
		drawn.Says = "no reply to this write"
	}
	m.Commands = append(m.Commands, drawn)
}

// requests adds the requests to a database: their content is unknown, and they are listed among the commands.
func (m *maker) requests() {
	indexIn := func(all map[string]int, name string) int {
		if i, is := all[name]; is {
			return i
		}
		return -1
	}
	for _, r := range m.cell.Requests {
		text := "request to the database"
		if r.Number > 0 {
			text = fmt.Sprintf("request %d to the database", r.Number)
		}
		m.Commands = append(m.Commands, Command{Order: indexIn(m.numbers, r.Order), Lane: indexIn(m.laneOf, r.Instance),
			Lock: -1, Kind: other, Came: timeOf(r.Came), At: timeOf(r.Sent), End: timeOf(r.Answered), Heard: timeOf(r.Heard),
			Text: text})
	}
}

// whyRefused returns in a few words why the stock refused a write, with both tokens if the order's was too old.
func (m *maker) whyRefused(order int, cmd *history.Command) string {
	switch {
	case cmd.Err == history.StockChanged:
		return "refused: the stock has changed"
	case !strings.HasPrefix(cmd.Err, "STALE"):
		word, _, _ := strings.Cut(cmd.Err+cmd.Reply, " ")
		return "refused: " + clip(word, 20)
	}
	own, newest := int64(0), int64(0)
	if order >= 0 && m.cell.Ops[order].Lease != nil {
		own = m.cell.Ops[order].Lease.Fence
	}
	for i := range m.cell.Ops {
		other := &m.cell.Ops[i]
		if other.Lease != nil && other.Lease.Fence > own && showedToken(other, cmd.End) {
			newest = max(newest, other.Lease.Fence)
		}
	}
	if own == 0 || newest == 0 {
		return "refused: token too old"
	}
	return fmt.Sprintf("refused: token %d < %d", m.cell.Ordinal(own), m.cell.Ordinal(newest))
}

// showedToken reports whether the stock had seen the order's token by that time.
func showedToken(op *history.Op, by history.Instant) bool {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; onStock(cmd) && cmd.Err == "" && cmd.At <= by {
			return true
		}
	}
	return false
}
