package trial

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A Passport tells what the lock of a shop is, as its commands have shown.
type Passport struct {
	Locks    []string      `json:"locks"`          // the keys within which each sale lay
	Kind     string        `json:"kind,omitempty"` // string, hash, zset …
	Acquire  string        `json:"acquire,omitempty"`
	TTL      time.Duration `json:"ttl"`       // 0: it has none
	TTLLater bool          `json:"ttl_later"` // a second command sets it
	InValue  time.Duration `json:"in_value"`  // a lease whose end is the value or the score of the lock; 0: it is not
	Token    bool          `json:"token"`     // the lock has a new value each time
	Name     bool          `json:"name"`      // each instance has a value of its own
	Release  string        `json:"release,omitempty"`
	Early    bool          `json:"released_early"` // the stock is written after the release
	Every    time.Duration `json:"renewed_every"`  // 0: it is not renewed
	Waiting  string        `json:"waiting,omitempty"`
	Fence    bool          `json:"fence"`           // a number that grew with every sale went along with the write
	Patience time.Duration `json:"patience"`        // until the client gives up on a reply; 0: longer than a lease
	Shared   bool          `json:"shared"`          // renewals come on the connection of the sale
	Apart    string        `json:"apart,omitempty"` // "order" or "instance": each has a key of its own

	takes    time.Duration // a plain sale
	acquire  []string      // the command that takes the lock; nil if that is a transaction
	release  []string      // the verbs of the commands on the lock from the write on, in lower case
	joint    bool          // the command that writes the stock releases the lock
	messages bool          // waiters get messages
	lockFree bool          // the write depends on what is there
	readBack bool          // what it leaves has to be read back
	slow     bool          // an order can be made slow

	steps                        []step // of a plain sale
	acquires, releases, renewals shapes
	writes                       shapes
	scripts                      []string // that orders sent in whole
	ours                         shapes   // the digests of scripts that several orders have sent; nil: any is

	locks  []wire.Lock
	held   map[wire.Key]wire.KeyState // the locks' keys while the lock is held
	before map[wire.Key]wire.KeyState // the server before the first order
}

// shapes is a set of them: see [Trial.shape].
type shapes map[string]bool

// A step is a command of a plain sale.
type step struct {
	shape   string
	effects []history.Command
	args    []string
}

// verb is the name of the command, in lower case, and "eval" for each script.
func (s *step) verb() string {
	verb, _, _ := strings.Cut(s.shape, " ")
	return verb
}

func (s *step) has(is func(*history.Command) bool) bool { return anyOf(s.effects, is) }

// shape is what a command has in common with the one that another order sends in its place.
func (t *Trial) shape(s *wire.Seen) string {
	name := s.Name
	switch {
	case len(s.Args) < 2:
	case name == "fcall":
		name += " " + s.Args[1]
	case name == "eval":
		if of := digest(s.Args); t.passport.ours == nil || t.passport.ours[of] {
			name += " " + of
		}
	}
	on := s.On()
	switch {
	case on == t.shelf().Key:
		return name + " stock"
	case t.passport.onLock(on):
		return name + " lock"
	}
	return name
}

func digest(args []string) string {
	if strings.EqualFold(args[0], "evalsha") {
		return strings.ToLower(args[1])
	}
	sum := sha1.Sum([]byte(args[1]))
	return hex.EncodeToString(sum[:])
}

// beforeWrite returns the last step before the first write of the stock: its read under the lock, if there is one,
// since other keys of the lock may be taken beside that. It is nil if the write is the first step.
func (p *Passport) beforeWrite() (before *step) {
	locked, read := len(p.Locks) == 0, false
	for i := range p.steps {
		s := &p.steps[i]
		locked = locked || s.has(acquired)
		reads := locked && s.has((*history.Command).ReadsStock)
		switch {
		case s.has((*history.Command).WritesStock):
			return before
		case reads, !read:
			before, read = s, read || reads
		}
	}
	return nil
}

// comesEarly reports whether a sale sends a command like that step's before it has the lock, too.
func (p *Passport) comesEarly(s *step) bool {
	first := slices.IndexFunc(p.steps, func(one step) bool { return one.has(acquired) })
	return slices.ContainsFunc(p.steps[:max(0, first)], func(one step) bool { return one.shape == s.shape })
}

// aheadOf returns how many commands like that step's a sale sends between its acquire and that step.
func (p *Passport) aheadOf(s *step) (n int) {
	for i := range p.steps {
		switch one := &p.steps[i]; {
		case one == s:
			return n
		case one.has(acquired):
			n = 0
		case one.shape == s.shape:
			n++
		}
	}
	return n
}

