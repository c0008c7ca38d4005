package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"stockapi/loadtest/history"
)

// ownRelease answers whether an order removed a lock that was not its own, judged by the commands that the orders sent.
//
// The argument rests on what Redis promises of one key: a SET NX that succeeded proves that the key was gone. Say order
// A made the key, then B's SET NX succeeded, and then A removed the key without having made it again. Then A removed a
// key that was not A's. (A semaphore's permit proves that only if it is the first one.) Commands take time, so "then"
// means: began after the other had ended. A command whose reply was lost may have made the key at any later time; it
// excuses its own order, and is never held against another.
//
// A command that the server refused did nothing, and so says nothing. Each removal is judged or counted: see
// [books.tooFewJudged].
//
// An instance may pass a lock on, from order to order. Then they have one owner token, and one makes the key and
// another removes it: all that they sent counts as sent by one. That is only certain if all orders told what they sent.
func ownRelease(b *books) history.Finding {
	if b.removals == 0 && b.cut == 0 {
		return history.Finding{Verdict: history.OwnRelease, Result: history.NotApplicable}
	}
	if why := b.clocks.notAsked(); why != "" {
		return found(history.OwnRelease, history.NotApplicable, "%s", why)
	}
	s := readSteps(b)
	b.judged = len(s.removals)
	if h := s.foreignRemovals(); h.total > 0 {
		return h.broken(history.OwnRelease, s.evidence)
	}
	if b.unanswered > 0 {
		return found(history.OwnRelease, history.Indeterminate,
			"%d orders were never answered: what they removed is not known", b.unanswered)
	}
	if why := b.notKept(); why != "" {
		return found(history.OwnRelease, history.Indeterminate, "%s: what they removed after those is not known", why)
	}
	if b.silent > 0 {
		return found(history.OwnRelease, history.Indeterminate,
			"of %d orders that must have had the lock, %d told none of their commands", b.due+b.shared, b.silent)
	}
	if b.doubtful > 0 {
		return found(history.OwnRelease, history.Indeterminate, "%s", b.doubts())
	}
	if b.tooFewJudged() {
		return found(history.OwnRelease, history.Indeterminate,
			"only %d of %d releases could be judged", b.judged, b.removals)
	}
	return history.Finding{Verdict: history.OwnRelease, Result: history.OK}
}

// tooFewJudged reports whether so many removals went unjudged that an ok would rest on too few. An honest crowd leaves
// none unjudged, so nine of ten have to be judged: one that is lost here and there on a real network does no harm.
//
// A fault takes replies away, and an order that undoes an acquire without a reply removes a key that was its own or
// not: one of the three or four removals of most cells, and up to six of ten on five nodes that were away. There a
// third is enough, which is less than all honest cells had.
func (b *books) tooFewJudged() bool {
	if b.noFaults() {
		return 10*b.judged < 9*b.removals
	}
	return 3*b.judged < b.removals
}

// steps are the result of a pass over the commands.
type steps struct {
	*books
	made     []made
	removals []removal
	// passed are the owners of locks that were removed by orders that never took them, with the commands by which the
	// orders of the owner took or renewed a lock.
	passed map[owner][]history.Command
}

// An owner is one or several orders of an instance with one owner token.
type owner struct{ instance, token string }

// maxTenure bounds the commands of one owner that are looked at. One whose orders take the lock often is no owner.
const maxTenure = 100

// A made is a set-if-absent that succeeded, on a key that some order removed.
type made struct {
	key     uint64
	at, end history.Instant
	op      int32
}

// A removal is a key removed by an order that last knew it to be its own, or its owner's, at since.
type removal struct {
	key       uint64
	since, at history.Instant
	op        int32
}

