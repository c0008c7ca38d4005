package wire

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Ledger records, from MONITOR, a server's writes of the stock and the keys it wrote, including those of scripts. It
// delays nothing, so it suits crowds. It does not record effects on locks.
type Ledger struct {
	*monitor // its lock guards the fields below the stock
	redis    *redis.Client
	commands table
	turn     sync.Mutex // taken by each looker around a command
	stock    Shelf

	value   int64
	strange string // the first write whose result is unknown
	place   int    // its index among the writes
	from    string // where the last command outside a script came from
	writes  []StockWrite
	keys    map[Key]time.Time // the written keys, with the time of the first write
	claimed map[Key]bool      // those whose first write required that the key was absent
	asked   []Key             // keys that the current script has read
	named   map[place]bool    // where a command used the stock's key
	scripts map[string]bool   // those sent in full
	looked  bool              // a looker reads the lines
	untaken []line
}

// A place is a database and the address of a client that used it.
type place struct {
	db   int
	from string
}

// A Shelf is where the stock is: a string, or a field of a hash.
type Shelf struct {
	Key, Field string
	DB         int
}

func (s Shelf) key() Key { return Key{s.DB, s.Key} }

// Elsewhere reports whether a command concerns other fields of the stock's hash.
func (s Shelf) Elsewhere(args []string) bool {
	fields, some := fieldsOf(args)
	return s.Field != "" && some && !slices.Contains(fields, s.Field)
}

// fieldsOf returns the fields of a hash that a command names, and false if it may concern any.
func fieldsOf(args []string) (fields []string, some bool) {
	from, step := 2, 1
	switch verb := strings.ToLower(args[0]); verb {
	case "hset", "hmset":
		step = 2
	case "hdel", "hmget":
	case "hget", "hexists", "hstrlen", "hincrby", "hincrbyfloat", "hsetnx":
		args = args[:min(3, len(args))]
	default: // a list with its length, such as HPERSIST key FIELDS 1 field
		word := slices.IndexFunc(args, func(arg string) bool { return strings.EqualFold(arg, "fields") })
		if !strings.HasPrefix(verb, "h") || word < 2 {
			return nil, false
		}
		from = word + 2
		if verb == "hsetex" {
			step = 2
		}
	}
	for i := from; i < len(args); i += step {
		fields = append(fields, args[i])
	}
	return fields, true
}

// A StockWrite is a write of the stock.
type StockWrite struct {
	At     time.Time // by the server's clock
	From   string    // the client's address as the server sees it
	Before int64
	After  int64
	Counts bool // it added to the previous value, or subtracted from it, or required it
	// ReadBack means that a looker read the result back, because the ledger cannot compute that of the command.
	ReadBack bool
}

// NewLedger starts a ledger of a real Redis, which has COMMAND and MONITOR; close it.
func NewLedger(ctx context.Context, to *redis.Client, stock Shelf) (*Ledger, error) {
	commands, err := to.Command(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("read the server's commands: %w", err)
	}
	l := &Ledger{redis: to, commands: commands, stock: stock, keys: map[Key]time.Time{}, named: map[place]bool{},
		scripts: map[string]bool{}, claimed: map[Key]bool{}}
	if l.monitor, err = watch(ctx, to, l.add); err != nil {
		return nil, err
	}
	return l, nil
}

// add records a line. The commands of a script follow the call that runs it.
func (l *Ledger) add(one line) {
	if l.looked {
		l.untaken = append(l.untaken, one)
	}
	if !one.script {
		l.from, l.asked = one.from, nil
	}
	l.keepScript(one.args)
	if isScriptCall(one.args) {
		return
	}
	keys := l.commands.keys(one.args)
	if slices.Contains(keys, l.stock.Key) {
		l.named[place{one.db, l.from}] = true
	}
	if l.use(one, keys); !l.commands.has(one.args, "write") {
		return
	}
	if one.db != l.stock.key().DB {
		return
	}
	after, counts, on := l.stock.after(one.args, l.value)
	if !on || !slices.Contains(keys, l.stock.Key) { // a value may equal the key's name
		return
	}
	w := StockWrite{At: one.at, From: l.from, Before: l.value, Counts: counts, ReadBack: after == nil}
	switch {
	case after != nil:
		w.After, l.value = *after, *after
	case l.strange == "":
		l.strange, l.place = strings.Join(one.args, " "), len(l.writes)
	}
	l.writes = append(l.writes, w)
}

