package history

import (
	"regexp"
	"strconv"
	"strings"
)

// effect returns what the command did: its [Effect] where somebody looked, or else what its name, reply and error say.
// A command without a reply is not done. A SET that nobody saw may be an acquire or a write of the stock: it has the
// flags of both if its key is called like a stock.
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

// named returns what a command of this name does, by the names that docs/contract.md defines.
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
	// ofLock are the commands that a lock is made of. A reader may come in beside others.
	ofLock = map[string]Effect{
		"set": acquires, "setnx": acquires | Endless, "zk:create": acquires, "sql:acquire": acquires,
		"eval:acquire-read": acquires | Beside,
		"expire":            renews, "pexpire": renews, "sql:renew": renews | owned,
		"del": releases, "unlink": releases, "getdel": releases, "zk:delete": releases, "sql:release": releases,
	}
	// ofStock are the commands on a key that is called like a stock.
	ofStock = map[string]Effect{
		"get": reads, "hget": reads, "hmget": reads, "hgetall": reads, "watch": reads, "eval:read": reads,
		"set": writes, "eval:write": writes, "eval:take": writes, "decr": writes, "decrby": writes, "incrby": writes,
	}
)

// ofScript returns what a script of that name does to a lock.
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

// succeeded reports whether the reply says that it was done: OK, true, or a positive number. GETDEL replies with what
// it removed.
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

// answeredWrite reports whether a write was carried out, by its reply. That of a script that takes what it finds begins
// with 0 if that was not enough; a SET that is answered with anything but success wrote nothing.
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

// Renews reports whether the command prolongs a lock if it is the sender's, or makes it so. A look does not show whose
// the lock was.
func (c *Command) Renews() bool { return c.effect().has(owned) }

// Prolongs reports whether the command gives a lock a new expiry, whoever holds it: success shows only that the lock
// was there.
func (c *Command) Prolongs() bool { return c.effect().has(renews) }

// Releases reports whether the command removes a lock.
func (c *Command) Releases() bool { return c.effect().has(releases) }

// Refused reports whether the server replied with an error instead of doing it.
func (c *Command) Refused() bool { return c.effect().has(refused) }

// Lost reports whether no reply came, and nobody looked: it may have been done, or may yet be.
func (c *Command) Lost() bool { return c.Source == ReplyLost }

// Succeeded reports whether it was done. A command without a reply is not known to have been.
func (c *Command) Succeeded() bool { return c.effect().has(done) }

// RefusedByStock reports whether the stock refused to be written: the fencing token was too old, or the stock had
// changed since it was read.
func (c *Command) RefusedByStock() bool { return c.WritesStock() && c.Refused() && !c.UnknownScript() }

// ReadsStock reports whether the command reads the stock of a product.
func (c *Command) ReadsStock() bool { return c.effect().has(reads) }

// WritesStock reports whether the command writes the stock of a product.
func (c *Command) WritesStock() bool { return c.effect().has(writes) }

// Wrote reports whether the command wrote the stock.
func (c *Command) Wrote() bool { return c.effect().has(wrote) && c.End.Known() }

func (c *Command) onStock() bool { return strings.Contains(strings.ToLower(c.Key), "stock") }

// serverSays matches an error that a Redis replied with, such as "STALE a newer token has been seen", and not one of
// the network.
var serverSays = regexp.MustCompile(`^[A-Z]+ `)

// StockChanged is the error of a transaction that wrote nothing, as the stock had changed after it was read.
const StockChanged = "redis: transaction failed"

// SourceOf returns how it is known what a command did whose sender got that error, "" for none: [Told] if the server
// replied, and else [ReplyLost]. An ERR of a script, or an error of a command in one, is as good as no reply: Redis
// keeps what the script has done before.
func SourceOf(cmd, err string) Source {
	half := strings.HasPrefix(cmd, "eval") && (strings.HasPrefix(err, "ERR ") || strings.Contains(err, " script: "))
	if err == "" || err == StockChanged || serverSays.MatchString(err) && !half {
		return Told
	}
	return ReplyLost
}

// OnLock reports whether the command takes, prolongs or removes a lock.
func (c *Command) OnLock() bool {
	return !c.WritesStock() && !c.onPlace() && (c.Acquires() || c.Prolongs() || c.Releases())
}

// onPlace reports whether the command is about a place in a queue: a sequential node of ZooKeeper's, at the end of
// whose name the server put ten digits. An order that has a place may still wait for the lock.
func (c *Command) onPlace() bool {
	const digits = 10
	if !strings.HasPrefix(c.Cmd, "zk:") || len(c.Key) < digits {
		return false
	}
	return strings.Trim(c.Key[len(c.Key)-digits:], "0123456789") == ""
}

// Fault reports whether this is no command but a note: a fault that was injected at that moment.
func (c *Command) Fault() bool { return c.Cmd == "fault" }

// Cut reports whether this is no command but a note: more commands came after it than were kept.
func (c *Command) Cut() bool { return c.Cmd == cut }

// Woken reports whether this is no command but a note: the order, which waited for the lock, was woken.
func (c *Command) Woken() bool { return c.Cmd == "woken" }

// Ended reports whether this is no command but a note: by then the server had ended the order's lock.
func (c *Command) Ended() bool { return c.Cmd == EndedLock }

// EndedLock is the name of the note that [Command.Ended] reports. Its node and key are those of the lock.
const EndedLock = "ended"

// LeaseOver is the reply of such a note if it was the lease that ended, as somebody had it end before its time.
const LeaseOver = "lease over"

// UnknownScript reports whether the server did not know the script yet. The client then sends it in full.
func (c *Command) UnknownScript() bool { return strings.HasPrefix(c.Err, "NOSCRIPT") }
