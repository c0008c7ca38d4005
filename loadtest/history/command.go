package history

import (
	"regexp"
	"strconv"
	"strings"
)

// effect returns the effect of the command: the observed [Effect] if its source is [Looked], else the one that its
// name, reply and error imply. A command without a reply is not done. An unobserved SET may be an acquire or a write of
// the stock: it has the flags of both if its key is named like a stock.
func (c *Command) effect() Effect {
	if c.Source == Looked {
		return c.Effect
	}
	e := c.named()
	switch {
	case c.Source == ReplyLost:
		return e
	case c.Err != "":
		return e | refused
	}
	if c.succeeded() {
		e |= done
	}
	if e.has(writes) && c.answeredWrite() {
		e |= wrote
	}
	return e
}

// named returns the effect of a command by its name, as docs/contract.md defines the names.
func (c *Command) named() Effect {
	e, known := ofLock[c.Cmd]
	if !known {
		e = ofScript(c.Cmd)
	}
	if c.Cmd == permit && c.Reply != "1" { // the reply of a semaphore is the number of its holders
		e |= Beside
	}
	if on := ofStock[c.Cmd]; on != EffectNothing && c.onStock() {
		e |= on
	}
	return e
}

const permit = "eval:acquire-permit"

var (
	// ofLock are the commands on a lock. A reader may hold it beside others.
	ofLock = map[string]Effect{
		"set": acquires, "setnx": acquires | Endless, "zk:create": acquires, "sql:acquire": acquires,
		"eval:acquire-read": acquires | Beside,
		"expire":            renews, "pexpire": renews, "sql:renew": renews | owned,
		"del": releases, "unlink": releases, "getdel": releases, "delex": releases, "delifeq": releases,
		"zk:delete": releases, "sql:release": releases,
	}
	// ofStock are the commands on a key that is named like a stock.
	ofStock = map[string]Effect{
		"get": reads, "hget": reads, "hmget": reads, "hgetall": reads, "watch": reads, "eval:read": reads,
		"set": writes, "eval:write": writes, "eval:take": writes, "decr": writes, "decrby": writes, "incrby": writes,
	}
)

// ofScript returns the effect on a lock of a script of this name.
func ofScript(name string) Effect {
	switch {
	case strings.HasPrefix(name, "eval:acquire"):
		return acquires
	case strings.HasPrefix(name, "eval:renew"):
		return renews | owned
	case strings.HasPrefix(name, "eval:release"):
		return releases
	}
	return EffectNothing
}

// succeeded reports whether the reply is one of success: OK, true, or a positive number. GETDEL replies with the value
// that it removed.
func (c *Command) succeeded() bool {
	if c.Cmd == "getdel" {
		return c.Reply != "" && c.Reply != "nil"
	}
	switch strings.ToLower(c.Reply) {
	case "ok", "true":
		return true
	}
	n, err := strconv.ParseInt(c.Reply, 10, 64)
	return err == nil && n > 0
}

// answeredWrite reports whether a write took effect, by its reply. The reply of a script that takes units begins with 0
// if there were too few; a SET whose reply is not one of success wrote nothing.
func (c *Command) answeredWrite() bool {
	if strings.HasPrefix(c.Reply, "[0") {
		return false
	}
	return c.Cmd != "set" && c.Cmd != "eval:write" || c.Reply == "" || c.succeeded()
}

// Acquires reports whether the command acquires a lock if it is free. A SET may also be a write of the stock: see
// [Command.WritesStock].
func (c *Command) Acquires() bool { return c.effect().has(acquires) }

// AcquiresAlone reports whether success of this acquire proves that no other order held the lock.
func (c *Command) AcquiresAlone() bool {
	e := c.effect()
	return e.has(acquires) && !e.has(Beside)
}

// Endless reports whether the command, if it succeeds, leaves the lock without a TTL.
func (c *Command) Endless() bool { return c.effect().has(Endless) }

// Renews reports whether the command renews a lock only if it is the sender's, or makes it the sender's. An observed
// effect does not show whose the lock was.
func (c *Command) Renews() bool { return c.effect().has(owned) }

// Prolongs reports whether the command gives a lock a new expiry, whichever order holds it: success shows only that the
// lock was there.
func (c *Command) Prolongs() bool { return c.effect().has(renews) }

