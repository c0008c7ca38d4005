package stage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

const (
	product = "10000"
	onShelf = 100 // units at the start of a round
	// held is an instance's timeout for a server: longer than a class needs to decide whose command is next.
	held = 10 * time.Minute
	// nodeTime is its timeout for a Redlock node.
	nodeTime = 2 * time.Second
	// retry is the time between two tries of an order that polls: so long that a class can follow them.
	retry = 500 * time.Millisecond
	// margin is the time beyond a lease in which a fresh request has to get through at the end.
	margin = 2 * time.Second
)

// servers starts what the shops of a class run on.
type servers struct {
	cluster *cluster.Cluster
	backend *cluster.Backend
	scripts map[string]string // the names of scripts, by digest
	token   string            // the instances' admin token
}

// A shop is that of one round: a Redis of its own, Redlock's nodes if need be, two instances, and the wires between
// them. All end with the round, so nothing of it reaches the next one.
type shop struct {
	*servers
	round  *Round
	record *record
	client *client.Client
	runner *scenario.Runner
	cell   *history.Cell
	ctx    context.Context
	cancel context.CancelFunc

	gate    *wire.Gate
	held    atomic.Bool // commands wait at the gate, one step at a time
	redises []*cluster.Redis
	stores  []*wire.Store // as the stage itself reaches the servers; the first has the stock
	sites   [2]*site

	open chan struct{} // closed when the shelf is full
	over chan struct{} // closed when no more orders come
	tell func()        // wakes the phones

	mu     sync.Mutex
	orders []*order
	sold   map[int64][]*order
	faults []history.Fault
	watch  watch
	next   int // the step of the trace that is next
}

// A site is an instance with its wires.
type site struct {
	*schedule.Client
	in      *cluster.Instance
	wires   []*wire.Wire
	servers []*schedule.Server // at the other ends of the wires
	state   string             // up, stopped, dead, cut, slow
	since   time.Time          // when it got into this state
	faulted bool               // the round's fault has been given to an order
	gone    <-chan struct{}    // closed when its process has exited
}

// An order is one of the round.
type order struct {
	id     string
	person string
	colour int
	at     int
	sent   time.Time
	done   chan struct{}
	op     *history.Op // once done is closed
	slow   bool
}

// newShop starts the shop of a round.
func newShop(ctx context.Context, s *servers, r *Round, rec *record, tell func()) (*shop, error) {
	sh := &shop{servers: s, round: r, record: rec, client: client.New(64, s.token), gate: wire.NewGate(s.scripts),
		open: make(chan struct{}), over: make(chan struct{}), tell: tell, sold: map[int64][]*order{},
		watch: watch{owners: map[string]string{}}}
	sh.ctx, sh.cancel = context.WithCancel(ctx)
	sh.gate.Watch = sh.saw
	if err := sh.start(); err != nil {
		sh.close()
		return nil, err
	}
	return sh, nil
}

// start starts the servers, then the wires and the instances.
func (s *shop) start() (err error) {
	names := []string{"redis"}
	if s.round.rung.OnNodes() {
		for i := range scenario.RedlockNodes {
			names = append(names, fmt.Sprintf("node %d", i+1))
		}
	}
	s.redises, err = cluster.StartAll(s.ctx, len(names), func(ctx context.Context, i int) (*cluster.Redis, error) {
		return s.cluster.StartRedis(ctx, s.backend, names[i]+" of a round")
	})
	if err != nil {
		return err
	}
	for i, name := range names {
		one, err := wire.NewStore(i, name, s.redises[i].URL)
		if err != nil {
			return err
		}
		s.stores = append(s.stores, one)
	}
	var reached [2]*cluster.Backend
	for i := range s.sites {
		s.sites[i] = &site{Client: &schedule.Client{Index: i, Name: schedule.ClientName(i)}, state: "up"}
		if reached[i], err = s.wire(s.sites[i]); err != nil {
			return err
		}
	}
	flags := []string{"--redis-timeout", held.String(), "--redlock-timeout", nodeTime.String(),
		"--retry", retry.String(), "--redlock-retry", retry.String()}
	instances, err := cluster.StartAll(s.ctx, len(s.sites), func(ctx context.Context, i int) (*cluster.Instance, error) {
		return s.cluster.StartInstance(ctx, s.sites[i].Name, reached[i], true, flags...)
	})
	for i, in := range instances {
		at := s.sites[i]
		at.in, at.gone = in, in.ExpectExit() // whoever kills it
		go func() {
			<-at.gone
			s.died(at)
		}()
	}
	return err
}

