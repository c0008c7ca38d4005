package explore

import (
	"slices"
	"strings"
	"time"

	"stockapi/internal/lock"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// promises maps a verdict to the promises of a rung on any of which it depends. The other verdicts apply to all rungs.
var promises = map[history.Verdict]lock.Promise{
	history.InOrder:   lock.InOrder | lock.WritersFirst,
	history.Nested:    lock.Reentrant,
	history.WakeUp:    lock.Notifies,
	history.Undo:      lock.Undoes,
	history.LostLease: lock.Undoes,
}

// promises reports whether a verdict applies to the world's rung.
func (w *world) promises(v history.Verdict) bool { return applies(v, w.rung) }

// applies reports whether a verdict applies to a rung.
func applies(v history.Verdict, r lock.Rung) bool {
	of, depends := promises[v]
	return !depends || r.Promises&of != 0
}

// hadOnly reports whether all faults so far are of these kinds.
func (w *world) hadOnly(kinds ...schedule.Kind) bool {
	return !slices.ContainsFunc(w.kinds, func(k schedule.Kind) bool { return !slices.Contains(kinds, k) })
}

// A place is a client's place in the line for a lock.
type place struct {
	client *client
	id     string
	until  time.Time
	swept  bool // whether its client's sweep can still find it
}

// noteLine records the line of waiters. Where all are served in order that is the queue, without expired places. Where
// writers come first it is the writers with a mark, in no order: a writer stays in line even if its mark has expired,
// because it has to renew it in time.
func (j *judge) noteLine(cmd *command) {
	switch rung := j.w.rung; {
	case rung.Promised(lock.InOrder):
		j.noteQueue(cmd)
	case rung.Promised(lock.WritersFirst):
		j.noteMarks(cmd)
	}
}

func (j *judge) noteQueue(cmd *command) {
	server, before := j.w.nodes[0], j.line
	ids, _ := server.redis.List("{" + j.w.keys[0] + "}:queue")
	j.line = nil
	for _, id := range ids {
		p := place{id: id, until: server.deadline("{"+j.w.keys[0]+"}:deadlines", id)}
		if at := slices.IndexFunc(before, func(other place) bool { return other.id == id }); at >= 0 {
			p.client, p.swept = before[at].client, before[at].swept
		} else if cmd != nil {
			p.client, p.swept = cmd.client, cmd.isSwept()
		}
		j.line = append(j.line, p)
		if c := p.client; c != nil && p.isExpired() && p.swept && !c.Dead && !c.Held && c.isDone() && j.asksUndo() {
			j.violate(history.Undo, "%s left its place in the queue to its TTL", c)
		}
	}
}

func (p place) isExpired() bool { return !p.until.IsZero() && !p.until.After(time.Now()) }

func (j *judge) noteMarks(cmd *command) {
	j.line = slices.DeleteFunc(j.line, func(p place) bool {
		return p.client.Dead || p.client.left || p.client.isDone() || p.client.lease != nil
	})
	if cmd == nil || cmd.late != nil || cmd.Name != "eval:acquire-write" {
		return
	}
	waits := cmd.client.lease == nil && cmd.argument(2) != ""
	if waits && !slices.ContainsFunc(j.line, func(p place) bool { return p.client == cmd.client }) {
		j.line = append(j.line, place{client: cmd.client})
	}
}

// checkTurn checks that a client that has acquired the lock was next, by the line before its command.
func (j *judge) checkTurn(c *client) {
	if !j.w.promises(history.InOrder) {
		return
	}
	for _, p := range j.line {
		switch {
		case p.client == c:
			return
		case p.client == nil || p.isExpired():
		case j.w.rung.Promised(lock.WritersFirst) && !j.w.isReader(c): // either of two writers may be next
		default:
			j.violate(history.InOrder, "%s acquired the lock ahead of %s, which waited in line", c, p.client)
		}
	}
}

// checkOwnLease checks that a client that writes the stock has not released its own lock with a nested one.
func (j *judge) checkOwnLease(c *client) {
	if j.w.isIn(nested) && j.w.faults == 0 && c.lease != nil && c.lease.given && !c.lease.holding {
		j.violate(history.Nested, "%s wrote the stock after its inner release had freed the lock", c)
	}
}

// checkReentry checks that a client that asks for its own lock acquires it again.
func (j *judge) checkReentry(held *owned, until time.Time, count string, cmd *command) {
	asks := cmd != nil && cmd.client == held.client && strings.HasPrefix(cmd.Name, "eval:acquire")
	if asks && until.After(held.until) { // it was granted
		held.order = cmd.order
	}
	if asks && held.count != "" && held.count == count && j.w.isIn(nested) && j.w.faults == 0 {
		j.violate(history.Nested, "%s was refused the lock that it already held", cmd.client)
	}
}

// checkEnds checks the outcomes of the orders when none is in flight.
func (j *judge) checkEnds() {
	for _, c := range j.w.clients {
		waited := j.w.wait() > 0 && !slices.Contains(j.w.rung.Needs, lock.NeedRedlock)
		if waited && !c.Dead && !j.w.isReader(c) && c.isDone() && isBusy(c.err) && j.w.faults == 0 {
			j.violate(history.Liveness, "%s waited %s in vain without any fault", c, j.w.wait())
		}
	}
}

// checkIdle checks a state in which no client moves until time passes. If the lock was released, and has not just
// expired, a waiter that still waits was not woken. Two clients that each hold a lock that the other waits for will
// wait until their time is over.
func (j *judge) checkIdle() {
	if j.w.promises(history.WakeUp) && j.released && j.w.hadOnly(schedule.GiveUp) {
		for _, c := range j.w.clients {
			if c.waits() && !c.left {
				j.violate(history.WakeUp, "the lock is free, but its waiter %s was not woken", c)
			}
		}
	}
	if len(j.w.keys) > 1 {
		j.checkDeadlock()
	}
}

// waits reports whether an order of a live client is under way.
func (c *client) waits() bool { return c.started && !c.Dead && !c.isDone() }

func (j *judge) checkDeadlock() {
	held := map[*client]int{}
	for _, one := range j.owned {
		held[one.client]++
	}
	for _, c := range j.w.clients {
		if !c.waits() || held[c] == 0 || held[c] >= j.w.quorum {
			return
		}
	}
	j.violate(history.Liveness, "deadlock: each holds a lock that the other waits for")
}

// asksUndo reports whether each client should have been able to remove what it has given up.
func (j *judge) asksUndo() bool {
	return j.w.promises(history.Undo) && j.w.hadOnly(schedule.Expiry, schedule.Hold, schedule.LoseRequest,
		schedule.LoseReply, schedule.Late, schedule.Drop, schedule.GiveUp)
}

// checkLeftovers checks the expired entries of clients. A client whose order is over should have removed them. On
// several nodes, entries too few to keep others out may stay after a fault.
func (j *judge) checkLeftovers(expired map[*client]int) {
	if !j.asksUndo() {
		return
	}
	spare := 0
	if j.w.faults > 0 {
		spare = len(j.w.nodes)*len(j.w.keys) - j.w.quorum
	}
	for _, c := range j.w.clients {
		if !c.Dead && !c.Held && c.isDone() && expired[c] > spare {
			j.violate(history.Undo, "%s left the lock to its TTL", c)
		}
	}
}

// checkRenewal checks that a renewal that has written something was of the client's own lock.
func (j *judge) checkRenewal(cmd *command) {
	if cmd == nil || cmd.late != nil || cmd.err != nil || !cmd.write || !isRenewal(cmd.Name) {
		return
	}
	for id, held := range j.owned {
		if held.client == cmd.client && strings.HasPrefix(id, cmd.server.Name+" ") {
			return
		}
	}
	j.violate(history.OwnRelease, "%s renewed another's lock by %s", cmd.client, cmd.Name)
}

func isRenewal(name string) bool { return strings.HasPrefix(name, "eval:renew") }

// checkBegun checks that no client that watches its lease begins to write after the lease has expired. What had begun
// before cannot be called back.
func (j *judge) checkBegun() {
	if !j.w.rung.Promised(lock.Watches) {
		return
	}
	for _, c := range j.w.clients {
		if c.lease == nil || c.lease.expired.IsZero() || c.lease.order != c.order.Load() {
			continue
		}
		for _, cmd := range j.w.gate.of(c) {
			if cmd.server == j.w.stock && isSale(cmd.Name) && cmd.sent.After(c.lease.expired) {
				j.violate(history.LostLease, "%s began to write %s after its lease had expired", c,
					cmd.sent.Sub(c.lease.expired))
			}
		}
	}
}

// isSale reports whether a command to the stock sells.
func isSale(name string) bool {
	return slices.Contains([]string{"set", "exec", "eval:write", "eval:take"}, name)
}
