package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/wire"
)

const (
	product = "10000"
	onShelf = 100 // units at the start of a round
	slowBy  = 5   // half leases of slow work: longer than v5.5 renews one
	// held is an instance's timeout for a server: longer than a class needs to decide on the next command.
	held = 10 * time.Minute
	// retry is the poll interval of an order: long enough for a class to follow.
	retry = 500 * time.Millisecond
	// margin is how long, beyond a lease, a fresh request may take to get through at the end.
	margin = 2 * time.Second
)

// house are the teacher's buyers, at a and at b.
var house = [...]string{"anna", "bert"}

// A shop belongs to one round: its own Redis, Redlock's nodes if needed, two instances, and the wires between them. It
// ends with the round, so the next one starts clean.
type shop struct {
	round  *Round
	record *record
	client *client.Client
	runner *scenario.Runner
	cell   *history.Cell
	ctx    context.Context
	cancel context.CancelFunc
	gate   *wire.Gate
	share  func(map[int64][]string)
	held   atomic.Bool    // step mode: commands wait at the gate
	calm   func()         // no trap catches a command from now on
	hits   sync.WaitGroup // done when the fault of the round has happened, or cannot any more
	rig    *rig.Player
	sites  []*site
	over   chan struct{} // closed when no more orders are accepted
	played chan struct{} // closed when everything has ended
	next   int           // the index of the trace's next step
	// pressed counts the keys of the script that were pressed in its order.
	pressed int

	mu     sync.Mutex
	trap   *rig.CommandTrap // for the write that the fault of the round holds; nil: none yet
	open   bool             // the stock is set
	ended  bool             // all orders have ended: what is found from now on is the verdict's
	orders []*order
	sold   map[int64][]*order      // by unit: its orders, in the order of the receipts
	known  map[int]bool            // the IDs of commands that have been attributed to an order
	strays map[int]history.Command // commands answered while several orders were in flight at their instance, by ID
	watch  watch
	judge  judge
	astray []string // how the round departed from its script

	redraw   bool // the round has changed since the last drawing
	drawNext time.Time
}

// A site is an instance with its fault, if it has one. The shop's mu guards it.
type site struct {
	*rig.End
	state   string          // up, stopped, dead, cut, slow
	since   time.Time       // when it entered this state
	faulted bool            // its first order was sent, which may be held at work
	gone    <-chan struct{} // closed when its process has exited
}

// An order is one of the round. The shop's mu guards it.
type order struct {
	*rig.InFlight
	id    string
	told  event
	slow  bool
	trace []history.Command // commands answered while it was the only order at its instance
	ends  []history.Command // notes of its leases that a step expired
	op    *history.Op       // nil until its outcome is known
	fence int               // the number of its fencing token in the round, 0 if unknown
}

