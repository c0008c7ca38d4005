package sale

import (
	"strconv"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A Command is a command of a plain sale.
type Command struct {
	Number  int    `json:"number,omitempty"` // as in reply-lost 3; 0: it has none
	Mark    string `json:"mark,omitempty"`   // in a line
	Command string `json:"command"`
	Does    string `json:"does,omitempty"` // to the lock and to the stock
}

// Commands returns the commands of a plain sale at a, in order.
func (p *Passport) Commands() []Command {
	all := make([]Command, len(p.Steps))
	acquires, writes := false, false
	for i := range p.Steps {
		s, number := &p.Steps[i], max(0, i+1-p.Ahead)
		if number == 0 {
			all[i] = Command{Command: wire.CommandText(s.Args, s.Queued), Does: p.does(s)}
			continue
		}
		mark := strconv.Itoa(number)
		switch {
		case p.Acquires[s.Shape] && !acquires:
			mark, acquires = schedule.Acquire, true
		case s.Has((*history.Command).WritesStock) && !writes:
			mark, writes = schedule.Write, true
		case s == p.BeforeWrite():
			mark = schedule.Read
		}
		all[i] = Command{number, "a>" + mark, wire.CommandText(s.Args, s.Queued), p.does(s)}
	}
	for n, i := range p.ReleasedAt() {
		if n < 2 {
			all[i].Mark = "a>" + []string{schedule.Release, schedule.Release2}[n]
		}
	}
	return all
}

// does returns what a step did to the lock and to the stock.
func (p *Passport) does(s *Step) string {
	var all []string
	for _, one := range []struct {
		is   func(*history.Command) bool
		text string
	}{
		{Acquired, "acquires the lock"},
		{(*history.Command).Prolongs, "renews the lock"},
		{(*history.Command).ReadsStock, "reads the stock"},
		{(*history.Command).WritesStock, "writes the stock"},
		{(*history.Command).Releases, "releases the lock"},
	} {
		if s.Has(one.is) {
			all = append(all, one.text)
		}
	}
	if len(all) == 0 && s.Shape.IsOnLock() {
		return "reads the lock"
	}
	return strings.Join(all, ", ")
}
