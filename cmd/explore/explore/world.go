package explore

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/lock"
	"stockapi/internal/sale"
	"stockapi/internal/stock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A world is one schedule in progress: the servers, the clients, and the gate between them. It lives in one bubble of
// testing/synctest.
type world struct {
	bounds Bounds
	rung   lock.Rung
	gate   *gate
	judge  *judge

	stock   *store
	nodes   []*store // the lock servers
	locks   bool     // whether the rung keeps a lock there
	quorum  int      // how many entries there make a lease
	keys    []string // of the locks: one for each product
	clients []*client
	retired []*client  // whose orders began again, later
	late    []*command // in flight, and may still arrive

	began   time.Time
	steps   int
	faults  int
	kinds   []schedule.Kind // of the faults so far
	pauses  int
	stuck   bool
	carried []*command // all commands that were carried out
}

// A client is one instance of the service with one order.
type client struct {
	schedule.Client
	shop  *sale.Shop
	open  []redis.UniversalClient
	life  sync.WaitGroup // its rungs' background work
	kill  context.CancelFunc
	leave context.CancelFunc // ends the order's context, as when its caller has gone

	started bool                    // whether the scheduler has let it act
	left    bool                    // whether its caller has gone
	delayed atomic.Pointer[command] // whose requests are to be kept back

	order atomic.Int32 // the current one of its orders, from 0
	told  []string     // the outcomes of its orders
	done  chan struct{}

	receipt sale.Receipt // of its last order
	err     error

	lease *lease // the judge's note of its last one
}

func (c *client) String() string { return c.Name }

func (c *client) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// servers are the Redis servers of a search. Its schedules run on them one after the other.
type servers struct {
	stock *store
	nodes []*store
}

func newServers(r lock.Rung) (*servers, error) {
	stock, err := newStore("stock", 0)
	if err != nil {
		return nil, err
	}
	names := []string{"lock"}
	if slices.Contains(r.Needs, lock.NeedRedlock) {
		names = []string{"1", "2", "3"}
	}
	s := &servers{stock: stock}
	for i, name := range names {
		node, err := newStore(name, i+1)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, node)
	}
	return s, nil
}

// newWorld starts the clients, which come to the gate with their first commands. Call it in a bubble.
func newWorld(r lock.Rung, b Bounds, s *servers) *world {
	w := &world{bounds: b, rung: r, gate: &gate{Gate: schedule.NewGate[*command]()}, stock: s.stock, nodes: s.nodes,
		locks: len(r.Needs) > 0, began: time.Now()}
	for _, name := range w.products() {
		w.keys = append(w.keys, r.Key(name))
	}
	w.quorum = len(w.keys)
	if slices.Contains(r.Needs, lock.NeedRedlock) {
		w.quorum = len(s.nodes)/2 + 1
		if r.Promised(lock.EveryNode) {
			w.quorum = len(s.nodes)
		}
	}
	w.stock.begin()
	for _, node := range w.nodes {
		node.begin()
	}
	for _, name := range w.products() {
		_ = w.stock.redis.Set(stock.Key(name), itoa(b.Units()))
	}
	for i := range b.Clients {
		w.clients = append(w.clients, w.newClient(i))
	}
	w.judge = newJudge(w)
	w.leaveDead()
	for _, c := range w.clients {
		w.order(c, w.wait())
	}
	return w
}

// wait returns how long an order waits for the lock.
func (w *world) wait() time.Duration {
	if w.isIn(readers) {
		return LongestWait // unless its order says so, v10 tries once
	}
	if slices.Contains(w.rung.Needs, lock.NeedRedlock) {
		return 0 // each try is three commands or more, and its failure as many
	}
	return min(w.rung.Wait, LongestWait)
}

// reused holds objects without relevant state, which all schedules share.
var reused = struct {
	metrics *sale.Metrics
	log     *slog.Logger
	names   scriptNames
}{sale.NewMetrics("explore"), slog.New(slog.DiscardHandler), allScripts()}