// use records which keys a line reads, or writes for the first time.
func (l *Ledger) use(one line, keys []string) {
	for _, name := range keys {
		key := Key{one.db, name}
		switch {
		case !l.commands.has(one.args, "write"):
			l.asked = append(l.asked, key)
		case l.keys[key].IsZero():
			l.keys[key] = one.at
			l.claimed[key] = settingOf(one.args).ifAbsent || one.script && slices.Contains(l.asked, key)
		}
	}
}

// Databases returns the databases in which a client used a key of the stock's name, up to the last call of
// [Ledger.Writes]. isClient is given addresses as the server sees them.
func (l *Ledger) Databases(isClient func(address string) bool) (all []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.named {
		if isClient(p.from) && !slices.Contains(all, p.db) {
			all = append(all, p.db)
		}
	}
	slices.Sort(all)
	return all
}

// Claimed reports whether the first write of a key required, in one step, that the key was absent, as that of a lock
// does.
func (l *Ledger) Claimed(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed[key]
}

// Follow moves the ledger, and lookers created later, to the stock in another database.
func (l *Ledger) Follow(db int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stock.DB = db
}

// count returns the number of writes.
func (l *Ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.writes)
}

// readBack records the stock that a looker read after a command. If the result of any write from index from on is
// unknown, those writes are merged into one.
func (l *Ledger) readBack(from int, state KeyState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, known := l.stock.left(&state)
	if l.strange == "" || l.place < from || !known {
		return
	}
	one := l.writes[l.place]
	one.Before, one.After = l.writes[from].Before, left
	for _, w := range l.writes[from:] {
		one.Counts = one.Counts && w.Counts
	}
	l.writes, l.value, l.strange = append(l.writes[:from], one), left, ""
}

// take returns the lines before the mark begin that have not been taken yet, and drops those between begin and end.
func (l *Ledger) take(begin, end string) (lines []line, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.await(end); err != nil {
		return nil, err
	}
	place := func(mark string) int {
		return slices.IndexFunc(l.untaken, func(one line) bool { return one.args[len(one.args)-1] == mark })
	}
	lines, l.untaken = slices.Clone(l.untaken[:place(begin)]), l.untaken[place(end)+1:]
	return lines, nil
}

// keepScript keeps a script that is sent in full.
func (l *Ledger) keepScript(args []string) {
	switch verb := strings.ToLower(args[0]); {
	case verb == "eval" && len(args) > 1:
		l.scripts[args[1]] = true
	case verb == "script" && len(args) > 2 && strings.EqualFold(args[1], "load"):
		l.scripts[args[2]] = true
	}
}

// Scripts returns the scripts that were sent to the server in full, up to the last call of [Ledger.Writes].
func (l *Ledger) Scripts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.scripts))
}

