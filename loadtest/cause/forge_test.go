package cause

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// lockKey is the lock of forged cells; stockKey is the stock, of ten units.
const lockKey, stockKey, stock = "lock:10000", "ProductStock_10000", 10

// The instances of forged cells.
const atA, atB = "a", "b"

// A forgery is a cell whose orders and commands are made up. The causes also are right besides the one that a test
// expects of it.
type forgery struct {
	*history.Cell
	also []cause
}

// A write is an order's write of the stock. It leaves left units, or one less than there were.
type write struct {
	order, left int
	at          history.Instant
}

// forge begins a cell of a shop whose lock is a leased key with a token.
func forge() *forgery {
	f := &forgery{Cell: &history.Cell{Kind: history.Trial, Product: "10000", Initial: stock, TTL: 2 * time.Second,
		Start: time.Unix(1000, 0), Elapsed: time.Minute, Client: &history.Client{Loop: "closed"},
		Facts: &history.Facts{Locks: []string{lockKey}, TTL: 2 * time.Second, Token: true, Release: "a script"}}}
	f.Ops = make([]history.Op, 0, 20) // so that append does not move the orders
	for _, name := range []string{atA, atB} {
		f.Instances = append(f.Instances,
			history.Instance{Name: name, Clock: "loadtest", Offsets: make([]history.Offset, 2)})
	}
	return f
}

// ms returns a moment of the cell.
func ms(n int) history.Instant { return history.Instant(n) * history.Instant(time.Millisecond) }

// order adds an order that lasted from one moment to another; to 0 means that it has no answer.
func (f *forgery) order(name, at string, outcome history.Outcome, from, to int, trace ...history.Command) *history.Op {
	op := history.Op{Order: f.Product + "-" + name, Phase: history.Buy, Instance: at, Outcome: outcome, Quantity: 1,
		Due: ms(from), Sent: ms(from), Done: history.Never, Trace: trace, Status: 200}
	if to > 0 {
		op.Done, op.Latency = ms(to), time.Duration(ms(to-from))
	}
	if strings.HasPrefix(name, "fresh") {
		op.Phase = history.Probe
	}
	f.Ops = append(f.Ops, op)
	return &f.Ops[len(f.Ops)-1]
}

// command returns a command that arrived at the proxy at a moment, and whose reply was delivered a millisecond later.
func command(n int, effect history.Effect, name string) history.Command {
	key := lockKey
	if effect == history.EffectRead || effect&history.EffectWrote == history.EffectWrote {
		key = stockKey
	}
	return history.Command{Cmd: name, Key: key, Source: history.Looked, Effect: effect, At: ms(n), End: ms(n + 1),
		Wire: &history.Carried{Came: ms(n), Heard: ms(n + 1)}}
}

// with changes what the proxy recorded of a command.
func with(c history.Command, change func(*history.Carried)) history.Command {
	wire := *c.Wire
	change(&wire)
	c.Wire = &wire
	return c
}

// usually makes a command one that has the effect in plain sales.
func usually(c history.Command, e history.Effect) history.Command {
	return with(c, func(w *history.Carried) { w.Usual = e })
}

// acquireBy sets the lock to a value.
func acquireBy(n int, value string) history.Command {
	return with(usually(command(n, history.EffectAcquired, "set"), history.EffectAcquired), func(w *history.Carried) {
		w.Is, w.Named = value, []string{value}
	})
}

func acquire(n int) history.Command { return acquireBy(n, "token of "+ms(n).String()) }

func tried(n int) history.Command {
	return usually(command(n, history.EffectTried, "set"), history.EffectAcquired)
}

func read(n int) history.Command { return command(n, history.EffectRead, "get") }

// write leaves 9 units of ten.
func writes(n int) history.Command { return leaves(n, stock-1) }

func leaves(n, left int) history.Command {
	c := usually(command(n, history.EffectWrote, "set"), history.EffectWrote)
	c.Reply = string(rune('0' + left)) // as a sign for judge
	return c
}

// release is a script that compares the whole value.
func release(n int) history.Command {
	return with(usually(command(n, history.EffectReleased, "eval"), history.EffectReleased), func(w *history.Carried) {
		w.Compared = true
	})
}