func (w *world) newClient(index int) *client {
	c := &client{Client: schedule.Client{Index: index, Name: string(rune('a' + index))}, done: make(chan struct{})}
	life, kill := context.WithCancel(context.Background())
	c.kill = kill
	b := lock.Backends{RedlockRetry: retryDelay, Retry: retryDelay,
		Random:  func(n time.Duration) time.Duration { return n * time.Duration(2*index+1) / 8 }, // differs between clients
		Process: lock.Process{Life: life, Background: &c.life}}
	if slices.Contains(w.rung.Needs, lock.NeedRedlock) {
		for _, node := range w.nodes {
			b.Redlock = append(b.Redlock, w.connect(c, node))
		}
	} else if w.locks {
		b.Redis, b.Commands = w.connect(c, w.nodes[0]), w.rung.Asks // miniredis knows one of them
	}
	c.shop = sale.New(c.Name, []lock.Rung{w.rung}, stock.NewShelf(w.connect(c, w.stock)), b, reused.metrics, reused.log)
	return c
}

// connect returns a client of a server, with the options that the service uses.
func (w *world) connect(c *client, s *store) redis.UniversalClient {
	rdb, err := backend.Open("redis://"+s.Name+":1", backend.Options{Timeout: clientTimeout, PoolSize: 8,
		Dialer: w.dialer(c, s)})
	if err != nil {
		panic(err) // the URL is ours
	}
	rdb.AddHook(&hook{gate: w.gate, client: c, server: s, names: reused.names})
	c.open = append(c.open, rdb)
	return rdb
}

// order runs a client's order on the code that serves requests: it sells one unit, unless the situation says otherwise.
func (w *world) order(c *client, wait time.Duration) {
	ctx, leave := context.WithCancel(context.Background())
	c.leave = leave
	go func() {
		growStack()
		for n := range w.ordersOf(c) {
			c.order.Store(int32(n))
			c.receipt, c.err = w.serve(ctx, c, wait)
			c.told = append(c.told, outcome(c.receipt, c.err))
		}
		close(c.done)
		w.gate.Notice()
	}()
}

// run lets the scheduler choose step after step, until no order is under way. It returns false if the scheduler stopped
// the schedule.
func (w *world) run(choose func([]choice) int) bool {
	for {
		synctest.Wait()
		if moving, _ := w.moving(); len(moving) == 0 {
			w.judge.checkIdle()
		}
		choices := w.choices()
		if len(choices) == 0 {
			return true
		}
		n := choose(choices)
		if n < 0 {
			return false
		}
		w.steps++
		w.gate.step()
		w.do(choices[n])
		if w.steps >= maxSteps || w.stuck {
			w.judge.violate(history.Liveness, "an order never ends")
			return true
		}
	}
}

// do carries out a step, and lets the judge look at its effect.
func (w *world) do(c choice) {
	if c.IsFault() {
		w.faults++
		w.kinds = append(w.kinds, c.Kind)
	}
	switch {
	case c.OfServer():
		w.doToServer(c)
	case c.ByClient():
		w.doToClient(c, w.clients[c.Who])
	default:
		w.passTime(c)
	}
	synctest.Wait()
	if c.Kind == schedule.Late && c.cmd.late != nil {
		w.late = append(w.late, c.cmd)
	}
	var cmd *command
	if c.cmd != nil && c.reaches() && !c.cmd.server.Down && !c.cmd.Message {
		cmd = c.cmd
	}
	w.judge.check(cmd, c.OfServer())
	w.noteLease(cmd)
}

// noteLease notes which commands have begun a lease: the last one, and those of the same request to other servers. The
// judge compares the beginning of a lease with what other clients do, so their order matters.
func (w *world) noteLease(cmd *command) {
	if cmd == nil {
		return
	}
	cmd.opens = false
	w.carried = append(w.carried, cmd)
	if lease := cmd.client.lease; lease == nil || lease.from != w.steps {
		return
	}
	for _, one := range w.carried {
		one.opens = one.opens || one == cmd || one.client == cmd.client && one.since == cmd.since && one.round == cmd.round
	}
}

// doToClient carries out a step of a client.
func (w *world) doToClient(c choice, client *client) {
	switch c.Kind {
	case schedule.Grant:
		w.decide(c, schedule.Pass)
	case schedule.CrashAfter:
		w.gate.Change(func() { client.Dead = true }) // before its goroutines go on
		w.decide(c, schedule.Pass)
	case schedule.CrashBefore:
		w.gate.Change(func() { client.Dead = true })
	case schedule.LoseRequest:
		w.decide(c, schedule.LostRequest)
	case schedule.LoseReply:
		w.decide(c, schedule.LostReply)
	case schedule.Late:
		w.decide(c, schedule.ComesLate)
	case schedule.Arrive:
		w.arrive(c.cmd)
	case schedule.Drop:
		w.decide(c, schedule.Refuse)
	case schedule.GiveUp:
		client.leave()
		client.left = true
	}
}

