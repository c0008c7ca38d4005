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

// A Looker looks at the keys in play before each command that comes to a server, and after it. The commands of all
// clients take turns, or one would be blamed for another's. MONITOR shows what a script did: if it wrote the value that
// was there, or removed a key and made it again, two looks see no difference.
type Looker struct {
	redis   *redis.Client
	roles   map[string]Role
	keys    []string
	table   table
	name    string // of this looker, in its marks
	monitor net.Conn
	lines   *bufio.Reader

	mu   sync.Mutex
	n    int // counts the looks
	seen map[*Command][]keyEffect
	err  error
}

// A Role is what a key is to a sale.
type Role uint8

// The roles.
const (
	RoleLock Role = iota + 1
	RoleStock
)

//go:embed look.lua
var lookScript string

// patience bounds the wait for a line of MONITOR.
const patience = 10 * time.Second

// NewLooker returns a looker at a real Redis, which has COMMAND, DUMP and MONITOR; close it. The roles are those of the
// keys in play, and nothing is told of other keys.
func NewLooker(ctx context.Context, to *redis.Client, roles map[string]Role) (*Looker, error) {
	l := &Looker{redis: to, roles: roles, keys: slices.Sorted(maps.Keys(roles)), name: rand.Text(),
		seen: map[*Command][]keyEffect{}}
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
// server meanwhile. A command that may block there has no turn, nor has a message.
func (l *Looker) Around(cmd *Command, carryOut func()) {
	if cmd.Message || cmd.Subscribes || len(cmd.Args) > 0 && l.table.blocks(cmd.Args) {
		carryOut()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.look()
	carryOut()
	after, lines := l.look()
	if l.err == nil {
		c := &execution{sent: cmd.Args, reply: cmd.Reply, failed: cmd.Failed, exec: cmd.Name == "exec", lines: lines}
		l.seen[cmd] = l.effects(c, before, after)
	}
}

// Traced returns a command as an order's trace has it, without its times: once for each key in play to which it did
// something, with that key and the effect. If it did nothing to any, the effect is [history.EffectNothing]; if nobody
// looked, there is none.
func (l *Looker) Traced(cmd *Command) []history.Command {
	l.mu.Lock()
	effects, looked := l.seen[cmd]
	l.mu.Unlock()
	if !looked {
		return []history.Command{cmd.Traced()}
	}
	return withEffects(cmd.Traced(), effects)
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

// Holds looks at a key in play: the value of a string, the fields of a hash, the members of a set; and when its TTL is
// over by the server's clock, the zero time if it has none.
func (l *Looker) Holds(key string) (kind string, owners []string, ends time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	looks, _ := l.look()
	one := looks[key]
	return one.kind, one.owners, one.ends
}

// look looks at the keys in play. It also returns the lines of MONITOR since the look before.
func (l *Looker) look() (looks map[string]look, lines []line) {
	if l.err != nil {
		return nil, nil
	}
	l.n++
	begin, end := fmt.Sprint(l.name, " begin ", l.n), fmt.Sprint(l.name, " end ", l.n)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := l.redis.Pipeline()
	p.Echo(ctx, begin)
	answer := p.Eval(ctx, lookScript, l.keys)
	p.Echo(ctx, end)
	if _, err := p.Exec(ctx); err != nil {
		l.err = fmt.Errorf("look at %q: %w", l.keys, err)
		return nil, nil
	}
	if looks, l.err = readLooks(l.keys, answer.Val()); l.err == nil {
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
	_, l.from, _ = strings.Cut(from, " ")
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

// A look is what a key was at that time, by the server's clock.
type look struct {
	at     time.Time
	kind   string    // none: there was no key
	digest string    // of all of it
	owners []string  // the value of a string, the fields of a hash, the members of a set
	ends   time.Time // when its TTL is over; zero: never
}

func (k *look) exists() bool { return k.kind != "none" }

// readLooks reads what look.lua returned.
func readLooks(keys []string, answer any) (map[string]look, error) {
	all, _ := answer.([]any)
	if len(all) != 2+len(keys) {
		return nil, fmt.Errorf("look.lua returned %v", answer)
	}
	at, err := serverTime(fmt.Sprint(all[0]), fmt.Sprint(all[1]))
	looks := map[string]look{}
	for i, key := range keys {
		one, _ := all[2+i].([]any)
		if len(one) == 0 {
			return nil, fmt.Errorf("look.lua returned %v", answer)
		}
		k := look{at: at, kind: fmt.Sprint(one[0])}
		if len(one) > 3 {
			k.digest = fmt.Sprint(one[1])
			if ms, ok := one[2].(int64); ok && ms >= 0 {
				k.ends = at.Truncate(time.Millisecond).Add(time.Duration(ms) * time.Millisecond)
			}
			owners, _ := one[3].([]any)
			for _, owner := range owners {
				k.owners = append(k.owners, fmt.Sprint(owner))
			}
		}
		looks[key] = k
	}
	return looks, err
}