// newShop starts the shop of a round. It calls share with the buyers of each unit that was sold more than once, and
// then at the end, with an error if there is no verdict.
func newShop(
	ctx context.Context, b *rig.Testbed, token string, r *Round, rec *record, share func(map[int64][]string),
	then func(*shop, error),
) (*shop, error) {
	s := &shop{round: r, record: rec, share: share, client: client.New(len(animals), token), gate: wire.NewGate(b.Scripts),
		over: make(chan struct{}), played: make(chan struct{}), sold: map[int64][]*order{}, known: map[int]bool{},
		strays: map[int]history.Command{}, calm: func() {}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.gate.Watch = s.observe
	opened := make(chan error, 1)
	go func() {
		defer close(s.played)
		err := s.start(b)
		if err == nil {
			err = s.play(func() { opened <- nil })
			then(s, err)
		}
		opened <- err
		<-s.ctx.Done()
		s.client.Close()
		s.rig.Close()
	}()
	if err := <-opened; err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close stops the shop and waits for its orders, so that none sends an event later.
func (s *shop) close() {
	s.cancel()
	<-s.played
	for _, o := range s.orders {
		<-o.Done()
	}
	s.hits.Wait()
}

func (s *shop) start(b *rig.Testbed) (err error) {
	names := []string{"redis"}
	if s.round.rung.OnNodes() {
		for i := range scenario.RedlockNodes {
			names = append(names, fmt.Sprintf("node %d", i+1))
		}
	}
	s.rig = &rig.Player{User: s}
	s.rig.Rig, err = b.Start(s.ctx, rig.Plan{Gate: s.gate, Servers: names, Nodes: s.round.rung.OnNodes(), Apart: true,
		Ends: 2, Faults: true, Held: held, Retry: retry})
	if err != nil {
		return err
	}
	for _, end := range s.rig.Ends {
		at := &site{End: end, state: "up", gone: end.In.ExpectExit()}
		s.sites = append(s.sites, at)
		go func() { // whatever it died of
			<-at.gone
			s.markDead(at)
		}()
	}
	return nil
}

// play plays the round: it sets the stock, calls open, takes orders until over is closed, and has them judged.
func (s *shop) play(open func()) error {
	s.cell = &history.Cell{Kind: history.Stage, Scenario: s.round.Title, Rung: s.round.rung.Number,
		Name: s.round.rung.Name, Repetition: 1, Product: product, Initial: onShelf, TTL: s.round.Lease,
		Limit: s.round.Lease + margin, Start: time.Now()}
	s.runner = &scenario.Runner{Client: s.client, Targets: &scenario.FaultTargets{Behind: s.rig.Behind()},
		Load:  history.Load{Stock: onShelf, Wait: s.round.Wait, TTL: s.round.Lease, Work: s.round.Work},
		Shelf: func(ctx context.Context) (int64, error) { return left(ctx, s.rig.Stores[0].Redis) }}
	err := s.runner.Play(s.ctx, s.cell, s.rig.URLs(), func(ctx context.Context) error {
		s.mu.Lock()
		s.open, s.judge.cell = true, *s.cell
		s.judge.cell.Instances = slices.Clone(s.cell.Instances) // cloned: their clocks are read again at the end
		s.mu.Unlock()
		go s.poll(ctx)
		if len(s.round.line) > 0 {
			s.trapCommands(ctx)
		}
		open()
		select {
		case <-s.over:
			err := s.finish(ctx)
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err == nil && s.cell.NotTested != nil {
		err = errors.New(s.cell.WhyNot())
	}
	return err
}

// trapCommands makes commands pass the gate one by one, so that the traps of a line can catch them.
func (s *shop) trapCommands(ctx context.Context) {
	ctx, s.calm = context.WithCancel(ctx)
	s.gate.Close()
	go s.rig.LetThrough(ctx, nil)
}

// finish heals all faults, waits for the orders to end, and probes the lock with a fresh request.
func (s *shop) finish(ctx context.Context) error {
	if s.held.Load() {
		s.setStepping(false)
	}
	s.healAll()
	s.hits.Wait()
	alive := s.healAll()
	s.setStepping(false)
	s.mu.Lock()
	orders := s.orders
	s.mu.Unlock()
	for _, o := range orders {
		s.letEnd(o)
		s.cell.Ops = append(s.cell.Ops, o.Op)
	}
	s.cell.Elapsed = time.Since(s.cell.Start)
	if len(alive) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.runner.Probe(ctx, s.cell, alive, false)
}

// healAll heals the instances that are not dead, and returns their numbers.
func (s *shop) healAll() (alive []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, at := range s.sites {
		if at.state != "dead" {
			alive = append(alive, i)
			s.heal(at)
		}
	}
	return alive
}

// letEnd waits for an order to end. The round's fault may hold it, now or later, so it keeps ending holds.
func (s *shop) letEnd(o *order) {
	for {
		select {
		case <-o.Done():
			return
		case <-time.After(retry):
			_ = s.endHolds(s.sites[o.At])
		}
	}
}

func (s *shop) longWork() time.Duration { return s.round.Lease * slowBy / 2 }

// buyAs sends an order of Anna at a, or of Bert at b.
func (s *shop) buyAs(who int) {
	s.buy(house[who], -1-who, who, func(*history.Op) {})
}

// buy sends an order of a person, and calls then when it has ended.
func (s *shop) buy(person string, colour, to int, then func(*history.Op)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, id := s.sites[to], person
	for n := 2; slices.ContainsFunc(s.orders, func(before *order) bool { return before.id == id }); n++ {
		id = fmt.Sprintf("%s-%d", person, n)
	}
	o := &order{InFlight: rig.NewInFlight(product+"-"+id, to), id: id}
	with := client.Order{Timeout: s.round.Wait + s.longWork() + held}
	if to == 0 && !at.faulted {
		if at.faulted = true; s.round.works() {
			with.Fault = atWork
		}
	}
	if at.state == "slow" {
		o.slow, with.Work = true, s.longWork()
	}
	s.orders = append(s.orders, o)
	o.Send(s.ctx, func(ctx context.Context) history.Op {
		op := s.runner.Send(ctx, s.cell, to, id, with)
		shared := s.end(o, &op)
		then(&op)
		s.share(shared)
		return op
	})
	o.told = event{"order": id, "person": person, "colour": colour, "instance": at.Name, "state": "sent",
		"sent": s.record.since(o.Sent)}
	s.record.add("order", o.told)
	s.redraw = true
}

// end records the outcome of an order, and returns the buyers of its units that others also bought. An order whose
// instance died before its write has not sold.
func (s *shop) end(o *order, op *history.Op) (shared map[int64][]string) {
	at := s.sites[o.At]
	if op.Outcome == history.Unknown { // perhaps its instance died
		select {
		case <-at.gone:
			s.markDead(at)
		case <-s.ctx.Done():
		case <-time.After(time.Second):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.state == "dead" && !s.gate.Wrote(&at.Client, o.Sent) {
		op.KilledBeforeWrite(at.Name)
	}
	if o.slow {
		s.note(o, o.Sent, rig.WorkFault(s.longWork(), s.round.Lease))
	}
	op.Trace = append(op.Trace, o.ends...)
	o.op, s.judge.due, s.redraw = op, true, true
	commands, log := []int{}, slices.DeleteFunc(s.gate.LogOf(&at.Client), func(cmd *wire.Command) bool {
		return s.known[cmd.ID]
	})
	for _, cmd := range wire.Narrow(op, s.cell.Start, log) {
		commands, s.known[cmd.ID] = append(commands, cmd.ID), true
		delete(s.strays, cmd.ID)
	}
	told := o.told
	told["state"], told["done"], told["commands"] = "done", s.record.since(time.Now()), commands
	told["outcome"], told["units"] = op.Outcome, op.Units
	if l := op.Lease; l != nil {
		told["acquired"], told["released"], told["lost"] = s.moment(l.AcquiredAt), s.moment(l.ReleasedAt), l.Lost
		s.watch.owns(l.Token, o.id)
		o.fence = cmp.Or(o.fence, s.watch.numberOf(strconv.FormatInt(l.Fence, 10)))
	}
	s.record.add("order", told)
	if op.Outcome != history.Sold {
		return nil
	}
	shared = map[int64][]string{}
	for _, unit := range op.Units {
		s.sold[unit] = append(s.sold[unit], o)
		if len(s.sold[unit]) == 1 {
			continue
		}
		var orders []string
		for _, one := range s.sold[unit] {
			orders = append(orders, one.id)
			shared[unit] = append(shared[unit], one.told["person"].(string))
		}
		s.record.add("twice", event{"unit": unit, "orders": orders, "persons": shared[unit]})
	}
	return shared
}

// moment returns an instant of the cell in the log's unit, nil for never.
func (s *shop) moment(i history.Instant) *float64 {
	if !i.Known() {
		return nil
	}
	return new(s.record.since(s.cell.Start.Add(time.Duration(i))))
}

// note records a fault that has affected an order since a time.
func (s *shop) note(o *order, since time.Time, f history.Fault) {
	o.Note(s.cell, f, since, time.Now())
	s.redraw = true
}

// ordersInFlight returns the orders in flight at an instance. The caller holds s.mu.
func (s *shop) ordersInFlight(at *site) (all []*order) {
	for _, o := range s.orders {
		if o.At == at.Index && o.op == nil {
			all = append(all, o)
		}
	}
	return all
}

func (s *shop) isUp(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sites[number].state == "up"
}

// inject injects a fault into an instance, or heals the instance.
func (s *shop) inject(name string, at *site) error {
	switch {
	case name == "kill":
		err := s.rig.Kill(at.End)
		s.markDead(at)
		return err
	case name == "continue" && s.isUp(at.Index): // a fault of the round may hold its order
		s.mu.Lock()
		s.goOn()
		s.mu.Unlock()
		return s.endHolds(at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case at.state == "dead":
		return refuse("error.dead")
	case name == "continue":
		s.heal(at)
	case at.state != "up" && at.state != "slow":
		return refuse("error.ill")
	case name == "pause":
		if err := at.In.Stop(); err != nil {
			return err
		}
		s.set(at, "stopped")
	case name == "cut":
		s.rig.CutOff(at.End)
		s.set(at, "cut")
	default:
		s.set(at, "slow")
	}
	return nil
}

// endHolds ends the holds of a round's fault at an instance.
func (s *shop) endHolds(at *site) error {
	orders, err := s.client.HeldOrders(s.ctx, at.In.URL)
	for _, id := range orders {
		err = errors.Join(err, s.client.EndHold(s.ctx, at.In.URL, id, 0))
	}
	return err
}

// set sets the state of an instance, and sends it to the wall. The caller holds s.mu.
func (s *shop) set(at *site, state string) {
	at.state, at.since = state, time.Now()
	s.record.add("fault", event{"instance": at.Name, "state": state})
}

// markDead marks an instance as dead, and records the fault for its orders in flight.
func (s *shop) markDead(at *site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.state == "dead" || s.ctx.Err() != nil {
		return
	}
	s.set(at, "dead")
	for _, o := range s.ordersInFlight(at) {
		s.note(o, at.since, rig.KillFault(""))
	}
}

// heal ends the fault of an instance, and records it for its orders in flight. The caller holds s.mu.
func (s *shop) heal(at *site) {
	for _, o := range s.ordersInFlight(at) {
		switch lasted := time.Since(at.since); at.state {
		case "stopped":
			s.note(o, at.since, rig.StopFault(lasted, "", s.round.Lease))
		case "cut":
			s.note(o, at.since, rig.CutFault("Redis", lasted, s.round.Lease))
		}
	}
	s.rig.Rejoin(at.End)
	s.goOn()
	_ = at.In.Continue()
	s.set(at, "up")
}
