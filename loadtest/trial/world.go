package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/schedule/search"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A world plays schedules of two orders on a bench, one order at each instance. It implements [search.World].
//
// A step is a move of a line, so that a schedule can be printed and played again. A try that was refused is a step too,
// but the order's next try is none until another one has changed the lock, or the order has subscribed: else how many
// tries there are would be a matter of time.
type world struct {
	trial  *Trial
	bench  *record.Bench
	units  int64
	kinds  []schedule.Kind       // of the one fault
	atOnce bool                  // the server expires a lock that it can, rather than that the lease is waited for
	asks   func(end string) bool // whether liveness is asked of such an end

	before  map[wire.Key]wire.KeyState // what was in Redis at first
	line    *playedLine
	steps   search.Schedule // so far
	words   []string        // the line so far
	faults  int
	faultAt int               // how many steps there were with the fault; 0: there was none
	lapses  bool              // a step lets a lease pass
	early   bool              // the server ended one before its time
	over    []history.Instant // when each step was
	upTo    []int             // how many words there were then
	refused [2]string         // by order: the lock as it was when its last try was refused; "": it was not
	done    [2]string         // by order: what it has carried out
	again   [2]int            // by order: how often it has carried out the same in a row, without a step of the other one
	gaveWay bool              // an order had no further turn since it had carried out the same too often
	states  map[string]bool

	cell *history.Cell // of the last schedule, judged
	why  string        // why that does not count; "" if it does
}

// mostSteps bounds a schedule, for each command of a plain sale.
const mostSteps = 6

// Play implements [search.World].
func (w *world) Play(choose func([]search.Option) int) (end search.End, err error) {
	b := w.bench
	b.Begin("", "")
	b.Cell.Initial = w.units
	if err := errors.Join(b.Pair.Put(w.units), b.BeginCount()); err != nil {
		return end, err
	}
	w.line, w.steps, w.words, w.over, w.upTo = newPlayedLine(b), search.Schedule{}, nil, nil, nil
	w.faults, w.faultAt = 0, 0
	w.lapses, w.early, w.gaveWay, w.why, w.before = false, false, false, "", w.snapshot()
	w.refused, w.done, w.again = [2]string{}, [2]string{}, [2]int{}
	w.line.atOnce = w.atOnce
	most := 20 + mostSteps*len(b.Passport.Steps)
	for w.why == "" {
		w.states[w.state()] = true
		options := w.options()
		if end.Whole = len(options) == 0; end.Whole {
			break
		}
		n := choose(options)
		if n < 0 {
			break
		}
		if len(w.over) == most {
			w.why = fmt.Sprintf("its orders were not over after %d steps", most)
			break
		}
		w.take(options[n])
		w.steps.Note(options[n])
		w.over, w.upTo = append(w.over, b.Since(time.Now())), append(w.upTo, len(w.words))
		if w.why == "" && w.isTooSlow() {
			w.why = "a lease was over, or a client gave up on a reply, where no step says so"
		}
	}
	if err := w.judge(); err != nil {
		return end, err
	}
	end.Broken = map[history.Verdict]int{}
	for _, f := range w.cell.Findings {
		if f.Result == history.Broken {
			end.Broken[f.Verdict] = w.shownAt(f)
		}
	}
	return end, nil
}

// isTooSlow reports whether a lease is over, or a client gives up on a reply, although no step says so.
func (w *world) isTooSlow() bool {
	p, now := w.bench.Passport, time.Now()
	if w.lapses {
		return false
	}
	for who := range w.refused {
		if since := w.bench.Shown().Since(who); since.Known() && p.Lease() > 0 && p.Every == 0 &&
			w.bench.Since(now)-since > history.Instant(p.Lease()) {
			return true
		}
		for _, h := range w.line.player.HeldOf(who) {
			if p.Patience > 0 && now.Sub(h.Since) > p.Patience {
				return true
			}
		}
	}
	return false
}

