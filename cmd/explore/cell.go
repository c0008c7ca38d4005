package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/html"
	"stockapi/loadtest/schedule"
)

// product begins the ids of the orders of a cell.
const product = "10000"

// A drawn is a story as the load test's report draws it: as a cell, and its steps.
type drawn struct {
	story explore.Story
	cell  *history.Cell
	steps []html.Step
}

// newDrawn turns a story into a cell in which the orders break one verdict.
func newDrawn(s explore.Story, v explore.Violation, initial int64) *drawn {
	d := &drawn{story: s, cell: &history.Cell{Scenario: "schedule", Rung: s.Trace.Rung, Product: product, Repetition: 1,
		Initial: initial, TTL: explore.LeaseTTL, Limit: explore.LongestRecovery}}
	for _, line := range s.Lines {
		step := html.Step{Passed: line.After}
		for _, who := range line.Ended {
			step.Ended = append(step.Ended, product+"-"+s.Orders[who].Client)
		}
		d.steps = append(d.steps, step)
	}
	later := slices.ContainsFunc(s.Orders, func(o explore.Outcome) bool { return o.Later })
	if later || len(d.steps) == 0 {
		d.steps = append(d.steps, html.Step{Passed: d.passed(len(s.Lines)-1) + explore.LongestRecovery, Label: "later"})
	}
	for who, order := range s.Orders {
		d.cell.Instances = append(d.cell.Instances, history.Instance{Name: order.Client})
		d.cell.Ops = append(d.cell.Ops, d.op(who, order))
	}
	for i := range s.Lines {
		d.fault(i)
	}
	d.cell.Findings = []history.Finding{d.finding(v)}
	return d
}

// at returns the instant of a step, counted from 0. Before the first one it is the beginning.
func (d *drawn) at(step int) history.Instant {
	if step < 0 {
		return 0
	}
	return html.StepAt(step, d.passed(step))
}

func (d *drawn) passed(step int) time.Duration {
	if step < 0 {
		return 0
	}
	return d.steps[step].Passed
}

// op turns the order of a client into one of the cell.
func (d *drawn) op(who int, order explore.Outcome) history.Op {
	op := history.Op{Order: product + "-" + order.Client, Phase: history.Buy, Instance: order.Client, Quantity: 1,
		Units: order.Units, Outcome: outcomeOf(order), Sent: d.at(-1), Done: history.Never}
	if order.Later {
		op.Order, op.Phase = product+"-fresh", history.Probe
		op.Sent, op.Done = d.at(len(d.steps)-2), d.at(len(d.steps)-1)
		return op
	}
	for i, line := range d.story.Lines {
		if line.ByClient && line.Step.Who == who && line.Call != nil {
			if len(op.Trace) == 0 {
				op.Sent = d.at(i)
			}
			op.Trace = append(op.Trace, d.command(i))
		}
	}
	if order.Done > 0 {
		op.Done = d.at(order.Done - 1)
	}
	op.Lease = d.lease(who, op.Trace)
	return op
}

// outcomeOf returns the outcome as the client of the order knows it.
func outcomeOf(o explore.Outcome) history.Outcome {
	switch {
	case len(o.Units) > 0:
		return history.Sold
	case errors.Is(o.Err, stock.ErrSoldOut):
		return history.Refused
	case errors.Is(o.Err, lock.ErrBusy):
		return history.Busy
	case o.Err == nil || errors.Is(o.Err, stock.ErrUnknown):
		return history.Unknown
	}
	return history.NotSold
}

// changed is the error of a transaction whose stock had changed, as a recorded history has it.
const changed = "redis: transaction failed"

// plainReply matches replies that are the same in each run. Others have an owner token in them.
var plainReply = regexp.MustCompile(`^(OK|true|false|nil|[-\d \[\]]*)$`)

// command turns the call of a step into a command of the cell. A reply that was lost is there all the same if the call
// was of a lock: what the lock server holds is drawn, and not what the client knows.
func (d *drawn) command(step int) history.Command {
	line := d.story.Lines[step]
	node := line.Call.Server
	if node != "stock" && node != "lock" {
		node = "node " + node
	}
	cmd := history.Command{Node: node, Cmd: line.Call.Name, Key: line.Call.Key, At: d.at(step), End: d.at(step),
		Reply: line.Call.Reply, Err: line.Call.Err}
	if !plainReply.MatchString(cmd.Reply) {
		cmd.Reply = "a token"
	}
	if cmd.Cmd == "exec" { // a transaction writes the stock
		cmd.Cmd = "set"
		if strings.Contains(cmd.Err, changed) {
			cmd.Err = changed
		}
	}
	switch {
	case line.Step.Kind == schedule.Drop:
		cmd.Err = "the message is lost"
	case line.Call.Server == "stock" && line.Step.Kind == schedule.LoseReply:
		cmd.Err = "the reply is lost"
	}
	return cmd
}

