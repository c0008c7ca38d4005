package sale

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

// IsOnLock reports whether a command is on the lock, or on a companion of it.
func (s Shape) IsOnLock() bool { return s.On == Lock || s.On == BesideLock }

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

// ShapeOf returns the shape of a command in a shop whose stock is on that shelf.
func (p *Passport) ShapeOf(s *wire.Seen, shelf wire.Shelf) Shape {
	shape := Shape{Verb: s.Name, Condition: wire.Condition(s.Args)}
	switch {
	case len(s.Args) < 2:
	case s.Name == "fcall":
		shape.Script = s.Args[1]
	case s.Name == "eval":
		if of := Digest(s.Args); p.Ours == nil || p.Ours[of] {
			shape.Script = of
		}
	}
	switch on := s.On(); {
	case on == shelf.Key && !shelf.Elsewhere(s.Args):
		shape.On = Stock
	case p.OnLock(on):
		shape.On = Lock
	case p.besideLock(on):
		shape.On = BesideLock
	}
	return shape
}

// Usual returns the effects that commands of that shape have in plain sales.
func (p *Passport) Usual(shape Shape) (e history.Effect) {
	for _, one := range []struct {
		of Shapes
		e  history.Effect
	}{{p.Acquires, history.EffectAcquired}, {p.Releases, history.EffectReleased}, {p.Renewals, history.EffectRenewed},
		{p.Writes, history.EffectWrote}} {
		if one.of[shape] {
			e |= one.e
		}
	}
	return e
}

// A Kind is what late commands of different orders have in common: the name, the digest of the script and the first
// key.
type Kind struct{ Verb, Script, Key string }

// KindOf returns the kind of a late command.
func KindOf(s *wire.Seen) Kind {
	kind := Kind{Verb: s.Name, Key: s.On()}
	if s.Name == "eval" && len(s.Args) > 1 {
		kind.Script = Digest(s.Args)
	}
	return kind
}

// Digest returns the digest of the script that an EVAL or EVALSHA runs.
func Digest(args []string) string {
	if strings.EqualFold(args[0], "evalsha") {
		return strings.ToLower(args[1])
	}
	sum := sha1.Sum([]byte(args[1]))
	return hex.EncodeToString(sum[:])
}

// IsScript reports whether a command of that name runs a script or a function.
func IsScript(verb string) bool {
	verb = strings.ToLower(verb)
	return strings.HasPrefix(verb, "eval") || strings.HasPrefix(verb, "fcall")
}
