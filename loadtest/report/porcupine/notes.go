package porcupine

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

// The colours of the annotations.
const (
	faultColour     = "#ffd9a8"
	leaseColour     = "#dbe7fb"
	violationColour = "#f9c6c0"
	nameColour      = "#ffffff"
)

// maxFaults bounds the faults that are shown. A cell has one or two.
const maxFaults = 10

// notes returns the annotations of the picture: the names of the lanes, the faults, the leases, and the violation.
func (w *Window) notes() []porcupine.Annotation {
	return slices.Concat(w.names(), w.faults(), w.leases(), w.violation())
}

// names puts each instance's name at the left end of its lanes.
func (w *Window) names() []porcupine.Annotation {
	from, _ := extent(w.question.operations)
	var out []porcupine.Annotation
	named := map[int]bool{}
	for _, l := range w.question.lanes() {
		if named[l.number] {
			continue
		}
		named[l.number] = true
		name := "the shop"
		if l.name != "" {
			name = "instance " + l.name
		}
		out = append(out, porcupine.Annotation{
			ClientId: l.number, Start: from - 4, End: from - 3, Description: name, BackgroundColor: nameColour,
			Details: "The instance that served these orders. Two orders at the same time are on two lanes.",
		})
	}
	return out
}

// faults have times by the client's clock. That is the instances' clock too, because a fault is injected on the machine
// of the process or server.
func (w *Window) faults() []porcupine.Annotation {
	from, to := extent(w.question.operations)
	var out []porcupine.Annotation
	for i, f := range w.cell.Faults[:min(len(w.cell.Faults), maxFaults)] {
		tag := "fault"
		if len(w.cell.Faults) > 1 {
			tag = fmt.Sprintf("fault %d", i+1)
		}
		if f.On != "" {
			tag += ": " + f.On
		}
		s := spanOf(f.At, f.End)
		out = append(out, porcupine.Annotation{
			Tag: tag, Start: min(max(s.call, from), to), End: min(max(s.ret, from), to), BackgroundColor: faultColour,
			Description: w.faultText(f), Details: fmt.Sprintf("From %s to %s.", f.At, f.End),
		})
	}
	return out
}

// faultText names the order or instance that the fault was injected into, if it is known, and then the fault.
func (w *Window) faultText(f history.Fault) string {
	switch {
	case f.Order != "":
		return "order " + w.cell.Short(f.Order) + " on " + f.Instance + ", " + f.Text
	case f.Instance != "":
		return f.Instance + ", " + f.Text
	default:
		return f.Text
	}
}

// leases shows for how long the orders of the violation believed that they held the lock, if these times can be
// compared with those of the operations.
func (w *Window) leases() []porcupine.Annotation {
	if lock := w.finding.Verdict == history.Exclusion; !lock && !w.times.byInstances {
		return nil
	}
	var out []porcupine.Annotation
	for _, op := range w.orders() {
		if op.Lease == nil {
			continue
		}
		s := spanOf(op.Lease.AcquiredAt, op.Lease.ReleasedAt)
		_, to := extent(w.question.operations)
		out = append(out, porcupine.Annotation{
			Tag: "lock: " + w.cell.Short(op.Order), Start: s.call, End: min(s.ret, to), BackgroundColor: leaseColour,
			Description: orderOn(w.cell, op) + " believes it holds the lock",
			Details:     fmt.Sprintf("Its lease, from %s to %s.", op.Lease.AcquiredAt, op.Lease.ReleasedAt),
		})
	}
	return out
}

// violation marks the sales of the unit that was sold twice, or the time in which two orders held the lock.
func (w *Window) violation() []porcupine.Annotation {
	first := w.finding.Evidence[0]
	note := porcupine.Annotation{Tag: "violation", BackgroundColor: violationColour, Details: first.Text}
	orders := w.orders()
	switch {
	case w.finding.Verdict == history.Exclusion:
		if len(first.At) == 2 {
			note.Start, note.End, note.Description = at(first.At[0]), at(first.At[1]), "both hold the lock"
			return []porcupine.Annotation{note}
		}
	case len(orders) == 2:
		note.Tag = fmt.Sprintf("unit %d", first.Unit)
		again := note
		note.Start, note.Description = w.end(orders[0])-1, "sold to "+orderOn(w.cell, orders[0])
		again.Start, again.Description = w.end(orders[1])-1, "sold to "+orderOn(w.cell, orders[1])
		return []porcupine.Annotation{note, again}
	}
	return nil
}

// end returns the end of an order's operation.
func (w *Window) end(op *history.Op) int64 {
	for _, a := range w.question.operations {
		if a.op == op {
			return a.ret
		}
	}
	return 0
}

// orderOn names an order and its instance.
func orderOn(c *history.Cell, op *history.Op) string {
	return "order " + c.Short(op.Order) + " on " + op.Instance
}

// details returns the lines that the picture shows when the reader points at an order.
func details(op *history.Op) []string {
	out := []string{fmt.Sprintf("Sent %s, answered %s: %s.", op.Sent, op.Done, op.Outcome)}
	if op.Detail != "" {
		out = append(out, op.Detail)
	}
	if l := op.Lease; l != nil {
		out = append(out, fmt.Sprintf("Lease %s to %s.", l.AcquiredAt, l.ReleasedAt))
	}
	if op.SoldBy != "" {
		out = append(out, "It says that it was sold by order "+op.SoldBy+".")
	}
	return out
}