// inVain is a release that finds the lock gone, or another order's.
func inVain(n int) history.Command {
	return usually(command(n, history.EffectNothing, "eval"), history.EffectReleased)
}

// names makes a command name these values of the lock.
func names(c history.Command, values ...string) history.Command {
	return with(c, func(w *history.Carried) { w.Named = values })
}

func del(n int) history.Command { return command(n, history.EffectReleased, "del") }

// renewal is a command that renews in plain sales.
func renewal(n int, effect history.Effect) history.Command {
	return usually(command(n, effect, "eval"), history.EffectRenewed)
}

// takesOver is a renewal that takes the lock that another order acquired at the moment from.
func takesOver(n, from int) history.Command {
	return with(renewal(n, history.EffectAcquired), func(w *history.Carried) { w.Was = "token of " + ms(from).String() })
}

// looks is a command that leaves the lock as it was.
func looks(n int) history.Command { return command(n, history.EffectNothing, "get") }

// noted is the note that the trial, or the server, ended the lock.
func noted(n int, why string) history.Command {
	return history.Command{Cmd: history.EndedLock, Key: lockKey, Reply: why, Source: history.Looked, At: ms(n), End: ms(n)}
}

// lost makes the reply of a command undelivered.
func lost(c history.Command) history.Command {
	return with(c, func(w *history.Carried) { w.Heard = history.Never })
}

// heldUntil delays a command at the proxy.
func heldUntil(n int, c history.Command) history.Command {
	c.At, c.End = ms(n), ms(n+1)
	return with(c, func(w *history.Carried) { w.Heard = ms(n + 1) })
}

// hungUp ends an order without an answer.
func hungUp(n int, op *history.Op) {
	op.Done, op.Latency, op.GaveUp = history.Never, time.Duration(ms(n)-op.Sent), history.HungUp
}

// killed adds a fault that kills instance a.
func (f *forgery) killed(n int) {
	f.Faults = append(f.Faults, history.Fault{Instance: atA, Kind: history.FaultKill, Text: "killed", At: ms(n),
		End: ms(n)})
}

// inject records the fault of a scenario as a trial does, unless the forgery has its faults already.
func (f *forgery) inject(fault string) {
	name, _, _ := strings.Cut(fault, " ")
	if len(f.Faults) > 0 || len(f.Ops) == 0 || len(f.Ops[0].Trace) == 0 {
		return
	}
	anna := &f.Ops[0]
	hit := history.Fault{Order: anna.Order, Instance: anna.Instance, At: ms(25), End: ms(2045)}
	switch name {
	case "slow-work":
		hit.Kind, hit.Command = history.FaultHeld, "read"
	case "pause":
		hit.Kind = history.FaultStop
	case "cut-off":
		hit.Kind = history.FaultCut
	case "renewals-lost":
		hit.Kind, hit.Command = history.FaultLost, history.CommandRenewal
	case "late":
		hit.Kind, hit.Command, hit.At = history.FaultLate, history.CommandWrite, ms(35)
		for i := range anna.Trace {
			if cmd := &anna.Trace[i]; cmd.WritesStock() {
				cmd.Wire.Came = ms(30)
			}
		}
	case "key-removed":
		hit.End = hit.At
		anna.Trace = append(anna.Trace, noted(50, history.LockRemoved))
	case "server-restart":
		hit.Kind, hit.End = history.FaultRestart, hit.At
		anna.Trace = append(anna.Trace, noted(50, history.LocksLost))
	default:
		return
	}
	f.Faults = append(f.Faults, hit)
}

