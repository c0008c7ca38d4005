package history

// Carried holds the facts that a wire records of a command.
type Carried struct {
	// Text is the command as it was sent, without the most of what is long.
	Text string `json:"text,omitempty"`
	// Came is when the command arrived at the wire, and Heard when its client was sent the reply. The time between Came
	// and the command's At is that for which a fault held it.
	Came  Instant `json:"came"`
	Heard Instant `json:"heard"`
	// Conn is its connection, by number.
	Conn int `json:"conn,omitempty"`
	// Usual combines the effects of such commands in plain sales.
	Usual Effect `json:"usual,omitempty"`
	// Was and Is are digests of what the lock held before the command and after it, "" if it was free. Named are digests
	// of those values of the lock that its arguments name, or the text of its script.
	Was   string   `json:"was,omitempty"`
	Is    string   `json:"is,omitempty"`
	Named []string `json:"named,omitempty"`
	// Compared means that the command read the lock before it wrote it, in one step; or anything, before it wrote the
	// stock.
	Compared bool `json:"compared,omitempty"`
}

// Came returns when a wire got the command, or when it was sent on if no wire carried it.
func (c *Command) Came() Instant {
	if c.Wire == nil {
		return c.At
	}
	return c.Wire.Came
}

// Heard returns when its client had the reply, [Never] if that was lost.
func (c *Command) Heard() Instant {
	if c.Wire == nil {
		return c.End
	}
	return c.Wire.Heard
}

// Usually reports whether commands like this one have that effect in plain sales.
func (c *Command) Usually(e Effect) bool { return c.Wire != nil && c.Wire.Usual&e == e }