func readSteps(b *books) *steps {
	s := &steps{books: b, passed: map[owner][]history.Command{}}
	s.removals = make([]removal, 0, b.removals)
	s.made = make([]made, 0, b.made)
	for i, op := range b.All() {
		if len(op.Trace) > 0 {
			s.add(int32(i), op)
		}
	}
	if len(s.passed) > 0 && b.silent == 0 && b.unanswered == 0 && b.doubtful == 0 {
		s.addPassed()
	}
	return s
}

// ownerOf returns in whose name an order had its last lock, and since when, or false if it does not say.
func (b *books) ownerOf(op *history.Op) (o owner, since history.Instant, known bool) {
	switch {
	case op.Lease != nil:
		o, since = owner{op.Instance, op.Lease.Token}, op.Lease.AcquiredAt
	case sharesLease(op) && b.sellers[op.SoldBy] != nil:
		s := b.sellers[op.SoldBy]
		o, since = owner{op.Instance, s.token}, s.acquired
	}
	return o, since, o.token != ""
}

// addPassed adds the removals by orders that had the lock from another order of the same owner.
func (s *steps) addPassed() {
	for _, op := range s.All() {
		o, _, _ := s.ownerOf(op)
		if commands, passed := s.passed[o]; passed {
			s.passed[o] = appendTakes(commands, op)
		}
	}
	for i, op := range s.All() {
		o, acquired, _ := s.ownerOf(op)
		commands, passed := s.passed[o]
		if !passed || len(commands) > maxTenure {
			continue
		}
		for j := range op.Trace {
			cmd := &op.Trace[j]
			if !removedLast(cmd, acquired) {
				continue
			}
			if _, itself := ownedBefore(op.Trace, cmd); itself {
				continue
			}
			if since, known := ownedBefore(commands, cmd); known {
				s.removals = append(s.removals, removal{keyOf(cmd), since, cmd.At, int32(i)})
			}
		}
	}
}

// appendTakes appends the commands by which an order took or renewed a lock.
func appendTakes(commands []history.Command, op *history.Op) []history.Command {
	for i := range op.Trace {
		if cmd := &op.Trace[i]; (cmd.Acquires() || cmd.Renews()) && len(commands) <= maxTenure {
			commands = append(commands, *cmd)
		}
	}
	return commands
}

// removedLast reports whether a command removed the last lock of an order, which had it since then.
func removedLast(cmd *history.Command, since history.Instant) bool {
	return cmd.Releases() && cmd.Succeeded() && (cmd.At >= since || !since.Known())
}

func (s *steps) add(i int32, op *history.Op) {
	for j := range op.Trace {
		cmd := &op.Trace[j]
		switch {
		case cmd.Acquires():
			if !cmd.Succeeded() || !cmd.AcquiresAlone() {
				continue
			}
			key := keyOf(cmd)
			if _, removed := s.removed[key]; removed {
				s.made = append(s.made, made{key, cmd.At, cmd.End, i})
			}
		case cmd.Releases() && cmd.Succeeded():
			if since, known := ownedBefore(op.Trace, cmd); known {
				s.removals = append(s.removals, removal{keyOf(cmd), since, cmd.At, i})
			} else if o, acquired, known := s.ownerOf(op); known && removedLast(cmd, acquired) {
				s.passed[o] = nil
			}
		}
	}
}

// ownedBefore returns when an order that sent these commands last knew the key to be its own before it sent r. That is
// not known if it never did, or if a command of its own was under way or lost its reply, which may have made the key
// again at the last moment. A renewal that succeeded found the key to be its own, or made it: the article's script
// makes a key that is gone.
func ownedBefore(trace []history.Command, r *history.Command) (since history.Instant, known bool) {
	for i := range trace {
		s := &trace[i]
		if s.Node != r.Node || s.Key != r.Key || !s.Acquires() && !s.Renews() || !s.Succeeded() && !s.Lost() {
			continue
		}
		switch {
		case s.At > r.End: // a clock that cuts its times off tells the same of both
		case s.Lost() || s.End > r.At:
			return 0, false
		case !known || s.End > since:
			since, known = s.End, true
		}
	}
	return since, known
}

