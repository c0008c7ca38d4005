package wire

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"

	"stockapi/loadtest/history"
)

// A Looker reads the stock and the locks before and after each command at a server. The commands of all clients take
// turns; otherwise one could be blamed for another's effect. MONITOR shows which commands touched a key, also within
// scripts: two looks cannot show a write of the same value, or a key that was removed and recreated.
type Looker struct {
	// Saw, unless nil, is called with each command that affected the stock or a lock, in its turn. It must not block, or
	// call the looker. Set it before any command arrives.
	Saw func(*Sight)

	ledger *Ledger
	stock  Shelf
	locks  []Lock
	keys   []Key
	table  table

	mu    *sync.Mutex // shared by all lookers at the server
	seen  map[*Command]*seen
	tried map[string]*Command // by lock: the last command that touched it and left it held
	// values holds the past and present values of each lock.
	values map[string]map[string]bool
	err    error
}

// seen is what the looks showed of a command.
type seen struct {
	before, after map[Key]KeyState
	effects       []keyEffect
}

// A Sight is a command that affected the stock or a lock.
type Sight struct {
	*Command
	Effects []history.Command   // one for each key, without times
	Stepped []bool              // whether each is a step of a counter: see [Looker.Stepped]
	Before  map[string][]string // names of the holders: see [Looker.Holders]
	After   map[string][]string
}

//go:embed look.lua
var lookScript string

// NewLooker returns a looker at the ledger's server. It watches only the stock and these locks.
func NewLooker(ledger *Ledger, locks []Lock) *Looker {
	ledger.mu.Lock()
	ledger.looked = true
	ledger.mu.Unlock()
	l := &Looker{ledger: ledger, stock: ledger.stock, locks: locks, keys: []Key{ledger.stock.key()},
		table: ledger.commands, mu: &ledger.turn, seen: map[*Command]*seen{}, tried: map[string]*Command{},
		values: map[string]map[string]bool{}}
	for _, lock := range locks {
		for _, one := range append([]Lock{lock}, lock.Companions...) {
			if !slices.Contains(l.keys, one.Key) {
				l.keys = append(l.keys, one.Key)
			}
		}
	}
	return l
}

// Around carries out a command in its turn, with a look before and after. carryOut must send it to the server, wait for
// the reply, record that in the command, and do nothing else; no other command reaches the server meanwhile. Messages
// take no turn, and neither do blocking commands: see [Looker.aroundBlocking].
func (l *Looker) Around(cmd *Command, carryOut func()) {
	switch {
	case cmd.Message || cmd.Subscribes:
		carryOut()
	case cmd.Blocks:
		l.aroundBlocking(cmd, carryOut)
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		before, _ := l.look()
		written := l.ledger.count()
		carryOut()
		after, lines := l.look()
		l.ledger.readBack(written, after[l.stock.key()])
		if l.err == nil {
			c := &execution{sent: cmd.Args, reply: cmd.Reply, failed: cmd.Failed, exec: cmd.Name == "exec", lines: lines}
			l.seen[cmd] = &seen{before, after, l.effects(c, before, after)}
			for _, one := range l.seen[cmd].effects {
				if one.effect == history.EffectTried {
					l.tried[one.key] = cmd
				}
				l.keep(one.key, l.valuesOf(one.key, after))
			}
			l.show(cmd, l.seen[cmd])
		}
	}
}

// show reports what the looks showed of a command.
func (l *Looker) show(cmd *Command, one *seen) {
	if l.Saw == nil || len(one.effects) == 0 {
		return
	}
	s := &Sight{Command: cmd}
	for _, e := range one.effects {
		s.Effects = append(s.Effects, history.Command{Key: e.key, Source: history.Looked, Effect: e.effect})
		s.Stepped = append(s.Stepped, e.stepped)
	}
	s.Before, s.After = l.holders(one)
	l.Saw(s)
}

// keep records values of a lock.
func (l *Looker) keep(lock string, values []string) {
	if l.values[lock] == nil {
		l.values[lock] = map[string]bool{}
	}
	for _, value := range values {
		l.values[lock][value] = true
	}
}