// judge ends the schedule, and judges it.
func (w *world) judge() (err error) {
	b := w.bench
	left, letGo := w.isLeft(), time.Now()
	if over := w.line.player.Finish(); over != nil && w.why == "" {
		w.why = over.Error()
	}
	if w.line.finish(); left {
		w.lapses, w.early = true, true
		b.NoteEnds(time.Now(), history.LeaseOver)
		err = b.Expire()
	}
	if err = errors.Join(err, end(b)); err != nil {
		return err
	}
	w.cell, err = w.trial.judge(b, "", false, func() ([]*shop.Order, error) {
		if kept := keptWaiting(b, overOf(b, letGo)); kept != nil || !w.isAsked() {
			return kept, nil
		}
		return fresh(b)
	})
	if err != nil {
		return err
	}
	w.cell.Line = lineOf(w.words)
	return nil
}

// isAsked reports whether liveness is asked: if the schedule does not count, the next one with its end is asked.
func (w *world) isAsked() bool {
	return w.why == "" && w.asks(w.endState()+leftovers(w.before, w.snapshot()))
}

// leftovers describes what the schedule has left in Redis, without names and values: a place in a queue may keep others
// out.
func leftovers(before, now map[wire.Key]wire.KeyState) string {
	var all []string
	for key := range now {
		if kind := kindOf(now[key]); kind != kindOf(before[key]) {
			all = append(all, kind)
		}
	}
	for key := range before {
		if _, is := now[key]; !is {
			all = append(all, "no "+kindOf(before[key]))
		}
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// kindOf describes a key without its values.
func kindOf(s wire.KeyState) string {
	return fmt.Sprintf("%s %d %t", s.Kind, len(s.Parts), s.Ends.IsZero())
}

// snapshot returns the states of all keys, none if they cannot be read.
func (w *world) snapshot() (all map[wire.Key]wire.KeyState) {
	_ = w.bench.Pair.Alone(func(to *redis.Client) (err error) {
		all, err = wire.Snapshot(w.bench.Pair.Context, to)
		return err
	})
	return all
}

// shownAt returns after how many steps the evidence of a finding is complete. One without a time is that of a fault. A
// schedule that breaks no verdict is evidence as a whole.
func (w *world) shownAt(f history.Finding) int {
	if f.Result != history.Broken {
		return len(w.over)
	}
	last := history.Instant(0)
	for _, e := range f.Evidence {
		for _, at := range e.At {
			last = max(last, at)
		}
	}
	if last == 0 {
		return max(1, w.faultAt)
	}
	for i, over := range w.over {
		if over >= last {
			return i + 1
		}
	}
	return len(w.over)
}

// shown returns the schedule up to the evidence of what it breaks.
func (w *world) shown() sight {
	reason := reasonOf(w.cell)
	n := w.shownAt(reason)
	return sight{search.Prefix{Level: w.steps.LevelAt(n), Steps: slices.Clone(w.steps.Steps()[:n])},
		lineOf(w.words[:w.upTo[n-1]]), lineOf(w.words), w.units, reason.Result == history.Broken}
}

// reasonOf returns the finding that the defect of a cell explains, or else the first one that is broken.
func reasonOf(c *history.Cell) history.Finding {
	for _, f := range c.Findings {
		if f.Result == history.Broken && c.Defect != nil && strings.Contains(c.Defect.Shown, f.Because) {
			return f
		}
	}
	return history.FirstBroken(c.Findings)
}

// isLeft reports whether an order has left a lock after a fault, which nothing but its lease ends.
func (w *world) isLeft() bool {
	holder := w.holder()
	if holder < 0 || w.faults == 0 || !w.atOnce || !w.bench.CanExpire() {
		return false
	}
	order := w.line.player.Scene(holder).Order
	return w.bench.Pair.IsDown(holder) || order != nil && order.HasEnded() && len(w.line.player.HeldOf(holder)) == 0
}

// lineOf returns the line of these words. Letters follow each other without a dot.
func lineOf(words []string) string {
	var line strings.Builder
	for i, word := range words {
		if i > 0 && (isWord(words[i-1]) || isWord(word)) {
			line.WriteByte('.')
		}
		line.WriteString(word)
	}
	return line.String()
}

// isWord reports whether a word of a line is no letter of an order that takes a step.
func isWord(word string) bool { return len(word) > 2 || strings.HasSuffix(word, "<") }

// options returns what may come next: the turns of orders, commands in flight that arrive, and then faults.
func (w *world) options() []search.Option {
	all := w.optionsNow()
	if len(all) == 0 && w.passTime() {
		all = w.optionsNow()
	}
	if len(all) == 0 && w.leaseEnds() {
		all = w.optionsNow()
	}
	return all
}

// leaseEnds lets the lease of a lock pass for which an order waits, and which no order releases. It reports whether it
// did.
func (w *world) leaseEnds() bool {
	var waiting []int
	for who := range w.refused {
		if order := w.line.player.Scene(who).Order; order != nil && !order.HasEnded() && w.line.player.Works(who) {
			waiting = append(waiting, who)
		}
	}
	if len(waiting) == 0 || w.why != "" || !w.leaseNow().passes || !w.line.lockEnds() {
		return false
	}
	for _, who := range waiting {
		w.triesInVain(who)
	}
	w.expire()
	for _, who := range waiting { // it may have a timer for the end of the lease
		w.awaitCommand(who, w.bench.Passport.Limit())
	}
	return w.why == ""
}

// triesInVain has an order that waits for the lock try again, as it would before a lease is over: after some tries it
// may wait in another way.
func (w *world) triesInVain(who int) {
	for range w.mostAgain() {
		w.awaitCommand(who, mostPoll)
		held := w.line.player.HeldOf(who)
		if len(held) == 0 || w.why != "" || !w.isTry(held[0].Command()) {
			return
		}
		w.grant(w.optionAt(schedule.Grant, held, 0), false)
	}
}

// optionsNow returns them without letting time pass.
func (w *world) optionsNow() (all []search.Option) {
	w.awaitPolls()
	turns := [2][]search.Option{w.turns(shop.AtA), w.turns(shop.AtB)}
	for who := range turns {
		if w.again[who] <= w.mostAgain() || len(turns[1-who]) == 0 {
			all = append(all, turns[who]...)
		} else {
			w.gaveWay = true
		}
		if n := w.line.player.LateOf(who); n > 0 {
			all = append(all, option(schedule.Arrive, who, 0, "its command"))
		}
	}
	if len(all) > 0 && w.faults == 0 {
		all = append(all, w.faultsNow()...)
	}
	return all
}

// mostAgain returns how often an order may carry out the same command in a row before the other one has a turn, if it
// can take one: more often than a plain sale does, so that only an order is concerned that waits in a way of its own.
// Otherwise it might have every turn (Musuvathi and Qadeer, PLDI 2008).
func (w *world) mostAgain() int {
	most, run := 1, 1
	for i, s := range w.bench.Passport.Steps {
		if run++; i == 0 || s.Shape != w.bench.Passport.Steps[i-1].Shape {
			run = 1
		}
		most = max(most, run)
	}
	return most + 1
}

// awaitPolls waits for the next command of each order that waits for a lock which has changed since its last try: that
// is due soon, unless the order sleeps until a message or the end of the lease.
func (w *world) awaitPolls() {
	player := w.line.player
	for who := range w.refused {
		order := player.Scene(who).Order
		if order == nil || w.refused[who] == "" || !player.Works(who) || w.line.sleeps[order] {
			continue
		}
		if !w.isUnchanged(who) {
			w.awaitCommand(who, mostPoll)
		}
	}
}

// awaitCommand waits until an order has sent a command, or ended.
func (w *world) awaitCommand(who int, atMost time.Duration) {
	player, late := w.line.player, time.Now().Add(atMost)
	order := player.Scene(who).Order
	for len(player.HeldOf(who)) == 0 && !order.HasEnded() && time.Now().Before(late) {
		time.Sleep(time.Millisecond)
		player.HoldTurns()
	}
}

// mostPoll is longer than waiters sleep between two polls.
const mostPoll = time.Second

func option(kind schedule.Kind, who, nth int, what string) search.Option {
	id := fmt.Sprintf("%s %d %d %s", schedule.ClientName(who), kind, nth, what)
	return search.Option{Step: schedule.Step{Kind: kind, Who: who, Nth: nth}, ID: id}
}

// turns returns the options of an order: to begin, to go on, or to have a command carried out that waits.
func (w *world) turns(who int) (all []search.Option) {
	player := w.line.player
	order := player.Scene(who).Order
	switch held := player.HeldOf(who); {
	case w.bench.Pair.IsDown(who) || player.Ends[who].Dead:
	case order == nil:
		all = append(all, option(schedule.Grant, who, 0, "begins"))
	case !player.Works(who):
		all = append(all, option(schedule.Grant, who, 0, "continues"))
	case len(held) > 0 && held[0].Reply:
		all = append(all, option(schedule.Grant, who, 0, "gets the reply"))
	default:
		unchanged := w.isUnchanged(who)
		for n, h := range held {
			switch cmd := h.Command(); {
			case w.isTry(cmd) && unchanged:
			case w.isTry(cmd) && w.again[who] > w.mostAgain():
				w.gaveWay = true
			default:
				all = append(all, w.optionAt(schedule.Grant, held, n))
			}
		}
	}
	return all
}

// optionAt returns the option that concerns one of the commands that an order waits with. Several wait in any order, so
// the ID counts only those of the same name.
func (w *world) optionAt(kind schedule.Kind, held []*rig.Held, n int) search.Option {
	name, same := w.nameOf(held[n].Command()), 0
	for _, h := range held[:n] {
		if w.nameOf(h.Command()) == name {
			same++
		}
	}
	o := option(kind, held[n].Order.At, same, name)
	o.Nth = n
	return o
}

// isTry reports whether a command is of a kind that tries to acquire the lock, or looks whether it is free.
func (w *world) isTry(cmd *wire.Command) bool {
	shape := w.bench.Shape(&cmd.Seen)
	return w.bench.Passport.Acquires[shape] || w.bench.Passport.Tries[shape]
}

// nameOf identifies a command in every schedule: by its shape and the role of its key, without values.
func (w *world) nameOf(cmd *wire.Command) string {
	if cmd.Message {
		return "message"
	}
	s := w.bench.Shape(&cmd.Seen)
	return fmt.Sprintf("%s %.8s %s %s", s.Verb, s.Script, s.Condition, s.On)
}

// A leaseNow holds the conditions of the faults that concern the lease: who holds the lock, and whether it can pass.
type leaseNow struct {
	holder int  // the number of the instance that holds the lock, -1: none
	lapses bool // the lease of a stopped instance can pass
	passes bool // it can while a reply is held
}

func (w *world) leaseNow() leaseNow {
	p := w.bench.Passport
	now := leaseNow{holder: w.holder(), lapses: p.Lease() > 0 && len(p.Keys) > 0}
	now.passes = now.lapses && p.Every == 0 && (w.atOnce && w.bench.CanExpire() || aLongReply(p) == "")
	return now
}

// faultsNow returns the faults that can hit an order now.
func (w *world) faultsNow() (all []search.Option) {
	now := w.leaseNow()
	for who := range w.refused {
		order, held := w.line.player.Scene(who).Order, w.line.player.HeldOf(who)
		waits := w.isUnchanged(who)
		switch {
		case order == nil:
			all = append(all, w.faultsAtFirst(who, now)...)
		case len(held) == 0 && !waits || len(held) > 0 && held[0].Reply || w.bench.Pair.IsDown(who):
		default:
			at := "waits"
			if !waits {
				at = w.nameOf(held[0].Command())
			}
			all = append(all, w.faultsOf(order, at, now)...)
			for n := range held {
				if !waits || !w.isTry(held[n].Command()) { // else it has no turn: how many there are is a matter of time
					all = append(all, w.faultsAt(held, n, now)...)
				}
			}
		}
	}
	if now.holder >= 0 && now.passes && slices.Contains(w.kinds, schedule.Expiry) {
		all = append(all, option(schedule.Expiry, 0, 0, ""))
	}
	return all
}

// faultsOf returns the faults that can hit an order, rather than a command of its, where it is now.
func (w *world) faultsOf(order *rig.InFlight, at string, now leaseNow) (all []search.Option) {
	for _, kind := range w.kinds {
		can := false
		switch kind {
		case schedule.GiveUp:
			can = !order.HasEnded()
		case schedule.CrashBefore:
			can = true
		case schedule.Hold:
			can = now.lapses && now.holder == order.At
		}
		if can {
			all = append(all, option(kind, order.At, 0, at))
		}
	}
	return all
}

// faultsAt returns the faults that can hit one of the commands that an order waits with.
func (w *world) faultsAt(held []*rig.Held, n int, now leaseNow) (all []search.Option) {
	who, cmd := held[n].Order.At, held[n].Command()
	for _, kind := range w.kinds {
		can := !cmd.Message
		switch kind {
		case schedule.Drop:
			can = cmd.Message
		case schedule.Expiry, schedule.GiveUp, schedule.CrashBefore, schedule.Hold: // they hit orders
			can = false
		case schedule.Work:
			can = can && now.passes && w.refused[who] == "" && (now.holder == who || w.isTry(cmd))
		}
		if can {
			all = append(all, w.optionAt(kind, held, n))
		}
	}
	return all
}

// faultsAtFirst returns the faults that can hit the first command of an order that is yet to be sent.
func (w *world) faultsAtFirst(who int, now leaseNow) (all []search.Option) {
	first := w.bench.Passport.Steps[min(w.bench.Passport.Ahead, len(w.bench.Passport.Steps)-1)]
	for _, kind := range w.kinds {
		switch kind {
		case schedule.LoseRequest, schedule.LoseReply, schedule.Late:
		case schedule.Work:
			if !now.passes || !w.bench.Passport.Acquires[first.Shape] {
				continue
			}
		default:
			continue
		}
		all = append(all, option(kind, who, 0, "begins"))
	}
	return all
}

// holder returns the number of the instance that holds the lock, -1 if none is known to.
func (w *world) holder() int {
	shown := w.bench.Shown()
	for at := range w.refused {
		if shown.Since(at).Known() {
			return at
		}
	}
	return -1
}

// isUnchanged reports whether an order was refused the lock, which nobody has changed since.
func (w *world) isUnchanged(who int) bool { return w.refused[who] != "" && w.refused[who] == w.lock() }

// lock describes the lock as it is, without times.
func (w *world) lock() string {
	var text strings.Builder
	states := w.bench.Pair.Looker.Load().Look()
	for _, l := range w.bench.Passport.Keys {
		s := states[l.Key]
		fmt.Fprintf(&text, "%s %s %v;", l.Key, s.Kind, s.Parts) // a map is printed in the order of its keys
	}
	return text.String()
}

// state describes what the schedule has come to, without tokens and times.
func (w *world) state() string {
	return fmt.Sprintf("%d %s %q", w.holder(), w.endState(), w.done)
}

// endState describes the lock, the stock and the instances, without tokens and times.
func (w *world) endState() string {
	var text strings.Builder
	p, states := w.bench.Pair, w.bench.Pair.Looker.Load().Look()
	for _, l := range w.bench.Passport.Keys {
		s := states[l.Key]
		fmt.Fprintf(&text, "%s %d %t %t;", s.Kind, len(s.Parts), s.Ends.IsZero(), l.AtRest(s))
	}
	left, _ := p.UnitsLeft()
	fmt.Fprintf(&text, "%d %t %t", left, p.IsDown(shop.AtA), p.IsDown(shop.AtB))
	return text.String()
}

// take takes a step.
func (w *world) take(o search.Option) {
	if o.IsFault() {
		w.faults, w.faultAt = w.faults+1, len(w.over)+1
	}
	letter := schedule.ClientName(o.Who)
	if o.Kind != schedule.Grant {
		w.again = [2]int{}
	}
	switch o.Kind {
	case schedule.Grant:
		if player := w.line.player; player.Scene(o.Who).Order != nil && !player.Works(o.Who) {
			w.move("continue-"+letter, schedule.Move{Verb: "continue", Who: o.Who, At: o.Who})
		}
		w.grant(o, false)
	case schedule.Work:
		w.grant(o, true)
		w.expire()
	case schedule.Expiry:
		w.expire()
	case schedule.Hold:
		w.move("stop-"+letter, schedule.Move{Verb: "stop", Who: o.Who, At: o.Who})
		w.expire()
	default:
		verb := o.Kind.Verb()
		if o.Kind == schedule.Drop {
			verb = "lose-request" // of a message: that one alone
		}
		sender := schedule.Step{Who: o.Who, Nth: o.Nth}.String()
		w.move(verb+"-"+sender, schedule.Move{Verb: verb, Who: o.Who, At: o.Who, Nth: o.Nth})
	}
}

// grant has the next command of an order carried out.
func (w *world) grant(o search.Option, reply bool) {
	var cmd *wire.Command
	if held := w.line.player.HeldOf(o.Who); len(held) > 0 && !held[0].Reply {
		cmd = held[o.Nth].Command()
	}
	unchanged := w.isUnchanged(o.Who)
	letter := schedule.Step{Who: o.Who, Nth: o.Nth}.String()
	w.move(letter+sale.Either(reply, "<", ""), schedule.Move{Who: o.Who, At: o.Who, Nth: o.Nth, Mark: schedule.Next,
		Reply: reply})
	w.again[1-o.Who] = 0
	if w.again[o.Who]++; !strings.HasSuffix(w.done[o.Who], o.ID) {
		w.again[o.Who] = 1
	}
	w.done[o.Who] += " " + o.ID
	switch order := w.line.player.Scene(o.Who).Order; {
	case cmd != nil && cmd.Subscribes:
		w.refused[o.Who] = ""
	case order != nil && !order.HasEnded() && w.bench.WaitsForLock(w.bench.OrderOf(order)):
		if cmd == nil || w.isTry(cmd) || unchanged { // what it does itself is no change to it
			w.refused[o.Who] = w.lock()
		}
	default:
		w.refused[o.Who] = ""
	}
}

// expire lets the lease of the lock pass.
func (w *world) expire() {
	w.lapses, w.early, w.again = true, w.early || w.atOnce && w.bench.CanExpire(), [2]int{}
	w.move("expiry", schedule.Move{Verb: "expiry", Who: -1})
}

// move takes a move, and adds its word to the line.
func (w *world) move(word string, m schedule.Move) {
	if w.why != "" {
		return
	}
	w.words = append(w.words, word)
	if err := w.line.player.Move(w.bench.Pair.Context, m); err != nil {
		w.why = err.Error()
		return
	}
	if w.line.player.Unsettled() != nil {
		w.settle(w.bench.Passport.Takes + mostPause)
	}
}

// mostPause is longer than a client takes that acts on a fault at once.
const mostPause = 500 * time.Millisecond

// settle waits until all orders are at rest. After a fault the client of an order may wait for a timer of its own, with
// nothing that shows it: such an order sleeps until no other one has an option.
func (w *world) settle(atMost time.Duration) {
	for {
		busy := w.line.player.Settle(w.bench.Pair.Context, atMost)
		switch {
		case busy == nil:
			return
		case w.faults == 0:
			w.why = people[busy.At] + " did not come to rest"
			return
		}
		w.line.sleeps[busy] = true
	}
}

// passTime lets time pass until the orders that sleep are at rest. It reports whether there were any, and are.
func (w *world) passTime() bool {
	if len(w.line.sleeps) == 0 || w.why != "" {
		return false
	}
	w.lapses = true
	clear(w.line.sleeps)
	if busy := w.line.player.Settle(w.bench.Pair.Context, w.bench.Passport.HTTPTime()+sale.Margin); busy != nil {
		w.why = people[busy.At] + " did not come to rest"
	}
	return w.why == ""
}
