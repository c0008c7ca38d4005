package wire

import (
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
)

// A keyEffect is what a command did to one of the keys in play.
type keyEffect struct {
	key    string
	effect history.Effect
}

// withEffects returns a command once for each of the effects, with the key that it is on.
func withEffects(c history.Command, effects []keyEffect) (all []history.Command) {
	c.Source = history.Looked
	if len(effects) == 0 {
		return []history.Command{c}
	}
	for _, one := range effects {
		c.Key, c.Effect = one.key, one.effect
		all = append(all, c)
	}
	return all
}

// An execution is a command that was carried out.
type execution struct {
	sent   []string
	reply  string // as [Seen] has it
	failed bool
	exec   bool   // a transaction
	lines  []line // what the server did meanwhile, as MONITOR tells it
}

func (l *Looker) effects(c *execution, before, after map[string]look) (all []keyEffect) {
	for _, key := range l.keys {
		a := l.table.activityOn(c, key, before[key], after[key])
		effect := a.toStock()
		if l.roles[key] == RoleLock {
			effect = a.toLock()
		}
		if effect != history.EffectNothing {
			all = append(all, keyEffect{key, effect})
		}
	}
	return all
}

// An activity is what a command did to a key.
type activity struct {
	before, after look // before is that of no key, if the key had expired when the command came
	now           bool // the key is there by now

	named   bool // the server carried out something that names it
	scripts bool // for a script
	wrote   bool // something wrote it, whatever that changed
	touched bool // not only to remove something
	renewed bool // the key that was there, without a condition
	tried   bool // something would have made it, had it not been there
	made    bool // it was not there, or no longer
	removed bool // it was there
	dropped bool // somebody has it no more
	counted bool // a counter that was there goes on
	refused bool // the server answered with an error, and nothing was written
}

// activityOn goes through what the server did. Whether the key was there is decided by its TTL and the server's clock: it
// may have expired since the look.
func (t table) activityOn(c *execution, key string, before, after look) *activity {
	a := &activity{before: before, after: after}
	for _, one := range c.lines {
		if isScriptCall(one.args) || !slices.Contains(t.keys(one.args), key) {
			continue
		}
		if !a.named && !before.ends.IsZero() && one.at.After(before.ends.Add(rounding)) {
			a.before = look{kind: "none"}
		}
		if !a.named {
			a.named, a.now = true, a.before.exists()
		}
		a.scripts = a.scripts || one.script
		if w := c.answered(t.write(one.args), one); !w.counts || one.script || !a.count(c) {
			a.add(w, one.args)
		}
	}
	a.refused = !a.wrote && (a.named || slices.Contains(t.keys(c.sent), key)) && c.refused()
	return a
}

// count adds a command that counts on, and reports whether it has found a counter. Whoever makes the counter has the
// lock, and who finds it has counted in vain.
func (a *activity) count(c *execution) (found bool) {
	if !c.exec && c.reply == "1" { // the one before had expired
		a.now = false
	}
	if a.now {
		a.wrote, a.tried, a.counted = true, true, true
	}
	return a.now
}

// answered corrects a write by the reply, if that is the command's own, and not a script's or a transaction's.
func (c *execution) answered(w write, of line) write {
	switch {
	case of.script, c.exec:
	case c.failed:
		return write{}
	case w.mayFail && (c.reply == "0" || c.reply == "(nil)"):
		w.writes = false
	}
	return w
}

// add adds a write.
func (a *activity) add(w write, args []string) {
	works := w.works(a.now)
	a.wrote = a.wrote || works
	switch {
	case !works:
		a.tried = a.tried || w.absent && a.now
	case w.removes:
		a.removed = a.removed || a.now && !a.made
		a.now, a.made = false, false
	case w.shrinks:
		a.dropped = a.dropped || slices.ContainsFunc(args[2:], a.lost)
	default:
		a.touched, a.made = true, a.made || !a.now
		a.renewed = a.renewed || a.now && !w.depends
		a.now = true
	}
}

// lost reports whether an owner had the key, and has it no more.
func (a *activity) lost(owner string) bool {
	return slices.Contains(a.before.owners, owner) && !slices.Contains(a.after.owners, owner)
}

// added counts the owners that had not had the key before.
func (a *activity) added() (n int) {
	if a.counted {
		return 0
	}
	for _, owner := range a.after.owners {
		if !slices.Contains(a.before.owners, owner) {
			n++
		}
	}
	return n
}

