package explore

import (
	"fmt"
	"strconv"
	"time"

	"stockapi/internal/stock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Verdicts lists the verdicts of every schedule, in the order in which they are printed. The last five apply to the
// rungs that promise them; see [promises].
var Verdicts = []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness, history.Fence,
	history.InOrder, history.Nested, history.WakeUp, history.Undo, history.LostLease}

// A Violation is a verdict that a schedule breaks, with the evidence.
type Violation struct {
	Verdict history.Verdict `json:"verdict"`
	At      int             `json:"-"` // the number of steps until it shows
	Because string          `json:"because"`

	format string // of Because
	args   []any
}

// A named is a client in a sentence.
type named struct {
	index int
	name  string
}

func (n named) String() string { return n.name }

// called returns the name of a client in a sentence.
func (c *client) called() string {
	if c.Index < 0 {
		return c.Name
	}
	return schedule.Person(c.Index)
}

// A judge derives the verdicts from the store. It reads the servers after each step, and never asks a client: a client
// that is wrong about its lock is what the test is about.
type judge struct {
	w *world

	owned  map[string]*owned // entries of the lock servers, by server and token
	leases []*lease          // all so far

	left     int64
	sold     map[int64]sold // by unit
	sales    int64
	fence    int64 // the newest accepted by the stock
	fenceOf  *client
	drawn    int64 // the newest drawn by the lock server
	line     []place
	released bool // whether a command has freed the lock, and it has not expired since
	violated map[history.Verdict]Violation
}

// An owned is an entry of a lock server, and the client whose command created it.
type owned struct {
	client *client
	order  int32 // of the client, from 0
	from   int   // the step that created it
	until  time.Time
	count  string // the client's hold count, on rungs that count
	swept  bool   // whether its client's sweep can still find it
	seen   bool
}

// entryID identifies an entry among those of all servers.
func entryID(s *store, key string, e entry) string { return s.Name + " " + key + " " + e.id }

// A lease is a client's time with a lock: from the step that created its entry to its last step on the stock.
type lease struct {
	client  *client
	token   string
	from    int
	last    int
	order   int32 // of the client, from 0
	worked  bool  // whether the client has touched the stock under it
	holding bool
	given   bool      // whether the client itself has released it
	expired time.Time // when it expired; zero: it has not
}

func newJudge(w *world) *judge {
	return &judge{w: w, owned: map[string]*owned{}, left: w.bounds.Units(), sold: map[int64]sold{},
		violated: map[history.Verdict]Violation{}}
}

// violate records the first violation of a verdict, in a sentence about clients.
func (j *judge) violate(v history.Verdict, format string, args ...any) {
	if _, known := j.violated[v]; known {
		return
	}
	for i, arg := range args {
		if c, ok := arg.(*client); ok {
			args[i] = named{c.Index, c.called()}
		}
	}
	j.violated[v] = Violation{Verdict: v, At: j.w.steps, Because: fmt.Sprintf(format, args...), format: format, args: args}
}

// check compares the servers with their state before. Cmd is the command that was carried out since, or nil. With
// forgotten, a server may have lost entries on its own.
func (j *judge) check(cmd *command, forgotten bool) {
	if j.w.locks {
		j.checkLocks(cmd, forgotten)
		j.noteLine(cmd)
	}
	j.checkBegun()
	if cmd != nil && cmd.server == j.w.stock {
		j.checkStock(cmd)
	}
}

func (j *judge) checkLocks(cmd *command, forgotten bool) {
	votes, tokens := map[*client]int{}, map[*client]string{}
	for _, server := range j.w.nodes {
		for _, key := range j.w.keys {
			for _, entry := range server.entries(key) {
				if held := j.see(entryID(server, key, entry), cmd); held != nil {
					j.checkReentry(held, entry.until, entry.count, cmd)
					held.until, held.count = entry.until, entry.count
					votes[held.client]++
					tokens[held.client] = entry.id
				}
			}
		}
	}
	j.checkGone(cmd, forgotten)
	j.checkRenewal(cmd)
	for _, c := range j.w.clients {
		holding := votes[c] >= j.w.quorum
		if c.lease != nil && c.lease.holding && !holding && cmd == nil && !forgotten {
			c.lease.expired = time.Now().Add(-time.Millisecond) // time passes to just after an expiry
		}
		j.hold(c, holding, tokens[c], cmd)
	}
}

// see returns the note of an entry on a server. A new entry belongs to the client whose command was carried out;
// without a command there is none.
func (j *judge) see(id string, cmd *command) *owned {
	held := j.owned[id]
	if held == nil {
		if cmd == nil {
			return nil
		}
		held = &owned{client: cmd.client, order: cmd.order, from: j.w.steps, swept: cmd.isSwept()}
		j.owned[id] = held
		if j.w.promises(history.LostLease) && isRenewal(cmd.Name) {
			j.violate(history.LostLease, "the renewal of %s recreated a lock that was gone", cmd.client)
		}
	}
	held.seen = true
	return held
}

