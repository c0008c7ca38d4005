package history

import "time"

// Carried holds the facts that a wire records of a command.
type Carried struct {
	// Text is the command as it was sent, with long arguments shortened.
	Text string `json:"text,omitempty"`
	// Came is when the command arrived at the proxy, and Heard when the reply was sent to its client. Between Came and the
	// command's At it was held by a fault.
	Came  Instant `json:"came"`
	Heard Instant `json:"heard"`
	// Background means that no order sent it, but a thread of the shop's own.
	Background bool `json:"background,omitempty"`
	// Conn is its connection, by number.
	Conn int `json:"conn,omitempty"`
	// Usual combines the effects that such commands have in plain sales.
	Usual Effect `json:"usual,omitempty"`
	// Was and Is are digests of the lock's value before and after the command, "" if it was free. Named are digests of
	// those values of the lock that its arguments, or the text of its script, name.
	Was   string   `json:"was,omitempty"`
	Is    string   `json:"is,omitempty"`
	Named []string `json:"named,omitempty"`
	// Compared means that the command atomically read the lock before it wrote it, or read anything before it wrote the
	// stock.
	Compared bool `json:"compared,omitempty"`
	// Granted means that it is like the acquires of plain sales, and got the reply that they get when they succeed.
	Granted bool `json:"granted,omitempty"`
	// Lease is how long the lock had to live after the command, if not as long as usual: its shop draws the TTL, or rounds
	// a time.
	Lease time.Duration `json:"lease,omitempty"`
}

// Came returns when the command arrived at the proxy, or when it was sent if no proxy carried it.
func (c *Command) Came() Instant {
	if c.Wire == nil {
		return c.At
	}
	return c.Wire.Came
}

// Heard returns when its client received the reply, [Never] if it was lost.
func (c *Command) Heard() Instant {
	if c.Wire == nil {
		return c.End
	}
	return c.Wire.Heard
}

// Gives returns the digest of the lock's value after the command, "" if it was free, or that is unknown.
func (c *Command) Gives() string {
	if c.Wire == nil {
		return ""
	}
	return c.Wire.Is
}

// Lease returns how long the lock had to live after the command, 0 if as long as usual, or if that is unknown.
func (c *Command) Lease() time.Duration {
	if c.Wire == nil {
		return 0
	}
	return c.Wire.Lease
}

// Usually reports whether commands like this one have this effect in plain sales.
func (c *Command) Usually(e Effect) bool { return c.Wire != nil && c.Wire.Usual&e == e }

// RenewsOnly reports whether commands like this one renew the lock in plain sales, and do not acquire it.
func (c *Command) RenewsOnly() bool { return c.Usually(EffectRenewed) && !c.Usually(EffectAcquired) }