// wire starts the wires of an instance, and returns the servers as it reaches them.
func (s *shop) wire(at *site) (*cluster.Backend, error) {
	reached := *s.backend
	reached.SQL, reached.ZooKeeper, reached.Locks, reached.Redlock = "", "", "", nil
	for _, one := range s.stores {
		server := *one.Server // its own: a cut is one of this instance alone
		w, err := wire.New(s.gate, at.Client, &server, time.Second)
		if err != nil {
			return nil, err
		}
		at.wires, at.servers = append(at.wires, w), append(at.servers, &server)
		way := (&url.URL{Scheme: "redis", User: url.UserPassword("", one.Redis.Options().Password), Host: w.Host()}).String()
		if one.Index == 0 {
			reached.URL = way
		} else {
			reached.Redlock = append(reached.Redlock, way)
		}
	}
	return &reached, nil
}

// close ends the instances, the wires and the servers.
func (s *shop) close() {
	s.cancel()
	s.client.Close()
	var all sync.WaitGroup
	for _, at := range s.sites {
		if at == nil {
			continue
		}
		if at.in != nil {
			all.Go(at.in.Kill)
		}
		for _, w := range at.wires {
			all.Go(w.Close)
		}
	}
	all.Wait()
	for _, one := range s.stores {
		_ = one.Redis.Close()
	}
	for _, server := range s.redises {
		all.Go(server.Kill)
	}
	all.Wait()
}