// misread says how a sale comes to write a stock that it has not read under its lock; "" if it reads it there, or
// writes what depends on what is there.
func (p *Passport) misread() string {
	switch before := p.beforeWrite(); {
	case len(p.Locks) == 0 || before == nil || before.has((*history.Command).ReadsStock):
		return ""
	case slices.ContainsFunc(p.steps, func(s step) bool { return s.has((*history.Command).ReadsStock) }):
		return "it reads the stock before it has the lock"
	case p.lockFree:
		return ""
	}
	return "it writes the stock without having read it"
}

// afterWrite returns the steps on the lock after the last write of the stock: the release.
func (p *Passport) afterWrite() (release []step) {
	last := -1
	for i := range p.steps {
		if p.steps[i].has((*history.Command).WritesStock) {
			last = i
		}
	}
	for _, s := range p.steps[last+1:] {
		if p.releases[s.shape] || strings.HasSuffix(s.shape, " lock") {
			release = append(release, s)
		}
	}
	return release
}

// lease returns how long the lock stays if nobody renews or releases it.
func (p *Passport) lease() time.Duration { return cmp.Or(p.TTL, p.InValue, 2*time.Second) }

// family is the kind of a lock, by the repaired rung of its kind.
func (p *Passport) family() string {
	switch {
	case len(p.Locks) == 0 && p.Apart == "" && p.lockFree:
		return "v17"
	case len(p.Locks) == 0 && p.Apart == "":
		return "v0"
	case p.Fence:
		return "v15"
	case p.Every > 0:
		return "v5.5"
	}
	return "v4"
}

// Closest names the rung that the lock is most like.
func (p *Passport) Closest() string {
	family := p.family()
	atOnce := p.joint || slices.ContainsFunc(p.release, func(verb string) bool {
		return isScript(verb) || verb == "watch"
	})
	switch {
	case family != "v4" || len(p.Locks) == 0:
		return family
	case p.TTL == 0 && p.InValue == 0 && !p.TTLLater:
		return "v1"
	case p.TTLLater:
		return "v1.5"
	case atOnce:
		return "v4"
	case len(p.release) > 1:
		return "v3"
	}
	return "v2"
}

// where is what of the lock has the end of a lease that is no TTL.
func (p *Passport) where() string { return either(p.Kind == "zset", "score", "value") }

// withWrite is how a lock is released by the command that writes the stock.
const withWrite = "the command that writes the stock"

// overwrites reports whether the lock is acquired by a SET that does not check whether it is free.
func (p *Passport) overwrites() bool {
	if len(p.acquire) == 0 || !strings.EqualFold(p.acquire[0], "set") {
		return false
	}
	return !slices.ContainsFunc(p.acquire[min(3, len(p.acquire)):], func(arg string) bool {
		return strings.EqualFold(arg, "nx")
	})
}

// String returns the passport as one paragraph.
func (p *Passport) String() string {
	if len(p.Locks) == 0 {
		if p.Apart != "" {
			return fmt.Sprintf("no lock that two orders share: each %s has a key of its own", p.Apart)
		}
		text := "no lock key in this Redis: the stock alone is judged"
		if p.lockFree {
			text += "; the write depends on what is there"
		}
		return text + "; closest rung: " + p.Closest()
	}
	parts := []string{fmt.Sprintf("lock: %s %s, %s", p.Kind, quoted(p.Locks), p.Acquire)}
	switch {
	case p.TTLLater:
		parts = append(parts, fmt.Sprintf("a TTL of %s by a second command", p.TTL))
	case p.InValue > 0:
		parts = append(parts, fmt.Sprintf("lease %s, in its %s", p.InValue, p.where()))
	case p.TTL == 0:
		parts = append(parts, "no TTL")
	default:
		parts = append(parts, "lease "+p.TTL.String()+either(p.TTL < p.takes, ", which is shorter than a sale takes", ""))
	}
	parts = append(parts, either(p.Token, "a new value each time (a token)",
		either(p.Name, "a value for each instance", "the same value each time (no token)")))
	if p.Release == "" {
		parts = append(parts, "not released")
	} else {
		parts = append(parts, "released by "+p.Release+either(p.Early, ", before the stock is written", ""))
	}
	if p.Every > 0 {
		parts = append(parts, "renewed every "+p.Every.Round(100*time.Millisecond).String()+
			either(p.Shared, ", on the connection of the sale", ""))
	} else {
		parts = append(parts, "not renewed"+either(p.Patience > 0 && !p.slow && p.Patience < p.TTL,
			" for as long as it could be held", ""))
	}
	parts = append(parts, "waiters "+p.Waiting, "a fence: "+either(p.Fence, "a number goes along with the write", "none"))
	if p.Patience > 0 {
		parts = append(parts, "your client gives up on a reply after "+p.Patience.Round(100*time.Millisecond).String())
	} else {
		parts = append(parts, "your client waits for a reply longer than the lease lasts")
	}
	return strings.Join(parts, "; ") + "; closest rung: " + p.Closest()
}

func either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

func quoted(keys []string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = "`" + history.Clip(key) + "`"
	}
	return strings.Join(all, ", ")
}