// checkGone checks the entries that are gone from all servers.
func (j *judge) checkGone(cmd *command, forgotten bool) {
	expiries, gone := map[*client]int{}, false
	for id, held := range j.owned {
		if held.seen {
			held.seen = false
			continue
		}
		delete(j.owned, id)
		gone = true
		expired := !held.until.IsZero() && !held.until.After(time.Now())
		switch {
		case cmd == nil || expired || forgotten:
		case cmd.client != held.client:
			j.violate(history.OwnRelease, "%s removed the lock at step %d although %s had taken it at step %d", cmd.client,
				j.w.steps, held.client, held.from)
		case cmd.order < held.order:
			j.violate(history.OwnRelease, "%s removed the lock of its next order by %s", cmd.client, cmd.Name)
		}
		if expired && held.swept {
			expiries[held.client]++
		}
	}
	j.checkLeftovers(expiries)
	switch {
	case len(j.owned) > 0:
		j.released = false
	case cmd != nil && (gone || cmd.Name == "eval:leave-fair"):
		j.released = true
	}
}

// hold records whether a client holds the lock now.
func (j *judge) hold(c *client, holding bool, token string, cmd *command) {
	last := c.lease
	switch {
	case !holding && last != nil:
		last.given = last.given || last.holding && cmd != nil && cmd.client == c
		last.holding = false
	case holding && last != nil && (last.holding || last.token == token && token != "1"):
		last.holding = true
	case holding:
		c.lease = &lease{client: c, token: token, order: c.order.Load(), from: j.w.steps, last: j.w.steps, holding: true}
		j.leases = append(j.leases, c.lease)
		j.checkNewToken()
		j.checkTurn(c)
	}
}

// checkNewToken checks that a new lease has a newer fencing token.
func (j *judge) checkNewToken() {
	for _, key := range j.w.nodes[0].redis.Keys() {
		if !isFence(key) {
			continue
		}
		text, _ := j.w.nodes[0].redis.Get(key)
		drawn, _ := strconv.ParseInt(text, 10, 64)
		if drawn <= j.drawn {
			j.violate(history.Fence, "the lock drew the token %d after %d", drawn, j.drawn)
		}
		j.drawn = drawn
	}
}

func (j *judge) checkStock(cmd *command) {
	if j.w.locks && (cmd.late == nil || cmd.write) { // no client sees the reply to a late read
		j.work(cmd.client)
	}
	if cmd.err != nil {
		return
	}
	if cmd.Name == "eval:read" || cmd.Name == "eval:write" {
		fence, _ := strconv.ParseInt(cmd.argument(0), 10, 64)
		switch {
		case fence < j.fence:
			j.violate(history.Fence, "the stock accepted the token of %s, which is older than the newest", cmd.client)
		case fence == j.fence && j.fenceOf != cmd.client:
			j.violate(history.Fence, "%s and %s have the same token", j.fenceOf, cmd.client)
		default:
			j.fence, j.fenceOf = fence, cmd.client
		}
	}
	text, _ := j.w.stock.redis.Get(stock.Key(product))
	left, _ := strconv.ParseInt(text, 10, 64)
	switch cmd.Name {
	case "set", "exec", "eval:write":
		j.checkOwnLease(cmd.client)
		j.sell(cmd.client, left)
	case "eval:take":
		if left != j.left {
			j.sell(cmd.client, left)
		}
	}
	j.left = left
}

// work records that a client touches the stock, and compares its lease with all others.
func (j *judge) work(c *client) {
	if c.lease == nil || c.lease.order != c.order.Load() && !c.lease.holding {
		c.lease = &lease{client: c, order: c.order.Load(), from: j.w.steps}
		j.leases = append(j.leases, c.lease)
	}
	c.lease.worked, c.lease.last = true, j.w.steps
	for _, other := range j.leases {
		if other.client != c && other.worked && other.from < c.lease.last && c.lease.from < other.last {
			first, second := other, c.lease
			if second.from < first.from {
				first, second = second, first
			}
			j.violate(history.Exclusion, "%s and %s both held the lock from step %d to step %d", first.client,
				second.client, second.from, first.last)
		}
	}
}

// A sold is a sale that the stock has accepted.
type sold struct {
	client *client
	step   int
}

// sell records a sale that the stock has accepted.
func (j *judge) sell(c *client, left int64) {
	j.sales++
	unit := left + 1
	if first, again := j.sold[unit]; again {
		j.violate(history.Stock, "%s sold unit %d at step %d; %s sold unit %d again at step %d", first.client, unit,
			first.step, c, unit, j.w.steps)
	} else if gone := j.w.bounds.Units() - left; gone != j.sales {
		j.violate(history.Stock, "%d units are gone after %d sales", gone, j.sales)
	}
	j.sold[unit] = sold{c, j.w.steps}
}