// play is the round from filling the shelf to the verdicts. It takes orders until over is closed.
func (s *shop) play(title string) (*history.Cell, error) {
	s.cell = &history.Cell{Scenario: history.StageOf(title), Rung: s.round.rung.Number, Name: s.round.rung.Name,
		Repetition: 1, Product: product, Initial: onShelf, TTL: s.round.Lease, Limit: s.round.Lease + margin,
		Start: time.Now()}
	behind := map[string]string{}
	var urls []string
	for _, at := range s.sites {
		urls = append(urls, at.in.URL)
		for i, w := range at.wires {
			behind[w.Host()] = at.servers[i].Host
		}
	}
	s.runner = &scenario.Runner{Client: s.client, Targets: &scenario.FaultTargets{Behind: behind},
		Load: history.Load{Stock: onShelf, Wait: s.round.Wait, TTL: s.round.Lease, Work: s.round.Work}}
	err := s.runner.Play(s.ctx, s.cell, urls, func(ctx context.Context) error {
		close(s.open)
		go s.poll(ctx)
		select {
		case <-s.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return s.finish(ctx)
	})
	if err == nil && s.cell.NotRun != "" {
		err = errors.New(s.cell.NotRun)
	}
	return s.cell, err
}

// finish lets everything go on, waits for the orders to end, and asks for the lock once more.
func (s *shop) finish(ctx context.Context) error {
	alive := []int{}
	s.mu.Lock()
	for i, at := range s.sites {
		if at.state != "dead" {
			alive = append(alive, i)
			s.makeWell(at)
		}
	}
	s.mu.Unlock()
	s.stepping(false)
	if !s.ended(ctx, s.round.Wait+s.longWork()+margin) {
		s.cancel()
	}
	s.mu.Lock()
	s.cell.Faults = s.faults
	orders := s.orders
	s.mu.Unlock()
	for _, o := range orders {
		<-o.done
		if err := s.cell.Add(o.op); err != nil {
			return err
		}
	}
	s.cell.Elapsed = time.Since(s.cell.Start)
	if len(alive) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.runner.Probe(ctx, s.cell, alive, false)
}

// ended waits until all orders have ended, at most for so long.
func (s *shop) ended(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s.mu.Lock()
	orders := s.orders
	s.mu.Unlock()
	for _, o := range orders {
		select {
		case <-o.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// longWork is that of an order whose work is made slow: longer than its lease, and than v5.5 renews one.
func (s *shop) longWork() time.Duration { return s.round.Lease * 5 / 2 }

// buy sends an order of a person, and calls then when it has ended. It returns the order's id.
func (s *shop) buy(person string, colour, to int, then func(*order)) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, nth := s.sites[to], 1
	for _, o := range s.orders {
		if o.person == person {
			nth++
		}
	}
	o := &order{id: person, person: person, colour: colour, at: to, sent: time.Now(), done: make(chan struct{})}
	if nth > 1 {
		o.id = fmt.Sprintf("%s-%d", person, nth)
	}
	with := client.Order{Timeout: held}
	if to == 0 && !at.faulted {
		at.faulted, with.Fault = true, s.round.Fault
	}
	if at.state == "slow" {
		o.slow, with.Work = true, s.longWork()
	}
	s.orders = append(s.orders, o)
	s.record.add("order", orderEvent{Order: o.id, Person: person, Colour: colour, Instance: at.Name, State: "sent",
		Sent: s.record.since(o.sent)})
	go func() {
		op := s.runner.Send(s.ctx, s.cell, to, o.id, with)
		s.end(o, &op)
		then(o)
	}()
	return o.id
}

// An orderEvent is what the wall is told of an order.
type orderEvent struct {
	Order    string   `json:"order"`
	Person   string   `json:"person"`
	Colour   int      `json:"colour"`
	Instance string   `json:"instance"`
	State    string   `json:"state"`
	Sent     float64  `json:"sent"`
	Done     float64  `json:"done,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Units    []int64  `json:"units,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Acquired *float64 `json:"acquired,omitempty"`
	Released *float64 `json:"released,omitempty"`
	Lost     bool     `json:"lost,omitempty"`
	Commands []int    `json:"commands,omitempty"`
}

// end keeps what became of an order. One of an instance that died before it wrote has not sold.
func (s *shop) end(o *order, op *history.Op) {
	at := s.sites[o.at]
	log, _ := s.gate.LogOf(at.Client)
	own := wire.Narrow(op, s.cell.Start, log)
	if op.Outcome == history.Unknown { // because its instance is dead?
		select {
		case <-at.gone:
			s.died(at)
		case <-time.After(time.Second):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.state == "dead" && op.Outcome == history.Unknown && !s.watch.wrote(o) {
		op.Outcome, op.Done = history.NotSold, op.Sent+history.Instant(op.Latency)
		op.Detail = at.Name + " was killed before this order's write of the stock was sent; " + op.Detail
	}
	if o.slow {
		s.note(o, o.sent, fmt.Sprintf("working %.1f s under a lease of %.1f s", s.longWork().Seconds(),
			s.round.Lease.Seconds()), false)
	}
	e := orderEvent{Order: o.id, Person: o.person, Colour: o.colour, Instance: at.Name, State: "done",
		Sent: s.record.since(o.sent), Done: s.record.since(time.Now()), Outcome: string(op.Outcome), Units: op.Units,
		Detail: op.Detail}
	if l := op.Lease; l != nil {
		e.Acquired, e.Released, e.Lost = s.moment(l.AcquiredAt), s.moment(l.ReleasedAt), l.Lost
		s.watch.owners[l.Token] = o.id
	}
	for _, cmd := range own {
		e.Commands = append(e.Commands, cmd.ID)
	}
	o.op = op
	close(o.done)
	s.record.add("order", e)
	if op.Outcome == history.Sold {
		s.count(o)
	}
}

// count notes whose units an order has sold, and tells of those that have been sold before.
func (s *shop) count(o *order) {
	for _, unit := range o.op.Units {
		s.sold[unit] = append(s.sold[unit], o)
		if all := s.sold[unit]; len(all) > 1 {
			var orders, persons []string
			for _, other := range all {
				orders, persons = append(orders, other.id), append(persons, other.person)
			}
			s.record.add("twice", map[string]any{"unit": unit, "orders": orders, "persons": persons})
		}
	}
}

// buyers returns who has bought a unit, in the order of the receipts.
func (s *shop) buyers(unit int64) (persons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.sold[unit] {
		persons = append(persons, o.person)
	}
	return persons
}

// moment returns an instant of the cell as the log has it, nil if it never came.
func (s *shop) moment(i history.Instant) *float64 {
	if !i.Known() {
		return nil
	}
	at := s.record.since(s.cell.Start.Add(time.Duration(i)))
	return &at
}

// note records a fault that an order suffered from since then.
func (s *shop) note(o *order, since time.Time, text string, stopped bool) {
	s.faults = append(s.faults, history.Fault{Order: product + "-" + o.id, Instance: s.sites[o.at].Name, Text: text,
		Stopped: stopped, At: history.At(s.cell.Start, since), End: history.At(s.cell.Start, time.Now())})
}

// underWay returns the orders at an instance that have not ended. The caller has the lock.
func (s *shop) underWay(at *site) (all []*order) {
	for _, o := range s.orders {
		if o.at == at.Index && o.op == nil {
			all = append(all, o)
		}
	}
	return all
}

// buttons are the faults that can be brought here.
func (s *shop) buttons() []string {
	all := []string{"continue", "kill", "cut", "slow", "step"}
	if cluster.CanStop {
		all = append(all, "pause")
	}
	return all
}

var errDead = errors.New("it is dead: R begins the round anew")

// bring brings a fault on an instance, or ends what it has.
func (s *shop) bring(name string, at *site) error {
	if name == "kill" {
		at.in.Kill()
		s.died(at)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.state == "dead" {
		return fmt.Errorf("%s: %w", at.Name, errDead)
	}
	switch name {
	case "pause":
		if err := at.in.Stop(); err != nil {
			return err
		}
		s.set(at, "stopped")
	case "cut":
		s.set(at, "cut")
		s.reach(at, false)
	case "slow":
		s.set(at, "slow")
	case "continue":
		s.makeWell(at)
	}
	return nil
}

// set says in which state an instance is now. The caller has the lock.
func (s *shop) set(at *site, state string) {
	at.state, at.since = state, time.Now()
	s.record.add("fault", map[string]any{"instance": at.Name, "state": state})
}

// reach lets an instance reach its servers, or not.
func (s *shop) reach(at *site, well bool) {
	s.gate.Change(func() {
		for _, server := range at.servers {
			server.Down = !well
		}
	})
	if !well {
		for _, w := range at.wires {
			w.Break()
		}
	}
}

// died says that an instance is dead, and records it of its orders.
func (s *shop) died(at *site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.state == "dead" || s.ctx.Err() != nil {
		return
	}
	s.set(at, "dead")
	for _, o := range s.underWay(at) {
		s.note(o, at.since, "killed", false)
	}
}

// makeWell ends what an instance suffers from, and records it of the orders that suffered too. The caller has the lock.
func (s *shop) makeWell(at *site) {
	state, since := at.state, at.since
	for _, o := range s.underWay(at) {
		lasted := time.Since(since).Seconds()
		switch state {
		case "stopped":
			s.note(o, since, fmt.Sprintf("stopped for %.1f s under a lease of %.1f s", lasted, s.round.Lease.Seconds()), true)
		case "cut":
			s.note(o, since, fmt.Sprintf("cut off from Redis for %.1f s", lasted), false)
		}
	}
	if state == "cut" {
		s.reach(at, true)
	}
	if cluster.CanStop {
		_ = at.in.Continue() // a fault of the round may have stopped it
	}
	s.set(at, "up")
}