// foreignRemovals finds, for each removal, a set-if-absent of another order that surely began after the remover last
// owned the key, and had succeeded before the removal was sent.
func (s *steps) foreignRemovals() *violations {
	slices.SortFunc(s.made, func(a, b made) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op))
	})
	// first[i] holds those that ended first of all from i on that are of the same key.
	first := make([]earliest, len(s.made))
	for i := len(s.made) - 1; i >= 0; i-- {
		first[i] = earliest{-1, -1}
		if i+1 < len(s.made) && s.made[i].key == s.made[i+1].key {
			first[i] = first[i+1]
		}
		first[i] = s.with(first[i], int32(i))
	}
	h := &violations{}
	for i := range s.removals {
		r := &s.removals[i]
		n := sort.Search(len(s.made), func(j int) bool {
			m := &s.made[j]
			return cmp.Or(cmp.Compare(m.key, r.key), cmp.Compare(m.at, r.since)) >= 0
		})
		if n == len(s.made) || s.made[n].key != r.key {
			continue
		}
		other := first[n].one
		if s.made[other].op == r.op {
			other = first[n].another
		}
		if other >= 0 && s.made[other].end < r.at && s.sameKey(r, &s.made[other]) {
			h.add(violation{at: r.at, a: r.op, b: s.made[other].op, value: int64(s.made[other].at), key: r.key})
		}
	}
	return h
}

// earliest names, of several made locks, the one that ended first, and the one of another order that did; -1 for none.
type earliest struct{ one, another int32 }

// with returns e with one more.
func (s *steps) with(e earliest, i int32) earliest {
	sooner := func(than int32) bool { return than < 0 || s.made[i].end < s.made[than].end }
	same := e.one >= 0 && s.made[e.one].op == s.made[i].op
	switch {
	case sooner(e.one) && same:
		return earliest{i, e.another}
	case sooner(e.one):
		return earliest{i, e.one}
	case !same && sooner(e.another):
		return earliest{e.one, i}
	}
	return e
}

// keyOf returns a hash of a key on a node: there may be as many keys as orders. sameKey tells apart two keys with the
// same hash before an order is accused.
func keyOf(cmd *history.Command) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, text := range [...]string{cmd.Node, "\x00", cmd.Key} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
	}
	return h
}

func (s *steps) sameKey(r *removal, m *made) bool {
	removed, ok := s.command(r.op, r.at, r.key, (*history.Command).Releases)
	made, also := s.command(m.op, m.at, m.key, (*history.Command).Acquires)
	return ok && also && removed.Node == made.Node && removed.Key == made.Key
}

// command reads a command again that an order sent at that moment.
func (s *steps) command(
	op int32, at history.Instant, key uint64, kind func(*history.Command) bool,
) (history.Command, bool) {
	for _, cmd := range s.At(int(op)).Trace {
		if cmd.At == at && kind(&cmd) && cmd.Succeeded() && keyOf(&cmd) == key {
			return cmd, true
		}
	}
	return history.Command{}, false
}

// evidence puts the removal of another order's lock into words.
func (s *steps) evidence(one violation) history.Evidence {
	r, _ := s.command(one.a, one.at, one.key, (*history.Command).Releases)
	m, _ := s.command(one.b, history.Instant(one.value), one.key, (*history.Command).Acquires)
	op, other := *s.At(int(one.a)), *s.At(int(one.b))
	return history.Evidence{
		Text: fmt.Sprintf("%s on %s removed %s at %s although %s on %s had taken it at %s",
			order(s.Cell, &op), instance(s.Cell, &op), r.Key, r.At, order(s.Cell, &other), other.Instance, m.End),
		Orders: []string{op.Order, other.Order}, Instances: []string{op.Instance, other.Instance},
		At: []history.Instant{r.At, m.End},
	}
}