// Names reports whether the command changes the name of a lock's holder, in a key beside the lock.
func (c *Command) Names() bool { return c.effect().has(names) }

// Releases reports whether the command removes a lock.
func (c *Command) Releases() bool { return c.effect().has(releases) }

// GivesTooMuch reports whether the command gave back a place in a lock that was free.
func (c *Command) GivesTooMuch() bool { return c.effect().has(excess) }

// Refused reports whether the server replied with an error and did nothing.
func (c *Command) Refused() bool { return c.effect().has(refused) }

// Lost reports whether the reply was lost and the effect not observed: the command may take effect at any later time.
func (c *Command) Lost() bool { return c.Source == ReplyLost }

// Succeeded reports whether the command is known to have taken effect. Without a reply it is not, unless observed.
func (c *Command) Succeeded() bool { return c.effect().has(done) }

// RefusedByStock reports whether the stock refused the write: the fencing token was stale, or the stock had changed
// since it was read.
func (c *Command) RefusedByStock() bool { return c.WritesStock() && c.Refused() && !c.UnknownScript() }

// ReadsStock reports whether the command reads the stock of a product.
func (c *Command) ReadsStock() bool { return c.effect().has(reads) }

// WritesStock reports whether the command writes the stock of a product.
func (c *Command) WritesStock() bool { return c.effect().has(writes) }

// Wrote reports whether the command wrote the stock.
func (c *Command) Wrote() bool { return c.effect().has(wrote) && c.End.Known() }

func (c *Command) onStock() bool { return strings.Contains(strings.ToLower(c.Key), "stock") }

// serverSays matches an error reply of Redis, such as "STALE a newer token has been seen", and no network error.
var serverSays = regexp.MustCompile(`^[A-Z]+ `)

// StockChanged is the error of a transaction that wrote nothing, since the stock had changed after it was read.
const StockChanged = "redis: transaction failed"

// SourceOf returns the source of a command's effect, given its sender's error, "" for none: [Told] if the server
// replied, else [ReplyLost]. An ERR of a script, or an error of a command in one, counts as no reply: Redis keeps
// the effects that the script had before.
func SourceOf(cmd, err string) Source {
	half := strings.HasPrefix(cmd, "eval") && (strings.HasPrefix(err, "ERR ") || strings.Contains(err, " script: "))
	if err == "" || err == StockChanged || serverSays.MatchString(err) && !half {
		return Told
	}
	return ReplyLost
}

// OnLock reports whether the command acquires, renews or removes a lock.
func (c *Command) OnLock() bool {
	return !c.WritesStock() && !c.onPlace() && (c.Acquires() || c.Prolongs() || c.Releases())
}

// onPlace reports whether the command is on a place in a queue: a sequential znode of ZooKeeper, to whose name the
// server appended ten digits. An order with a place may still wait for the lock.
func (c *Command) onPlace() bool {
	const digits = 10
	if !strings.HasPrefix(c.Cmd, "zk:") || len(c.Key) < digits {
		return false
	}
	return strings.Trim(c.Key[len(c.Key)-digits:], "0123456789") == ""
}

// Fault reports whether this is no command but a note that a fault was injected.
func (c *Command) Fault() bool { return c.Cmd == "fault" }

// Cut reports whether this is no command but a note that the commands after it were not kept.
func (c *Command) Cut() bool { return c.Cmd == cut }

// Woken reports whether this is no command but a note that the order, which waited for the lock, was woken.
func (c *Command) Woken() bool { return c.Cmd == "woken" }

// Ended reports whether this is no command but a note that the server had ended the order's lock by then.
func (c *Command) Ended() bool { return c.Cmd == EndedLock }

// EndedLock is the name of the note that [Command.Ended] reports. Its node and key are those of the lock.
const EndedLock = "ended"

// The replies of such a note.
const (
	LeaseOver   = "lease over"        // the lease was made to expire early
	LockRemoved = "removed"           // by the trial
	LocksLost   = "lost in a restart" // of the server
	LockSwept   = "swept"             // by a command outside any order; there is no such note, only the command
)

// UnknownScript reports whether the server did not know the script; the client then sends it in full.
func (c *Command) UnknownScript() bool { return strings.HasPrefix(c.Err, "NOSCRIPT") }
