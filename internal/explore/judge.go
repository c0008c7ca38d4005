package explore

import (
	"fmt"
	"strconv"
	"time"

	"stockapi/internal/stock"
)

// A Verdict is one question that is asked of every schedule. The words are those of the load test.
type Verdict string

// The verdicts.
const (
	Stock      Verdict = "stock"       // no unit is sold twice, and the books balance
	Exclusion  Verdict = "exclusion"   // no client works while another has the lock
	OwnRelease Verdict = "own-release" // nobody removes a lock that is another's
	Liveness   Verdict = "liveness"    // a later order gets the lock, and every order ends
	Fence      Verdict = "fence"       // fencing tokens grow, and the stock accepts no older one
)

// Verdicts lists all verdicts, in the order in which they are printed.
var Verdicts = []Verdict{Stock, Exclusion, OwnRelease, Liveness, Fence}

// A Violation says how a schedule breaks a verdict.
type Violation struct {
	Verdict Verdict
	At      int // the number of steps until it shows
	Because string
}

// A judge asks its questions of what happens in the store. It looks at the servers after each step, and never asks a
// client: a client that is wrong about its lock is the subject of the test.
type judge struct {
	w *world

	owned  map[string]*owned // what the lock servers hold, by server and token
	leases []*lease          // all that there were

	left     int64
	sold     map[int64]*client // by unit
	sales    int64
	fence    int64 // the newest that the stock has accepted
	drawn    int64 // the newest that the lock server has drawn
	violated map[Verdict]Violation
}

// An owned is an entry of a lock server, and the client whose command made it.
type owned struct {
	client *client
	until  time.Time
	seen   bool
}

// A lease is a lock as one client had it: from the step that made its entry to its last step in the stock.
type lease struct {
	client  *client
	token   string
	from    int
	last    int
	worked  bool // whether the client has touched the stock under it
	holding bool
}

func newJudge(w *world) *judge {
	return &judge{w: w, owned: map[string]*owned{}, left: w.bounds.Stock, sold: map[int64]*client{},
		violated: map[Verdict]Violation{}}
}

// violate records the first violation of a verdict.
func (j *judge) violate(v Verdict, format string, args ...any) {
	if _, known := j.violated[v]; !known {
		j.violated[v] = Violation{v, j.w.steps, fmt.Sprintf(format, args...)}
	}
}

// look compares the servers with what they held before. Cmd is the command that was carried out since, or nil. With
// forgotten, a server may have lost entries by itself.
func (j *judge) look(cmd *command, forgotten bool) {
	j.lookAtLocks(cmd, forgotten)
	if cmd != nil && cmd.server == j.w.stock {
		j.lookAtStock(cmd)
	}
}

func (j *judge) lookAtLocks(cmd *command, forgotten bool) {
	if !j.w.locks {
		return
	}
	votes := map[*client]int{}
	tokens := map[*client]string{}
	for _, server := range j.w.nodes {
		for _, entry := range server.entries(j.w.key) {
			id := server.name + " " + entry.id
			held := j.owned[id]
			if held == nil {
				if cmd == nil {
					continue // nobody sent a command: this cannot be
				}
				held = &owned{client: cmd.client}
				j.owned[id] = held
			}
			held.until, held.seen = entry.until, true
			votes[held.client]++
			tokens[held.client] = entry.id
		}
	}
	for id, held := range j.owned {
		if !held.seen {
			delete(j.owned, id)
			expired := !held.until.IsZero() && !held.until.After(time.Now())
			if cmd != nil && cmd.client != held.client && !expired && !forgotten {
				j.violate(OwnRelease, "%s removed the lock of %s by %s", cmd.client.name, held.client.name, cmd.name)
			}
		}
		held.seen = false
	}
	for _, c := range j.w.clients {
		j.hold(c, votes[c] >= j.w.quorum, tokens[c])
	}
}

// hold records whether a client has the lock now.
func (j *judge) hold(c *client, holding bool, token string) {
	last := c.lease
	switch {
	case !holding && last != nil:
		last.holding = false
	case holding && last != nil && (last.holding || last.token == token && token != "1"):
		last.holding = true
	case holding:
		c.lease = &lease{client: c, token: token, from: j.w.steps, last: j.w.steps, holding: true}
		j.leases = append(j.leases, c.lease)
		j.lookAtDrawn()
	}
}

// lookAtDrawn checks that a new lease has a newer fencing token.
func (j *judge) lookAtDrawn() {
	for _, key := range j.w.nodes[0].redis.Keys() {
		if !isFence(key) {
			continue
		}
		text, _ := j.w.nodes[0].redis.Get(key)
		drawn, _ := strconv.ParseInt(text, 10, 64)
		if drawn <= j.drawn {
			j.violate(Fence, "the lock drew the token %d after %d", drawn, j.drawn)
		}
		j.drawn = drawn
	}
}

func (j *judge) lookAtStock(cmd *command) {
	if j.w.locks {
		j.work(cmd.client)
	}
	if cmd.err != nil {
		return
	}
	if cmd.name == "eval:read" || cmd.name == "eval:write" {
		fence, _ := strconv.ParseInt(cmd.argument(0), 10, 64)
		if fence < j.fence {
			j.violate(Fence, "the stock accepted the token of %s, which is older than the newest", cmd.client.name)
		}
		j.fence = max(j.fence, fence)
	}
	text, _ := j.w.stock.redis.Get(stock.Key(product))
	left, _ := strconv.ParseInt(text, 10, 64)
	switch cmd.name {
	case "set", "exec", "eval:write":
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
	if c.lease == nil {
		c.lease = &lease{client: c, from: j.w.steps}
		j.leases = append(j.leases, c.lease)
	}
	c.lease.worked, c.lease.last = true, j.w.steps
	for _, other := range j.leases {
		if other.client != c && other.worked && other.from < c.lease.last && c.lease.from < other.last {
			first, second := other, c.lease
			if second.from < first.from {
				first, second = second, first
			}
			j.violate(Exclusion, "%s got the lock while %s still worked under its own", second.client.name,
				first.client.name)
		}
	}
}

// sell records a sale that the stock has accepted.
func (j *judge) sell(c *client, left int64) {
	j.sales++
	unit := left + 1
	if first, again := j.sold[unit]; again {
		j.violate(Stock, "%s sold unit %d; %s sold unit %d again", first.name, unit, c.name, unit)
	} else if j.w.bounds.Stock-left != j.sales {
		j.violate(Stock, "%d units are gone after %d sales", j.w.bounds.Stock-left, j.sales)
	}
	j.sold[unit] = c
}