// aroundBlocking carries out a command that may block. If it was served at once, it took an element that was there. If
// another command served it, that command released the lock and this one acquired it, though no look shows a
// difference.
func (l *Looker) aroundBlocking(cmd *Command, carryOut func()) {
	l.mu.Lock()
	before := maps.Clone(l.tried)
	l.mu.Unlock()
	carryOut()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || cmd.Failed || cmd.Reply == "" || cmd.Reply == "(nil)" {
		return
	}
	one := &seen{}
	for i := range l.locks {
		lock := l.locks[i].String()
		if !slices.Contains(l.table.keys(cmd.Args), l.locks[i].Name) {
			continue
		}
		one.effects = append(one.effects, keyEffect{key: lock, effect: history.EffectAcquired | history.Endless})
		if waker := l.tried[lock]; waker != before[lock] {
			l.show(waker, l.seen[waker].serve(lock))
		}
	}
	if len(one.effects) > 0 {
		l.seen[cmd] = one
		l.show(cmd, one)
	}
}

// serve records that a command released a lock to another that was blocked on it. It returns the release alone.
func (s *seen) serve(lock string) (release *seen) {
	release = &seen{before: s.before, after: s.after}
	for i := range s.effects {
		if s.effects[i].key == lock {
			s.effects[i].effect = history.EffectReleased
			release.effects = append(release.effects, s.effects[i])
		}
	}
	return release
}

// Traced returns the command as entries of an order's trace, without times: one for the stock and one for each lock
// that it affected, with the key and the effect. If it affected none, the effect is [history.EffectNothing].
func (l *Looker) Traced(cmd *Command) []history.Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.seen[cmd]
	if one == nil {
		c := cmd.Traced()
		c.Wire = &history.Carried{Text: CommandText(cmd.Args, cmd.Queued), Conn: cmd.Conn}
		return []history.Command{c}
	}
	return l.withEffects(cmd, one)
}

// Stepped reports whether a command incremented or decremented a lock that was held before and after.
func (l *Looker) Stepped(cmd *Command, lock string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.seen[cmd]
	return one != nil && slices.ContainsFunc(one.effects, func(e keyEffect) bool { return e.key == lock && e.stepped })
}

// States returns a key before and after a command, and false if there was no look.
func (l *Looker) States(cmd *Command, key Key) (before, after KeyState, looked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.seen[cmd]; one != nil && one.before != nil {
		return one.before[key], one.after[key], true
	}
	return before, after, false
}

// Holders returns the names of the holders before and after a command, for each lock whose holders have names of their
// own.
func (l *Looker) Holders(cmd *Command) (before, after map[string][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holders(l.seen[cmd])
}

func (l *Looker) holders(one *seen) (before, after map[string][]string) {
	if one == nil || one.before == nil {
		return nil, nil
	}
	before, after = map[string][]string{}, map[string][]string{}
	for i := range l.locks {
		lock := &l.locks[i]
		had, has := one.before[lock.Key], one.after[lock.Key]
		if lock.Parts == nil && had.Kind != "string" && has.Kind != "string" {
			before[lock.String()] = slices.Collect(maps.Keys(lock.holders(&had)))
			after[lock.String()] = slices.Collect(maps.Keys(lock.holders(&has)))
		}
	}
	return before, after
}

// AwaitTurn waits for the command whose turn it is: its client may have the reply before its effects are known.
func (l *Looker) AwaitTurn() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

// Err returns why the looker has stopped looking; nil if it has not.
func (l *Looker) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Alone calls do while no command is in progress, so that none is blamed for its effects at the server.
func (l *Looker) Alone(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	_, _ = l.look()
}

// Look returns the current states of the stock and the locks.
func (l *Looker) Look() map[Key]KeyState {
	l.mu.Lock()
	defer l.mu.Unlock()
	looks, _ := l.look()
	return looks
}

// look reads the stock and the locks, and returns the lines of MONITOR since the look before.
func (l *Looker) look() (looks map[Key]KeyState, lines []line) {
	if l.err != nil {
		return nil, nil
	}
	begin, end := newMark(), newMark()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := l.ledger.redis.Pipeline()
	p.Echo(ctx, begin)
	answer := p.Eval(ctx, lookScript, nil, argsOf(l.keys)...)
	p.Echo(ctx, end)
	if _, err := p.Exec(ctx); err != nil {
		l.err = fmt.Errorf("look at %v: %w", l.keys, err)
		return nil, nil
	}
	if looks, l.err = readStates(l.keys, answer.Val()); l.err == nil {
		lines, l.err = l.ledger.take(begin, end)
	}
	return looks, lines
}
