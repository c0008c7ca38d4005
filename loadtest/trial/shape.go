package trial

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A Shape is what the commands of different orders in the same place of a sale have in common.
type Shape struct {
	Verb      string // the name of the command, in lower case; "eval" for every script
	Script    string // the digest of a script, unless its text differs in every order, or the name of a function
	Condition string // of a write, as in SET IFEQ: a renewal differs by it from an acquire
	On        Role   // that of the command's first key
}

// Shapes is a set of shapes.
type Shapes map[Shape]bool

// A Role is what a key is in a sale; "": anything else.
type Role string

// The roles of keys.
const (
	Stock      Role = "stock"
	Lock       Role = "lock"
	BesideLock Role = "beside lock" // a companion of the lock
)

// IsOnLock reports whether a command is on the lock, or on a companion of it.
func (s Shape) IsOnLock() bool { return s.On == Lock || s.On == BesideLock }

// shapeOf returns the shape of a command in a shop whose stock is on that shelf.
func (p *Passport) shapeOf(s *wire.Seen, shelf wire.Shelf) Shape {
	shape := Shape{Verb: s.Name, Condition: wire.Condition(s.Args)}
	switch {
	case len(s.Args) < 2:
	case s.Name == "fcall":
		shape.Script = s.Args[1]
	case s.Name == "eval":
		if of := digest(s.Args); p.ours == nil || p.ours[of] {
			shape.Script = of
		}
	}
	switch on := s.On(); {
	case on == shelf.Key && !shelf.Elsewhere(s.Args):
		shape.On = Stock
	case p.onLock(on):
		shape.On = Lock
	case p.besideLock(on):
		shape.On = BesideLock
	}
	return shape
}

// digest returns the digest of the script that an EVAL or EVALSHA runs.
func digest(args []string) string {
	if strings.EqualFold(args[0], "evalsha") {
		return strings.ToLower(args[1])
	}
	sum := sha1.Sum([]byte(args[1]))
	return hex.EncodeToString(sum[:])
}

// usual returns the effects that commands of that shape have in plain sales.
func (p *Passport) usual(shape Shape) (e history.Effect) {
	for _, one := range []struct {
		of Shapes
		e  history.Effect
	}{{p.acquires, history.EffectAcquired}, {p.releases, history.EffectReleased}, {p.renewals, history.EffectRenewed},
		{p.writes, history.EffectWrote}} {
		if one.of[shape] {
			e |= one.e
		}
	}
	return e
}
