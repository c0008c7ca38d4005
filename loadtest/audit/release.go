package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"stockapi/loadtest/history"
)

// OwnRelease answers whether anybody removed a lock that was not theirs, from the commands the orders sent.
//
// The argument rests on what Redis promises of one key: a SET NX that succeeded proves that the key was gone. So
// if order A made the key, then B's SET NX succeeded, and then A removed something without having made the key
// again in between, what A removed was not A's. A semaphore's permit proves that much only when it is the first one. Commands take time, so "then" means: began after the other had
// ended. A command whose reply was lost may have made the key at any later time; it excuses its own order, and
// it is never held against another.
func OwnRelease(c *history.Cell) history.Finding {
	clocks := boundClocks(c)
	keys, removals := lockKeys(c, clocks)
	if removals == 0 {
		return history.Finding{Verdict: history.OwnRelease, Result: history.NotApplicable}
	}
	var ev []history.Evidence
	for _, k := range keys {
		for _, r := range k.removals {
			if e, foreign := k.judge(c, r, clocks); foreign {
				ev = append(ev, e)
			}
		}
	}
	if len(ev) > 0 {
		slices.SortStableFunc(ev, func(a, b history.Evidence) int { return cmp.Compare(a.At[0], b.At[0]) })
		return broken(history.OwnRelease, ev, len(ev))
	}
	if n := unanswered(c); n > 0 {
		return found(history.OwnRelease, history.Unclear, "%d orders were never answered: what they removed is not known", n)
	}
	return history.Finding{Verdict: history.OwnRelease, Result: history.OK}
}

// step is a command with the order that sent it.
type step struct {
	*history.Command
	op    *history.Op
	clock string
}

// lockKey is what happened to one key on one node.
type lockKey struct {
	node, key string
	// made is every successful set-if-absent by the clock of who sent it, in order of At.
	made map[string][]step
	// owned is, per order, every command after which the key was its own or, the reply being lost, may be.
	owned    map[string][]step
	removals []step
}

// lockKeys sorts the traces by node and key. Only keys that somebody removed are of interest.
func lockKeys(c *history.Cell, clocks *clocks) (keys []*lockKey, removals int) {
	byName := map[[2]string]*lockKey{}
	for i := range c.Ops {
		op := &c.Ops[i]
		for j := range op.Trace {
			cmd := &op.Trace[j]
			name := [2]string{cmd.Node, cmd.Key}
			if byName[name] == nil {
				byName[name] = newLockKey(cmd.Node, cmd.Key)
				keys = append(keys, byName[name])
			}
			byName[name].add(step{cmd, op, clocks.clock(op.Instance)})
		}
	}
	keys = slices.DeleteFunc(keys, func(k *lockKey) bool { return len(k.removals) == 0 })
	for _, k := range keys {
		for _, made := range k.made {
			slices.SortStableFunc(made, func(a, b step) int { return cmp.Compare(a.At, b.At) })
		}
		removals += len(k.removals)
	}
	return keys, removals
}

func newLockKey(node, key string) *lockKey {
	return &lockKey{node: node, key: key, made: map[string][]step{}, owned: map[string][]step{}}
}

func (k *lockKey) add(s step) {
	done := succeeded(s.Command)
	switch {
	case makes(s.Cmd):
		if done && alone(s.Command) {
			k.made[s.clock] = append(k.made[s.clock], s)
		}
		if done || s.Err != "" {
			k.owned[s.op.Order] = append(k.owned[s.op.Order], s)
		}
	case renews(s.Cmd):
		// A renewal that succeeded found the key to be its own, or made it so: the article's script makes
		// it again when it is gone.
		if done || s.Err != "" {
			k.owned[s.op.Order] = append(k.owned[s.op.Order], s)
		}
	case removes(s.Cmd) && done:
		k.removals = append(k.removals, s)
	}
}

// judge says whether r removed what was not its order's.
func (k *lockKey) judge(c *history.Cell, r step, clocks *clocks) (history.Evidence, bool) {
	since, known := k.ownedBefore(r)
	if !known {
		return history.Evidence{}, false
	}
	other, proved := k.madeByAnother(r, since, clocks)
	if !proved {
		return history.Evidence{}, false
	}
	return history.Evidence{
		Text: fmt.Sprintf("%s on %s removed %s at %s although %s on %s had taken it at %s",
			order(c, r.op), instance(c, r.op), k.key, r.At, order(c, other.op), other.op.Instance, other.End),
		Orders: []string{r.op.Order, other.op.Order}, Instances: []string{r.op.Instance, other.op.Instance},
		At: []history.Instant{r.At, other.End},
	}, true
}

// ownedBefore returns when r's order last knew the key to be its own before it sent r. That is not known if it
// never did, or if a command of its own was under way or lost its reply: that may have made the key anew at the
// last moment.
func (k *lockKey) ownedBefore(r step) (since history.Instant, known bool) {
	for _, s := range k.owned[r.op.Order] {
		switch {
		case s.At >= r.End:
		case s.Err != "" || s.End > r.At:
			return 0, false
		case !known || s.End > since:
			since, known = s.End, true
		}
	}
	return since, known
}

// madeByAnother finds a set-if-absent of another order that surely began after since and had succeeded before r
// was sent. While the locks are right there is hardly one to pass over, so this ends at once.
func (k *lockKey) madeByAnother(r step, since history.Instant, clocks *clocks) (step, bool) {
	for clock, made := range k.made {
		shift := clocks.shift(clock, r.clock)
		from := sort.Search(len(made), func(i int) bool { return made[i].At+shift.lo >= since })
		for _, s := range made[from:] {
			if s.At+shift.lo >= r.At {
				break
			}
			if s.End+shift.hi <= r.At && s.op.Order != r.op.Order {
				return s, true
			}
		}
	}
	return step{}, false
}

func makes(cmd string) bool {
	return cmd == "set" || cmd == "setnx" || cmd == "zk:create" || cmd == "sql:acquire" || strings.HasPrefix(cmd, "eval:acquire")
}

// alone reports whether an acquire that succeeded proves that nobody else held the lock. That of a semaphore answers with
// how many hold it now; a reader may have come in beside others.
func alone(cmd *history.Command) bool {
	switch cmd.Cmd {
	case "eval:acquire-permit":
		return cmd.Reply == "1"
	case "eval:acquire-read":
		return false
	}
	return true
}

func renews(cmd string) bool { return strings.HasPrefix(cmd, "eval:renew") || cmd == "sql:renew" }

func removes(cmd string) bool {
	return cmd == "del" || cmd == "unlink" || cmd == "getdel" || cmd == "zk:delete" || cmd == "sql:release" ||
		strings.HasPrefix(cmd, "eval:release")
}

// succeeded reads a reply as "it was done": OK, true, or a positive number.
func succeeded(cmd *history.Command) bool {
	if cmd.Err != "" {
		return false
	}
	switch strings.ToLower(cmd.Reply) {
	case "ok", "true":
		return true
	}
	n, err := strconv.ParseInt(cmd.Reply, 10, 64)
	return err == nil && n > 0
}