// toStock tells the effect on a stock.
func (a *activity) toStock() history.Effect {
	switch {
	case a.wrote:
		return history.EffectWrote
	case a.refused:
		return history.EffectRefused
	case a.named:
		return history.EffectRead
	}
	return history.EffectNothing
}

// toLock tells the effect on a lock. A new owner shows that a command worked: what a script called has no reply, and a
// key may expire some milliseconds before its TTL seems to be over.
func (a *activity) toLock() history.Effect {
	switch added := a.added(); {
	case !a.named:
		return history.EffectNothing
	case added > 0 && added < len(a.after.owners):
		return a.withTTL(history.EffectAcquired | history.Beside)
	case a.made, added > 0:
		return a.withTTL(history.EffectAcquired)
	case a.removed, a.dropped, a.touched && a.before.exists() && !a.after.exists():
		return history.EffectReleased
	case a.renewed, a.touched && a.changed():
		return a.withTTL(history.EffectRenewed)
	case a.before.exists() && (a.tried || a.scripts):
		return history.EffectTried
	}
	return history.EffectNothing
}

func (a *activity) withTTL(e history.Effect) history.Effect {
	if a.after.exists() && a.after.ends.IsZero() {
		e |= history.Endless
	}
	return e
}

// rounding is how much later than a look tells a key may expire: both times are cut off at milliseconds.
const rounding = 2 * time.Millisecond

// changed reports whether the key is another one than before, or has another end. Its end is known to some ms.
func (a *activity) changed() bool {
	return a.before.digest != a.after.digest || a.before.ends.IsZero() != a.after.ends.IsZero() ||
		a.after.ends.Sub(a.before.ends).Abs() > rounding
}

// refused reports whether the server refused a command, or aborted a transaction. A script that fails keeps what it has
// done before.
func (c *execution) refused() bool {
	script := isScriptCall(c.sent) && (strings.HasPrefix(c.reply, "ERR ") || strings.Contains(c.reply, " script: "))
	return c.failed && !script && !strings.HasPrefix(c.reply, "NOSCRIPT") || c.exec && c.reply == "(nil)"
}

// A table is what a server tells of its commands.
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

// blocks reports whether a command may wait at the server.
func (t table) blocks(args []string) bool { return t.has(args, "blocking") }

// keys returns the keys of a command; or all its arguments, if the table does not tell which are keys.
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

// A write is what a command does to a key.
type write struct {
	writes  bool // Redis calls it a write
	absent  bool // only if there is no key
	present bool // only if there is one
	removes bool // the whole key
	shrinks bool // removes a part
	counts  bool // one more
	depends bool // on what the key has, whether it changes anything
	mayFail bool // it did nothing if it is answered with 0 or nil
}

// works reports whether a command does something to a key that is there, or that is not.
func (w *write) works(there bool) bool {
	if there {
		return w.writes && !w.absent
	}
	return w.writes && !w.present
}

// write tells what a command does to its keys.
func (t table) write(args []string) write {
	w := write{writes: t.has(args, "write")}
	has := func(option string) bool {
		return slices.ContainsFunc(args[2:], func(arg string) bool { return strings.EqualFold(arg, option) })
	}
	switch strings.ToLower(args[0]) {
	case "set":
		args = args[min(1, len(args)-2):] // the value is no option
		w.absent, w.present, w.mayFail = has("nx"), has("xx"), !has("get")
	case "setnx":
		w.absent, w.mayFail = true, true
	case "incr", "incrby":
		w.counts = true
	case "hsetnx":
		w.depends, w.mayFail = true, true
	case "zadd":
		w.present, w.depends = has("xx"), true
	case "del", "unlink", "getdel":
		w.removes, w.mayFail = true, true
	case "expire", "pexpire", "expireat", "pexpireat", "persist":
		w.present, w.depends, w.mayFail = true, len(args) > 3, true
	case "hdel", "zrem", "srem", "lrem":
		w.shrinks, w.present, w.mayFail = true, true, true
	case "lpop", "rpop", "spop", "ltrim", "zpopmin", "zpopmax", "zremrangebyscore", "zremrangebyrank", "zremrangebylex":
		w.shrinks, w.present = true, true
	}
	return w
}

// isScriptCall reports whether a command is the call of a script or of a function: what that does has lines of its own.
func isScriptCall(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"},
		strings.ToLower(args[0]))
}