// lease returns the first lease of a client as it knew it: from the reply that gave it the lock until it gave the lock
// back. It returns nil if no reply said so.
func (d *drawn) lease(who int, trace []history.Command) *history.Lease {
	at := slices.IndexFunc(d.story.Leases, func(l explore.Lease) bool { return l.Client == who })
	if at < 0 {
		return nil
	}
	for i := d.story.Leases[at].From - 1; i < len(d.story.Lines); i++ {
		line := d.story.Lines[i]
		if line.Step != (schedule.Step{Kind: schedule.Grant, Who: who, Nth: line.Step.Nth}) {
			continue
		}
		cmd := d.command(i)
		knows := cmd.ReadsStock() || cmd.WritesStock() || cmd.Acquires() && cmd.Succeeded()
		if i >= d.story.Leases[at].From && !knows {
			return nil // no reply told it
		}
		lease := &history.Lease{AcquiredAt: d.at(i), ReleasedAt: history.Never}
		for _, later := range trace {
			if later.At > lease.AcquiredAt && later.OnLock() && later.Releases() {
				lease.ReleasedAt = min(lease.ReleasedAt, later.At)
			}
		}
		return lease
	}
	return nil
}

// fault adds the fault of a step, if it is one.
func (d *drawn) fault(i int) {
	line := d.story.Lines[i]
	if !line.Fault {
		return
	}
	f := history.Fault{At: d.at(i), End: d.at(i), Text: line.What}
	switch line.Step.Kind {
	case schedule.Expiry:
		f.On, f.At = "time", d.at(i-1)
	case schedule.NodeDown, schedule.NodeEmpty, schedule.ClockJump:
		f = d.faultOfServer(i, f)
	default:
		f = d.faultOfClient(i, f)
	}
	d.cell.Faults = append(d.cell.Faults, f)
}

// faultOfServer tells of a fault of a lock server.
func (d *drawn) faultOfServer(i int, f history.Fault) history.Fault {
	line := d.story.Lines[i]
	f.On, f.Instance = "locks", strings.TrimPrefix(line.Server, "the ")
	switch line.Step.Kind {
	case schedule.NodeDown:
		f.Text = "cannot be reached"
		f.End = d.at(d.next(i, func(l explore.Line) bool {
			return l.Step == schedule.Step{Kind: schedule.NodeBack, Who: line.Step.Who}
		}))
	case schedule.NodeEmpty:
		f.Text = "restarts empty"
	default:
		f.Text = "its clock jumps"
	}
	return f
}

// faultOfClient tells of a fault of a client.
func (d *drawn) faultOfClient(i int, f history.Fault) history.Fault {
	line := d.story.Lines[i]
	f.Instance = d.story.Orders[line.Step.Who].Client
	f.Order = product + "-" + f.Instance
	switch line.Step.Kind {
	case schedule.Hold:
		f.At, f.Text = d.at(i-1), "held while time passes"
		f.End = d.at(d.next(i, func(l explore.Line) bool { return l.ByClient && l.Step.Who == line.Step.Who }))
	case schedule.CrashBefore, schedule.CrashAfter:
		f.Text, f.End = "killed", history.Never
	}
	return f
}

// next returns the first step after step i for which it is so, or the last one.
func (d *drawn) next(i int, is func(explore.Line) bool) int {
	if at := slices.IndexFunc(d.story.Lines[i+1:], is); at >= 0 {
		return i + 1 + at
	}
	return len(d.steps) - 1
}

// finding says that the cell breaks a verdict, with the orders and the times that show it.
func (d *drawn) finding(v explore.Violation) history.Finding {
	because := d.story.Sentence(v)
	e := history.Evidence{Text: because}
	for _, order := range d.story.Orders {
		if !order.Later {
			e.Orders = append(e.Orders, product+"-"+order.Client)
		}
	}
	switch v.Verdict {
	case history.Stock:
		if e.Unit = d.soldTwice(); e.Unit == 0 {
			e.Orders = nil // the books do not balance
		}
	case history.Exclusion:
		e.At = []history.Instant{d.at(v.From - 1), d.at(v.Last - 1)}
	}
	return history.Finding{Verdict: v.Verdict, Result: history.Broken, Because: because,
		Evidence: []history.Evidence{e}}
}

// soldTwice returns the unit that two orders were told they had bought, 0 if there is none.
func (d *drawn) soldTwice() int64 {
	seen := map[int64]bool{}
	for _, order := range d.story.Orders {
		for _, unit := range order.Units {
			if seen[unit] {
				return unit
			}
			seen[unit] = true
		}
	}
	return 0
}
