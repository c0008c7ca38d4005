package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
)

// A Looker looks at the stock and at the locks before each command that comes to a server, and after it. The commands
// of all clients take turns, or one would be blamed for another's. MONITOR shows which commands touched a key, also in
// a script: if one wrote the value that was there, or removed a key and made it again, two looks see no difference.
type Looker struct {
	redis   *redis.Client
	stock   Shelf
	locks   []Lock
	keys    []Key
	table   table
	name    string // of this looker, in its marks
	monitor net.Conn
	lines   *bufio.Reader

	mu    sync.Mutex
	n     int // counts the looks
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

// patience bounds the wait for a line of MONITOR.
const patience = 10 * time.Second

// NewLooker returns a looker at a real Redis, which has COMMAND and MONITOR; close it. It reports nothing of other keys
// than the stock and the locks.
func NewLooker(ctx context.Context, to *redis.Client, stock Shelf, locks []Lock) (*Looker, error) {
	l := &Looker{redis: to, stock: stock, locks: locks, keys: []Key{stock.key()}, name: rand.Text(),
		seen: map[*Command]*seen{}, tried: map[string]*Command{}, values: map[string]map[string]bool{}}
	for _, lock := range locks {
		if !slices.Contains(l.keys, lock.Key) {
			l.keys = append(l.keys, lock.Key)
		}
	}
	commands, err := to.Command(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("ask which commands write: %w", err)
	}
	l.table = commands
	o := to.Options()
	if l.monitor, err = (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", o.Addr); err != nil {
		return nil, err
	}
	l.lines = bufio.NewReader(l.monitor)
	if o.Password != "" {
		err = l.ask("AUTH", cmp.Or(o.Username, "default"), o.Password)
	}
	if err = errors.Join(err, l.ask("MONITOR")); err != nil {
		return nil, errors.Join(fmt.Errorf("watch what scripts do: %w", err), l.Close())
	}
	return l, nil
}

// ask sends a command on the connection of MONITOR, which has to answer OK.
func (l *Looker) ask(args ...string) error {
	text := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := l.monitor.Write(text); err != nil {
		return err
	}
	answer, err := l.line()
	if err == nil && answer != "+OK" {
		err = errors.New(answer)
	}
	return err
}

func (l *Looker) line() (string, error) {
	_ = l.monitor.SetReadDeadline(time.Now().Add(patience))
	text, err := l.lines.ReadString('\n')
	return strings.TrimRight(text, "\r\n"), err
}

// Close ends the connection of MONITOR. The client of the looks is its owner's.
func (l *Looker) Close() error { return l.monitor.Close() }

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
		carryOut()
		after, lines := l.look()
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
		c.Wire = &history.Carried{Conn: cmd.Conn}
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
	l.n++
	begin, end := fmt.Sprint(l.name, " begin ", l.n), fmt.Sprint(l.name, " end ", l.n)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := l.redis.Pipeline()
	p.Echo(ctx, begin)
	answer := p.Eval(ctx, lookScript, nil, argsOf(l.keys)...)
	p.Echo(ctx, end)
	if _, err := p.Exec(ctx); err != nil {
		l.err = fmt.Errorf("look at %v: %w", l.keys, err)
		return nil, nil
	}
	if looks, l.err = readStates(l.keys, answer.Val()); l.err == nil {
		lines, l.err = l.linesUntil(begin)
	}
	if l.err == nil {
		_, l.err = l.linesUntil(end)
	}
	return looks, lines
}

// linesUntil returns the lines of MONITOR before a mark.
func (l *Looker) linesUntil(mark string) (lines []line, err error) {
	for {
		text, err := l.line()
		if err != nil {
			return nil, fmt.Errorf("wait for MONITOR: %w", err)
		}
		one, err := parseLine(text)
		if err != nil {
			return nil, err
		}
		if len(one.args) == 2 && one.args[1] == mark {
			return lines, nil
		}
		lines = append(lines, one)
	}
}

// A line is one of MONITOR: a command, as the server carried it out at that time by its clock.
type line struct {
	at     time.Time
	db     int
	script bool   // a script called it
	from   string // the address of the client; not of a script
	args   []string
}

// parseLine parses a line such as +1339518083.107412 [0 127.0.0.1:60866] "get" "k\x00". Of a command of a script, the
// word in place of the address is lua.
func parseLine(text string) (l line, err error) {
	bad := fmt.Errorf("this is no line of MONITOR: %.80q", text)
	when, rest, _ := strings.Cut(strings.TrimPrefix(text, "+"), " ")
	from, rest, found := strings.Cut(rest, `] "`)
	seconds, micros, _ := strings.Cut(when, ".")
	if l.at, err = serverTime(seconds, micros); err != nil || !found {
		return l, bad
	}
	number, client, _ := strings.Cut(strings.TrimPrefix(from, "["), " ")
	if l.db, err = strconv.Atoi(number); err != nil {
		return l, bad
	}
	l.from = client
	l.script = l.from == "lua"
	for rest = `"` + rest; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return l, bad
		}
		arg, _ := strconv.Unquote(quoted)
		l.args, rest = append(l.args, arg), rest[len(quoted):]
	}
	return l, nil
}

func serverTime(seconds, micros string) (time.Time, error) {
	s, err := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	return time.UnixMicro(s*1e6 + us), errors.Join(err, err2)
}