// doToServer carries out a fault of a lock server, or ends it.
func (w *world) doToServer(c choice) {
	server := w.nodes[c.Who]
	switch c.Kind {
	case schedule.NodeDown, schedule.NodeBack:
		server.Down = c.Kind == schedule.NodeDown
	case schedule.NodeEmpty:
		if w.redlockNode(c.Who) == nil {
			time.Sleep(restartTime)
		}
		server.redis.FlushAll()
	case schedule.ClockJump:
		server.redis.FastForward(leaseTTL)
	}
}

// decide decides about one command.
func (w *world) decide(c choice, d schedule.Decision) {
	c.cmd.client.started = true
	w.gate.Decide(c.cmd, d)
}

// passTime lets time pass until a client moves, or until just after the next key expires.
func (w *world) passTime(c choice) {
	if c.Kind == schedule.Hold {
		w.gate.Change(func() { w.clients[c.Who].Held = true })
	}
	if c.paused {
		w.pauses++
	}
	w.retire()
	w.gate.Forget()
	until, expires := time.Now().Add(horizon), false
	if next := w.expiry(); !next.IsZero() && next.Before(until) {
		until, expires = next.Add(time.Millisecond), true
	}
	for _, cmd := range w.late {
		if lost := cmd.late.sent.Add(longestWay); lost.Before(until) {
			until, expires = lost, true
		}
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-w.gate.Arrived:
	case <-timer.C:
		w.stuck = !expires && c.Kind == schedule.Time && !c.paused
	}
	synctest.Wait()
	w.loseLate()
	w.beginRetired()
}

// retire takes back the orders that have sent nothing yet. They begin again when time has passed: otherwise their
// leases and timeouts would count from before.
func (w *world) retire() {
	for _, c := range w.clients {
		if !c.started {
			w.gate.Retire(&c.Client)
			c.leave()
			c.kill()
			w.retired = append(w.retired, c)
		}
	}
	synctest.Wait()
}

func (w *world) beginRetired() {
	for i, c := range w.clients {
		if !c.started {
			w.clients[i] = w.newClient(i)
			w.order(w.clients[i], w.wait())
		}
	}
}

// expiry returns when the next key of a lock server expires, or zero.
func (w *world) expiry() time.Time {
	var first time.Time
	for _, node := range w.nodes {
		if t := node.expiry(); !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// finish lets everything run to completion without faults, and then sends one more order. If that does not acquire the
// lock within a lease and a margin, the rung is not live.
func (w *world) finish() {
	for _, node := range w.nodes {
		node.Down = false
	}
	w.gate.OpenAll()
	w.settle(leaseTTL + liveMargin)
	free := true
	for _, node := range w.nodes {
		free = free && node.isFree()
	}
	for _, c := range w.clients {
		if !c.Dead && !c.isDone() {
			w.judge.violate(history.Liveness, "the order of %s never ends", c)
		}
	}
	w.judge.checkEnds()
	if free {
		return
	}
	probe := w.newClient(len(w.clients))
	w.order(probe, 0)
	<-probe.done
	if isBusy(probe.err) {
		w.judge.violate(history.Liveness, "a fresh order did not get through in %s: %s", brief(LongestRecovery), probe.err)
	}
	w.clients = append(w.clients, probe)
}

// settle lets that much time pass, and lets the judge look just before and just after each expiry.
func (w *world) settle(d time.Duration) {
	synctest.Wait()
	w.judge.check(nil, false)
	for end := time.Now().Add(d); time.Now().Before(end); {
		until := end
		if next := w.expiry(); !next.IsZero() && next.Before(end) {
			until = next.Add(-time.Millisecond)
			if !until.After(time.Now()) {
				until = next.Add(time.Millisecond)
			}
		}
		time.Sleep(time.Until(until))
		synctest.Wait()
		w.judge.check(nil, false)
	}
}

// end stops all goroutines of the schedule.
func (w *world) end() {
	all := slices.Concat(w.retired, w.clients)
	for _, c := range all {
		w.gate.Retire(&c.Client)
		c.leave()
		c.kill()
		c.shop.Close()
	}
	for _, c := range all {
		<-c.done
		c.life.Wait()
		for _, rdb := range c.open {
			_ = rdb.Close()
		}
	}
}

// growStack gives the caller's goroutine as much stack as an order needs, while there is little on it: what is there is
// copied each time that it grows.
//
//go:noinline
func growStack() byte {
	var room [24 << 10]byte
	return room[len(reused.names)]
}