// left returns the stock in a state of its key, and whether it is known.
func (s Shelf) left(state *KeyState) (n int64, known bool) {
	text, there := state.Parts[s.Field]
	if !there {
		return 0, state.Kind != "" && !state.Opaque
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// spares reports whether a command that names the stock's key leaves an existing stock unchanged: it concerns another
// field or the expiry, sets only what is absent, or copies the stock.
func (s Shelf) spares(args []string) bool {
	verb := strings.ToLower(args[0])
	copies := slices.Contains([]string{"copy", "bitop"}, verb) && len(args) > 2 && args[2] != s.Key
	return s.Elsewhere(args) || slices.Contains(endsOf, verb) || settingOf(args).ifAbsent || copies
}

// reads reports whether a command that names the stock's key, and does not write it, depends on its value: not only on
// its presence, type or expiry.
func (s Shelf) reads(args []string) bool {
	verb := strings.ToLower(args[0])
	gets := strings.HasSuffix(verb, "getex")
	return !s.Elsewhere(args) && (gets || !slices.Contains(endsOf, verb) && !slices.Contains(looksOf, verb))
}

// Unknown returns the command that failed because the server does not know it, or that such a command is in a script;
// else "".
func (l *Ledger) Unknown(s *Seen) string {
	if !s.Failed {
		return ""
	}
	for _, args := range append(slices.Clone(s.Queued), s.Args) {
		if len(args) > 0 && l.commands.of(args) == nil {
			return strings.ToUpper(args[0])
		}
	}
	if isScriptCall(s.Args) && unknownInScript.MatchString(s.Reply) {
		return "a command in a script"
	}
	return ""
}

// unknownInScript matches the errors of Redis and of Valkey.
var unknownInScript = regexp.MustCompile(`(?i)unknown (redis )?command called from`)

// OnData reports whether a command, or a script that it calls, may read or write data, unlike PING.
func (l *Ledger) OnData(args []string) bool {
	return l.commands.has(args, "readonly") || l.commands.has(args, "write") || isScriptCall(args)
}

// writesOf holds commands that write a number: the argument with the new value, or the fixed increment, or the argument
// with the increment. Commands with none of these remove the key.
var writesOf = map[string]struct{ sets, by, adds int }{
	"set": {sets: 2}, "getset": {sets: 2}, "setex": {sets: 3}, "psetex": {sets: 3},
	"incr": {by: 1}, "decr": {by: -1}, "incrby": {adds: 2}, "decrby": {adds: 2, by: -1}, "hincrby": {adds: 3},
	"incrbyfloat": {adds: 2}, "hincrbyfloat": {adds: 3},
	"del": {}, "unlink": {}, "getdel": {}, "delex": {}, "delifeq": {},
}

// removes reports whether a command only removes its keys.
func removes(args []string) bool {
	w, known := writesOf[strings.ToLower(args[0])]
	return known && w.sets == 0 && w.by == 0 && w.adds == 0
}

// endsOf are the commands that change only the expiry of a key, or of fields. Some also return the value.
var endsOf = []string{"expire", "pexpire", "expireat", "pexpireat", "persist", "getex",
	"hexpire", "hpexpire", "hexpireat", "hpexpireat", "hpersist", "hgetex"}

// looksOf are the commands that return something else of a key than its value.
var looksOf = []string{"exists", "type", "touch", "ttl", "pttl", "expiretime", "pexpiretime",
	"hexists", "hlen", "hkeys", "httl", "hpttl", "hexpiretime", "hpexpiretime"}

// after returns the stock after a command, nil if unknown, and whether the command changes it. MONITOR shows no reply:
// the stock before a command decides whether its condition held.
func (s Shelf) after(args []string, before int64) (after *int64, counts, on bool) {
	verb := strings.ToLower(args[0])
	if !slices.Contains(args[1:], s.Key) || s.spares(args) {
		return nil, false, false
	}
	test := conditionOf(args)
	if test.word != "" && !test.holds(part{strconv.FormatInt(before, 10), true}) {
		return nil, false, false
	}
	w, known := writesOf[verb]
	switch {
	case verb == "mset":
		i := s.pairOf(args)
		return number(args, i+1), false, i > 0
	case verb == "hset", verb == "hmset":
		fields, _ := fieldsOf(args)
		i := slices.Index(fields, s.Field)
		return number(args, 2*i+3), false, i >= 0
	case !known:
		return nil, false, true
	case w.sets > 0:
		return number(args, w.sets), test.isEqual(), true
	case removes(args):
		return new(int64(0)), test.isEqual(), true
	case w.adds == 0:
		return new(before + int64(w.by)), true, true
	}
	n := number(args, w.adds)
	if n != nil {
		n = new(before + *n*int64(cmp.Or(w.by, 1)))
	}
	return n, true, true
}

// pairOf returns the index of the stock among the keys of an MSET, 0 if it is not one of them.
func (s Shelf) pairOf(args []string) int {
	for i := 1; i < len(args); i += 2 {
		if args[i] == s.Key {
			return i
		}
	}
	return 0
}

// number returns the argument at that index as a number, nil if it is none.
func number(args []string, at int) *int64 {
	if at >= len(args) {
		return nil
	}
	n, err := strconv.ParseInt(args[at], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// Writes returns the writes of the stock, in order, and all written keys, complete up to now. It fails if the result of
// a write is unknown: the ledger cannot compute it, and no looker read it back.
func (l *Ledger) Writes(ctx context.Context) (writes []StockWrite, keys map[Key]time.Time, err error) {
	mark := newMark()
	if err := l.redis.Echo(ctx, mark).Err(); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.await(mark); err != nil {
		return nil, nil, err
	}
	if l.strange != "" {
		return nil, nil, fmt.Errorf("the stock after %q is unknown", l.strange)
	}
	return slices.Clone(l.writes), maps.Clone(l.keys), nil
}
