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

// A Looker looks at the stock and at the locks before each command that comes to a server, and after it. The commands
// of all clients take turns, or one would be blamed for another's. MONITOR shows which commands touched a key, also in
// a script: if one wrote the value that was there, or removed a key and made it again, two looks see no difference.
type Looker struct {
	ledger *Ledger
	stock  Shelf
	locks  []Lock
	keys   []Key
	table  table

	mu    *sync.Mutex // all lookers at the server have one
	seen  map[*Command]*seen
	tried map[string]*Command // the last that touched a lock, and left it held
	// values are those that a lock has had.
	values map[string]map[string]bool
	err    error
}

// seen is what was seen of a command.
type seen struct {
	before, after map[Key]KeyState
	effects       []keyEffect
}

//go:embed look.lua
var lookScript string

// NewLooker returns a looker at the server of a ledger. It reports nothing of other keys than the stock and the locks.
func NewLooker(ledger *Ledger, locks []Lock) *Looker {
	ledger.mu.Lock()
	ledger.looked = true
	ledger.mu.Unlock()
	l := &Looker{ledger: ledger, stock: ledger.stock, locks: locks, keys: []Key{ledger.stock.key()},
		table: ledger.commands, mu: &ledger.turn, seen: map[*Command]*seen{}, tried: map[string]*Command{},
		values: map[string]map[string]bool{}}
	for _, lock := range locks {
		if !slices.Contains(l.keys, lock.Key) {
			l.keys = append(l.keys, lock.Key)
		}
	}
	return l
}

// Around carries out a command when its turn has come, and looks before it and after it. carryOut sends it to the
// server, waits for the reply and notes that in the command, and does nothing else: no other command comes to the
// server meanwhile. A message has no turn, and neither has a command that may block there: see [Looker.aroundBlocking].
func (l *Looker) Around(cmd *Command, carryOut func()) {
	switch {
	case cmd.Message || cmd.Subscribes:
		carryOut()
	case len(cmd.Args) > 0 && l.table.blocks(cmd.Args):
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
		}
	}
}

// keep keeps the values that a lock has.
func (l *Looker) keep(lock string, values []string) {
	if l.values[lock] == nil {
		l.values[lock] = map[string]bool{}
	}
	for _, value := range values {
		l.values[lock][value] = true
	}
}

// aroundBlocking carries out a command that may block. If it was served at once, it took what was there. If another one
// served it, that has released what this one took, and no look shows a difference.
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
			l.seen[waker].serve(lock)
		}
	}
	if len(one.effects) > 0 {
		l.seen[cmd] = one
	}
}

// serve notes that a command released a lock to one that waited for it at the server.
func (s *seen) serve(lock string) {
	for i := range s.effects {
		if s.effects[i].key == lock {
			s.effects[i].effect = history.EffectReleased
		}
	}
}

// Traced returns a command as an order's trace has it, without its times: once for the stock and for each lock to which
// it did something, with that key and the effect. If it did nothing to any, the effect is [history.EffectNothing].
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

// Blocks reports whether a command may wait at the server.
func (l *Looker) Blocks(args []string) bool { return len(args) > 0 && l.table.blocks(args) }

// Stepped reports whether a command counted a lock on, or back, that was held before it and after it.
func (l *Looker) Stepped(cmd *Command, lock string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.seen[cmd]
	return one != nil && slices.ContainsFunc(one.effects, func(e keyEffect) bool { return e.key == lock && e.stepped })
}

// States returns what a key was before a command and after it, and false if nobody looked.
func (l *Looker) States(cmd *Command, key Key) (before, after KeyState, looked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.seen[cmd]; one != nil && one.before != nil {
		return one.before[key], one.after[key], true
	}
	return before, after, false
}

// Err returns why the looker has stopped looking; nil if it has not.
func (l *Looker) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Alone calls do when no command is under way, for what its caller does to the server itself: no command is blamed for
// that.
func (l *Looker) Alone(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	_, _ = l.look()
}

// Look returns what the keys in play are.
func (l *Looker) Look() map[Key]KeyState {
	l.mu.Lock()
	defer l.mu.Unlock()
	looks, _ := l.look()
	return looks
}

// look looks at the keys in play. It also returns the lines of MONITOR since the look before.
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
