package sale

import (
	"slices"

	"stockapi/loadtest/history"
)

// A Step is a command of a plain sale.
type Step struct {
	Shape   Shape
	Effects []history.Command
	Args    []string
	Queued  [][]string // the commands of a transaction
}

// Has reports whether is holds for one of the effects.
func (s *Step) Has(is func(*history.Command) bool) bool {
	return slices.ContainsFunc(s.Effects, func(e history.Command) bool { return is(&e) })
}

// Acquired reports whether a command acquired the lock.
func Acquired(c *history.Command) bool { return c.Acquires() && c.Succeeded() }

// BeforeWrite returns the last step before the first write of the stock: its read under the lock, if there is one,
// since other keys of the lock may be acquired in between. It is nil if the write is the first step. If the stock is
// elsewhere, it is the acquire, the last step before the work.
func (p *Passport) BeforeWrite() (before *Step) {
	if p.Elsewhere {
		return p.lastAcquire()
	}
	locked, read := len(p.Locks) == 0, false
	for i := range p.Steps {
		s := &p.Steps[i]
		locked = locked || s.Has(Acquired)
		reads := locked && s.Has((*history.Command).ReadsStock)
		switch {
		case s.Has((*history.Command).WritesStock):
			return before
		case reads, !read:
			before, read = s, read || reads
		}
	}
	return nil
}

// lastAcquire returns the last step that acquires a key of the lock, nil if there is none.
func (p *Passport) lastAcquire() (last *Step) {
	for i := range p.Steps {
		if p.Steps[i].Has(Acquired) {
			last = &p.Steps[i]
		}
	}
	return last
}

// ComesEarly reports whether a sale also sends a command of that step's shape before it holds the lock.
func (p *Passport) ComesEarly(s *Step) bool {
	first := slices.IndexFunc(p.Steps, func(one Step) bool { return one.Has(Acquired) })
	return slices.ContainsFunc(p.Steps[:max(0, first)], func(one Step) bool { return one.Shape == s.Shape })
}

// AheadOf returns how many commands of that step's shape a sale sends between its acquire and that step.
func (p *Passport) AheadOf(s *Step) (n int) {
	for i := range p.Steps {
		switch one := &p.Steps[i]; {
		case one == s:
			return n
		case one.Has(Acquired):
			n = 0
		case one.Shape == s.Shape:
			n++
		}
	}
	return n
}

// Numbered returns the steps that have a number: the first is number 1.
func (p *Passport) Numbered() []Step { return p.Steps[p.Ahead:] }

// AfterWrite returns the steps on the lock after the last write of the stock, or after the acquire if the stock is
// elsewhere: the release.
func (p *Passport) AfterWrite() (release []Step) {
	for _, i := range p.ReleasedAt() {
		release = append(release, p.Steps[i])
	}
	return release
}

// ReleasedAt returns the indices of the steps of [Passport.AfterWrite].
func (p *Passport) ReleasedAt() (at []int) {
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case s.Has((*history.Command).WritesStock), p.Elsewhere && s.Has(Acquired):
			at = nil
		case p.Releases[s.Shape] || s.Shape.IsOnLock():
			at = append(at, i)
		}
	}
	return at
}
