package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
)

// A keyEffect is what a command did to the stock, or to one of the locks.
type keyEffect struct {
	key      string
	effect   history.Effect
	stepped  bool // it incremented or decremented a counter
	expired  bool // the lock's TTL ran out between the look before and the command
	compared bool // the command read or compared the lock before writing it; or read anything before writing the stock
}

// withEffects returns a copy of the command for each of its effects, with the effect's key. Only lock values seen so
// far are recognized in the arguments.
func (l *Looker) withEffects(cmd *Command, one *seen) (all []history.Command) {
	c := cmd.Traced()
	text := CommandText(cmd.Args, cmd.Queued)
	c.Source, c.Wire = history.Looked, &history.Carried{Text: text, Conn: cmd.Conn}
	if len(one.effects) == 0 {
		return []history.Command{c}
	}
	for _, e := range one.effects {
		c.Key, c.Effect = e.key, e.effect
		c.Wire = &history.Carried{Text: text, Conn: cmd.Conn, Named: l.named(e.key, cmd.Args), Compared: e.compared}
		had, has := l.valuesOf(e.key, one.before), l.valuesOf(e.key, one.after)
		if c.Wire.Is = digest(has...); !e.expired {
			c.Wire.Was = digest(had...)
		}
		all = append(all, c)
	}
	return all
}

// valuesOf returns the values of a lock in these key states: those in its companions, if it has any.
func (l *Looker) valuesOf(lock string, states map[Key]KeyState) (all []string) {
	for i := range l.locks {
		one := &l.locks[i]
		state, looked := states[one.Key]
		if !looked || one.String() != lock {
			continue
		}
		if len(one.Companions) == 0 || !one.Held(state) {
			return one.values(&state)
		}
		for j := range one.Companions {
			beside := states[one.Companions[j].Key]
			all = append(all, one.Companions[j].values(&beside)...)
		}
	}
	return all
}

