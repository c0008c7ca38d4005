package history

import (
	"regexp"
	"strconv"
	"strings"
)

// What a command does goes by its [Effect] where somebody looked, or else by its name, as docs/contract.md tells it to
// those who write a service of their own.

// Acquires reports whether the command takes a lock if nobody has it. A SET may also be a write of the stock: see
// [Command.WritesStock].
func (c *Command) Acquires() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectAcquired) || c.Effect.is(EffectTried)
	}
	switch c.Cmd {
	case "set", "setnx", "zk:create", "sql:acquire":
		return true
	}
	return strings.HasPrefix(c.Cmd, "eval:acquire")
}

// AcquiresAlone reports whether success of this acquire proves that nobody else had the lock. A semaphore's acquire
// answers with the number of its holders, and a reader may come in beside others.
func (c *Command) AcquiresAlone() bool {
	if c.Effect != "" {
		return c.Acquires() && !c.Effect.has(Beside)
	}
	switch c.Cmd {
	case "eval:acquire-permit":
		return c.Reply == "1"
	case "eval:acquire-read":
		return false
	}
	return c.Acquires()
}

// Endless reports whether the command, if it succeeds, leaves the lock without a TTL.
func (c *Command) Endless() bool {
	return c.Effect.has(Endless) || c.Effect == "" && c.Cmd == "setnx"
}

// Renews reports whether the command prolongs a lock if it is the sender's, or makes it so. The effect of a renewal
// does not tell whose the lock was.
func (c *Command) Renews() bool {
	if c.Effect != "" {
		return false
	}
	return strings.HasPrefix(c.Cmd, "eval:renew") || c.Cmd == "sql:renew"
}

// Prolongs reports whether the command gives a lock a new end, whoever has it: success shows only that the lock was
// there.
func (c *Command) Prolongs() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectRenewed)
	}
	return c.Renews() || c.Cmd == "expire" || c.Cmd == "pexpire"
}

// Releases reports whether the command removes a lock.
func (c *Command) Releases() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectReleased)
	}
	switch c.Cmd {
	case "del", "unlink", "getdel", "zk:delete", "sql:release":
		return true
	}
	return strings.HasPrefix(c.Cmd, "eval:release")
}

// serverSays matches an error that a Redis replied with, such as "STALE a newer token has been seen", and not one of
// the network.
var serverSays = regexp.MustCompile(`^[A-Z]+ `)

// Refused reports whether the server replied with an error instead of doing it. An ERR of a script, or an error of a
// command in one, is no refusal: Redis keeps what the script has done before.
func (c *Command) Refused() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectRefused)
	}
	if strings.HasPrefix(c.Cmd, "eval") && (strings.HasPrefix(c.Err, "ERR ") || strings.Contains(c.Err, " script: ")) {
		return false
	}
	return c.Err == StockChanged || serverSays.MatchString(c.Err)
}

// StockChanged is the error of a transaction that wrote nothing, as the stock had changed after it was read.
const StockChanged = "redis: transaction failed"

// Lost reports whether no reply came, and nobody looked: it may have been done, or may yet be.
func (c *Command) Lost() bool { return c.Effect == "" && c.Err != "" && !c.Refused() }

// Succeeded reports whether it was done, by its effect, or as the reply says: OK, true, or a positive number. GETDEL
// replies with what it removed.
func (c *Command) Succeeded() bool {
	if c.Effect != "" {
		return c.Effect.done()
	}
	if c.Err != "" {
		return false
	}
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

// RefusedByStock reports whether the stock refused to be written: the fencing token was too old, or the stock had
// changed since it was read.
func (c *Command) RefusedByStock() bool { return c.WritesStock() && c.Refused() && !c.UnknownScript() }

// ReadsStock reports whether the command reads the stock of a product.
func (c *Command) ReadsStock() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectRead)
	}
	switch c.Cmd {
	case "get", "hget", "hmget", "hgetall", "watch", "eval:read":
		return c.onStock()
	}
	return false
}

// WritesStock reports whether the command writes the stock of a product.
func (c *Command) WritesStock() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectWrote) || c.Effect.is(EffectRefused)
	}
	switch c.Cmd {
	case "set", "eval:write", "eval:take", "decr", "decrby", "incrby":
		return c.onStock()
	}
	return false
}

// Wrote reports whether the command wrote the stock, by its effect or its reply. The reply of a script that takes what
// it finds begins with 0 if that was not enough; a SET that is answered with anything but success wrote nothing.
func (c *Command) Wrote() bool {
	if c.Effect != "" {
		return c.Effect.is(EffectWrote) && c.End.Known()
	}
	if !c.WritesStock() || !c.End.Known() || c.Err != "" || strings.HasPrefix(c.Reply, "[0") {
		return false
	}
	return c.Cmd != "set" && c.Cmd != "eval:write" || c.Reply == "" || c.Succeeded()
}

func (c *Command) onStock() bool { return strings.Contains(strings.ToLower(c.Key), "stock") }

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

// UnknownScript reports whether the server did not know the script yet. The client then sends it in full.
func (c *Command) UnknownScript() bool { return strings.HasPrefix(c.Err, "NOSCRIPT") }