// judge judges the forgery as a cell of the fault, and explains it.
func (f *forgery) judge(fault string) *history.Cell {
	f.inject(fault)
	f.Scenario, f.TTL = fault, cmp.Or(f.Facts.TTL, f.Facts.InValue)
	f.Limit = f.Facts.Lease() + f.Facts.Takes + time.Duration(Margin)
	var all []write
	for i := range f.Ops {
		for _, cmd := range f.Ops[i].Trace {
			if sold(&cmd) {
				left := -1
				if cmd.Cmd == "set" {
					left = int(cmd.Reply[0] - '0')
				}
				all = append(all, write{i, left, cmd.At})
			}
		}
	}
	slices.SortFunc(all, func(x, y write) int { return int(x.at - y.at) })
	left := stock
	for _, w := range all {
		if left--; w.left >= 0 {
			left = w.left
		}
		op := &f.Ops[w.order]
		again := slices.Contains(op.Units, int64(left+1)) // the unit is sold twice
		if !again && (op.Outcome == history.Sold || op.Outcome == history.Unknown) {
			op.Units = append(op.Units, int64(left+1))
		}
	}
	if f.Count == nil {
		f.Left = new(int64(left))
	}
	for i := range f.Ops {
		op := &f.Ops[i]
		if op.Outcome == history.Unknown && len(op.Units) == 0 {
			op.Outcome = history.NotSold
		}
	}
	f.fillIn()
	line := history.TimelineOf(f.Cell, history.TermsOnTrial(f.Cell))
	for i := range f.Ops {
		if len(f.Facts.Locks) > 0 {
			f.Ops[i].Lease = line.LeaseOf(i)
		}
	}
	f.Client.Asked, f.Client.Delivered = len(f.Ops), len(f.Ops)
	f.Findings, f.Coverage = audit.Judge(f.Cell, line)
	r := recordOf(f.Cell, line)
	r.findCauses()
	f.check(r, r.Defect)
	return f.Cell
}

// inconclusive returns why an ok of a judged cell would mean nothing.
func inconclusive(c *history.Cell) string { return newRecord(c).whyInconclusive() }

func newRecord(c *history.Cell) *record {
	return recordOf(c, history.TimelineOf(c, history.TermsOnTrial(c)))
}

// accused returns the defect that the forgery's commands show by themselves.
func (f *forgery) accused() *history.Defect {
	r := newRecord(f.Cell)
	d := r.accused()
	f.check(r, d)
	return d
}

// check keeps which rows the forgery shows. It is a surprise if rows count that have another cause than its defect and
// those that are right besides, or if those do not count.
func (f *forgery) check(r *record, d *history.Defect) {
	if d != nil {
		named[d.Cause] = true
	}
	for i := range plainSales {
		one := &plainSales[i]
		if d != nil && d.Cause == one.what && one.is(r.facts) && (i < len(always) || !r.IsObserved()) {
			shown[one] = true
		}
	}
	var want, got []string
	for _, c := range f.also {
		want = append(want, c.what)
	}
	text := ""
	for i := range r.seen {
		s := &r.seen[i]
		fired[s.row] = true
		if s.what != "" && counts(r, s) && (d == nil || s.what != d.Cause) && !slices.Contains(got, s.what) {
			got, text = append(got, s.what), text+"\n\t"+s.what+": "+s.shown
		}
	}
	if slices.Sort(got); !slices.Equal(slices.Sorted(slices.Values(want)), got) {
		_, file, line, _ := runtime.Caller(2)
		surprises = append(surprises, fmt.Sprintf("%s:%d: %s breaks %q: besides its defect it should show %q, and shows%s",
			filepath.Base(file), line, r.Scenario, broken(r.Cell), want, text))
	}
}

// counts reports whether a sighting is of a row that accuses or ends a lock, or that explains a broken
// verdict.
func counts(r *record, s *sighting) bool {
	if slices.Contains([]kind{accusing, ending}, s.kind) {
		return true
	}
	for i, v := range Asked {
		f := r.Finding(v)
		if f.Result == history.Broken && strings.Contains(s.explains, "SERL"[i:i+1]) && r.fits(s, f, r.rivals(f)) {
			return true
		}
	}
	return false
}

// fillIn fills in what each release removed: the last value that an acquire set.
func (f *forgery) fillIn() {
	var all []*history.Command
	for i := range f.Ops {
		for j := range f.Ops[i].Trace {
			all = append(all, &f.Ops[i].Trace[j])
		}
	}
	slices.SortStableFunc(all, func(x, y *history.Command) int { return int(x.At - y.At) })
	value := ""
	for _, cmd := range all {
		switch {
		case took(cmd):
			value = cmd.Wire.Is
		case cmd.Releases():
			cmd.Wire.Was, value = value, ""
		}
	}
}