// digest identifies values without revealing them; "" if there are none.
func digest(values ...string) string {
	if len(values) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// named returns the digests of the lock's past and present values that appear among a command's arguments, as they are
// or as the server digests them, or in its script's text. Short values in the text are ignored: they may be there by
// chance.
func (l *Looker) named(lock string, args []string) (all []string) {
	const short = 8
	isArgument := func(text string) bool { return slices.Contains(args[min(1, len(args)):], text) }
	for value := range l.values[lock] {
		inScript := len(value) >= short && isScriptCall(args) && len(args) > 1 && strings.Contains(args[1], value)
		if isArgument(value) || isArgument(digestOf(value)) || inScript {
			all = append(all, digest(value))
		}
	}
	slices.Sort(all)
	return all
}

// values returns what distinguishes one holder of a lock from another: the part's value if its name is fixed, else its
// name.
func (l *Lock) values(s *KeyState) (all []string) {
	for name, held := range l.holders(s) {
		if l.Parts == nil && s.Kind != "string" {
			all = append(all, name)
		} else {
			all = append(all, held.value)
		}
	}
	slices.Sort(all)
	return all
}

// An execution is a command that was carried out.
type execution struct {
	sent   []string
	reply  string // as in [Seen]
	failed bool
	exec   bool   // a transaction
	lines  []line // what the server did meanwhile, from MONITOR
}

func (l *Looker) effects(c *execution, before, after map[Key]KeyState) (all []keyEffect) {
	if effect := l.onStock(c, before, after); effect != history.EffectNothing {
		all = append(all, keyEffect{key: l.stock.Key, effect: effect, compared: l.table.readsBefore(c, l.stock.key())})
	}
	for i := range l.locks {
		lock := &l.locks[i]
		d := l.table.difference(c, lock, before[lock.Key], after[lock.Key])
		effect, stepped := d.effect()
		if effect == history.EffectTried && l.renames(lock, before, after) {
			effect = history.EffectNamed
		}
		if effect != history.EffectNothing {
			all = append(all, keyEffect{lock.String(), effect, stepped, d.expired, d.compared})
		}
	}
	return all
}

// renames reports whether a lock that is held after a command got another value in its companions.
func (l *Looker) renames(lock *Lock, before, after map[Key]KeyState) bool {
	return len(lock.Companions) > 0 && lock.Held(after[lock.Key]) &&
		!slices.Equal(l.valuesOf(lock.String(), before), l.valuesOf(lock.String(), after))
}

// readsBefore reports whether a command reads anything before it writes a key, or compares the key as it writes it.
func (t table) readsBefore(c *execution, key Key) bool {
	read := false
	for _, one := range c.lines {
		switch {
		case isScriptCall(one.args):
		case !t.has(one.args, "write"):
			read = true
		case key.isIn(t, &one):
			return read || conditionOf(one.args).isEqual()
		}
	}
	return false
}

// onStock returns the effect on the stock. A write may have left the number unchanged.
func (l *Looker) onStock(c *execution, before, after map[Key]KeyState) history.Effect {
	key := l.stock.key()
	wrote, read, compared := before[key].Parts[l.stock.Field] != after[key].Parts[l.stock.Field], false, false
	named := c.uses(l.table, key, key.isIn, before[key])
	for _, one := range named {
		wrote = wrote || one.writes && !l.stock.spares(one.args)
		read = read || l.stock.reads(one.args)
		compared = compared || conditionOf(one.args).isEqual()
	}
	switch {
	case wrote:
		return history.EffectWrote
	case (c.refused() || compared) && (read || len(named) == 0 && slices.Contains(l.table.keys(c.sent), key.Name)):
		return history.EffectRefused
	case read:
		return history.EffectRead
	}
	return history.EffectNothing
}

// isIn reports whether a line names the key.
func (k Key) isIn(t table, one *line) bool {
	return one.db == k.DB && slices.Contains(t.keys(one.args), k.Name)
}

// isIn reports whether a line names a key of the lock.
func (l *Lock) isIn(t table, one *line) bool {
	return l.Key.isIn(t, one) || slices.ContainsFunc(l.Companions, func(c Lock) bool { return c.Key.isIn(t, one) })
}

// on returns the lines that name a key, except script calls: the commands of a script have lines of their own.
func (c *execution) on(t table, isNamed func(table, *line) bool) (lines []line) {
	for _, one := range c.lines {
		if !isScriptCall(one.args) && isNamed(t, &one) {
			lines = append(lines, one)
		}
	}
	return lines
}

// mayWrite reports whether a line is a write that may have had an effect. Outside scripts and transactions its reply
// decides, else a condition on what it found.
func (c *execution) mayWrite(t table, one line, found *KeyState) bool {
	s, none, within := settingOf(one.args), c.reply == "(nil)", one.script || c.exec
	if !t.has(one.args, "write") || c.failed && !within {
		return false
	}
	held, known := c.held(&one, found)
	switch {
	case known:
		return held
	case within:
		return true
	case s.replies && none:
		return !s.ifThere
	case s.replies:
		return !s.ifAbsent
	}
	return !none
}

// A setting describes a SET, or a command like it.
type setting struct {
	key               bool // it sets a whole key, not a field
	ifAbsent, ifThere bool
	replies           bool // with the previous value
}

func settingOf(args []string) (s setting) {
	switch strings.ToLower(args[0]) {
	case "set":
		s.key = true
		for _, option := range args[min(3, len(args)):] {
			s.ifAbsent = s.ifAbsent || strings.EqualFold(option, "nx")
			s.ifThere = s.ifThere || strings.EqualFold(option, "xx")
			s.replies = s.replies || strings.EqualFold(option, "get")
		}
	case "setnx", "msetnx":
		return setting{key: true, ifAbsent: true}
	case "hsetnx":
		return setting{ifAbsent: true}
	case "getset":
		return setting{key: true, replies: true}
	case "setex", "psetex":
		return setting{key: true}
	}
	return s
}

// A difference is what a command did to a lock, according to two looks and MONITOR.
type difference struct {
	lock          *Lock
	before, after KeyState
	expired       bool     // it existed at the look before, and its TTL had run out when the command arrived
	touched       bool     // the server ran a command that names it
	wrote         bool     // such a command was a write that may have had an effect
	removed       bool     // such a command removed a key
	named         []string // the arguments of all writes
	again         bool     // it was removed and recreated
	over          bool     // it was set unconditionally
	read          bool     // a command read it
	compared      bool     // and a later one wrote it, or one compared it as it wrote it
}

// difference returns what a command did to a lock. The key may have expired since the look: its TTL and the server's
// clock decide.
func (t table) difference(c *execution, lock *Lock, before, after KeyState) *difference {
	d := &difference{lock: lock, before: before, after: after}
	for i, one := range c.uses(t, lock.Key, lock.isIn, before) {
		over := one.at.After(before.Ends.Add(rounding)) || one.own && c.foundNone(&one.line)
		if i == 0 && !before.Ends.IsZero() && over {
			d.before, d.expired = KeyState{Kind: "none"}, true
		}
		d.touched = !c.failedOn()
		if one.writes {
			d.compared = d.compared || d.read || conditionOf(one.args).isEqual()
			d.write(c, one.args)
		}
		d.read = d.read || !t.has(one.args, "write")
	}
	return d
}

// write notes a write of the lock's key. Two looks cannot show a SET of the same value, or a key that was removed and
// recreated.
func (d *difference) write(c *execution, args []string) {
	d.wrote, d.named = true, append(d.named, args[1:]...)
	if removes(args) {
		d.removed = !c.nothing()
	} else {
		d.again = d.again || d.removed
	}
	s := settingOf(args)
	d.over = d.over || s.key && !s.ifAbsent
}

// foundNone reports whether the reply to a single command shows that its key did not exist.
func (c *execution) foundNone(one *line) bool {
	s, own := settingOf(one.args), !one.script && !c.exec && !c.failed
	none := c.reply == "(nil)"
	return own && s.key && (s.replies && none || s.ifAbsent && !s.replies && !none && c.reply != "0")
}

// failedOn reports whether the command failed without any effect.
func (c *execution) failedOn() bool { return c.failed && c.refused() }

// effect returns the effect on the lock, and whether the command changed a counter of a lock that was held before and
// after. Whose lock it was is unknown.
func (d *difference) effect() (e history.Effect, stepped bool) {
	had, has := d.lock.holders(&d.before), d.lock.holders(&d.after)
	came, gone := missing(has, had), missing(had, has)
	switch {
	case !d.touched:
		return history.EffectNothing, false
	case !d.wrote, d.mayHaveExpired(had):
		return either(len(had) > 0, history.EffectTried, history.EffectNothing), false
	case came && stays(had, has):
		return d.withTTL(history.EffectAcquired | history.Beside), false
	case came:
		return d.withTTL(history.EffectAcquired), false
	case gone && !d.purged(had, has):
		return history.EffectReleased, false
	case len(had) == 0:
		more := d.lock.surplus(&d.after) > d.lock.surplus(&d.before)
		return either(more, history.EffectExcess, history.EffectNothing), false
	}
	return d.ofHolder(had, has)
}

// stays reports whether the two maps share a part.
func stays(parts, others map[string]part) bool {
	for name := range parts {
		if _, is := others[name]; is {
			return true
		}
	}
	return false
}

// mayHaveExpired reports whether the key was held, and its TTL had run out by the look after a command that removed no
// key.
func (d *difference) mayHaveExpired(had map[string]part) bool {
	return len(had) > 0 && !d.removed && !d.before.Ends.IsZero() && !d.after.Exists() &&
		!d.after.At.Before(d.before.Ends.Add(-rounding))
}

// nothing reports whether the reply to a single command shows that it found nothing to remove.
func (c *execution) nothing() bool { return !c.exec && !isScriptCall(c.sent) && c.reply == "0" }

func either(yes bool, one, other history.Effect) history.Effect {
	if yes {
		return one
	}
	return other
}

// missing reports whether any of these parts is absent from the others.
func missing(parts, others map[string]part) bool {
	for name := range parts {
		if _, is := others[name]; !is {
			return true
		}
	}
	return false
}

// ofHolder returns the effect on a lock that had the same holders before and after.
func (d *difference) ofHolder(had, has map[string]part) (e history.Effect, stepped bool) {
	changed, counted := false, false
	fixed := d.lock.Parts != nil || d.after.Kind == "string" // the part's name does not identify its holder
	for name, now := range has {
		changed = changed || had[name] != now
		counted = counted || d.after.Kind == "hash" && isStep(had[name], now) && !instants.MatchString(now.value)
		if fixed && isStep(had[name], now) {
			x, y := d.lock.Step(&d.before, name), d.lock.Step(&d.after, name)
			return either(x*x > y*y, history.EffectReleased, history.EffectTried), true
		}
	}
	switch {
	case changed && fixed && d.after.Kind != "zset", d.again:
		return d.withTTL(history.EffectAcquired), false
	case changed, d.hasOtherEnd(), d.over:
		return d.withTTL(history.EffectRenewed), counted // a reentrant lock counts how often its holder took it
	}
	return history.EffectTried, false
}

// purged reports whether only past deadlines were removed, and no command named them: waiters purge those when they
// poll.
func (d *difference) purged(had, has map[string]part) bool {
	if d.after.Kind != "zset" {
		return false
	}
	for name := range had {
		if _, stays := has[name]; !stays && slices.Contains(d.named, name) {
			return false
		}
	}
	return true
}

// isStep reports whether two values of a counter differ by one.
func isStep(was, now part) bool {
	x, err := strconv.ParseInt(was.value, 10, 64)
	y, err2 := strconv.ParseInt(now.value, 10, 64)
	return err == nil && err2 == nil && (x-y == 1 || y-x == 1)
}

func (d *difference) withTTL(e history.Effect) history.Effect {
	if d.after.Exists() && d.after.Ends.IsZero() || !d.after.Exists() && d.lock.Rest.Exists() {
		e |= history.Endless
	}
	return e
}

// rounding is how much later than reported a key may expire: both times are truncated to milliseconds.
const rounding = 2 * time.Millisecond

// hasOtherEnd reports whether the expiry changed. Before Redis 7, servers report it only to within a millisecond or
// two.
func (d *difference) hasOtherEnd() bool {
	return d.before.Ends.IsZero() != d.after.Ends.IsZero() || d.after.Ends.Sub(d.before.Ends).Abs() > rounding
}

// refused reports whether the server refused a command or aborted a transaction. A script that fails does not undo its
// writes.
func (c *execution) refused() bool {
	script := isScriptCall(c.sent) && (strings.HasPrefix(c.reply, "ERR ") || strings.Contains(c.reply, " script: "))
	return c.failed && !script && !strings.HasPrefix(c.reply, "NOSCRIPT") || c.exec && c.reply == "(nil)"
}

// A table is a server's reply to COMMAND.
type table map[string]*redis.CommandInfo

func (t table) has(args []string, flag string) bool {
	info := t.of(args)
	return info != nil && slices.Contains(info.Flags, flag)
}

func (t table) of(args []string) *redis.CommandInfo {
	if len(args) == 0 {
		return nil
	}
	return t[strings.ToLower(args[0])]
}

// keys returns the keys of a command, or all its arguments if the table does not show which are keys.
func (t table) keys(args []string) []string {
	info := t.of(args)
	switch {
	case info == nil:
		return nil
	case slices.Contains(info.Flags, "movablekeys"):
		return args[1:]
	}
	last := int(info.LastKeyPos)
	if last < 0 {
		last += len(args)
	}
	var keys []string
	for i := int(info.FirstKeyPos); i > 0 && i <= last && i < len(args); i += max(1, int(info.StepCount)) {
		keys = append(keys, args[i])
	}
	return keys
}

// isScriptCall reports whether a command calls a script or a function. MONITOR lists the commands within separately.
func isScriptCall(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"},
		strings.ToLower(args[0]))
}
