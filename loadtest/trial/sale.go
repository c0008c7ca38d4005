package trial

import (
	"strconv"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire"
)

// A SaleCommand is a command of a plain sale.
type SaleCommand struct {
	Number  int    `json:"number"` // as in reply-lost 3
	Mark    string `json:"mark"`   // in a line
	Command string `json:"command"`
	Does    string `json:"does,omitempty"` // to the lock and to the stock
}

// Sale returns the commands of a plain sale at a, in order.
func (p *Passport) Sale() []SaleCommand {
	all := make([]SaleCommand, len(p.steps))
	acquires, writes := false, false
	for i := range p.steps {
		s, mark := &p.steps[i], strconv.Itoa(i+1)
		switch {
		case p.acquires[s.shape] && !acquires:
			mark, acquires = schedule.Acquire, true
		case s.has((*history.Command).WritesStock) && !writes:
			mark, writes = schedule.Write, true
		case s == p.beforeWrite():
			mark = schedule.Read
		}
		all[i] = SaleCommand{i + 1, "a>" + mark, wire.CommandText(s.args, s.queued), p.does(s)}
	}
	for n, i := range p.releasedAt() {
		if n < 2 {
			all[i].Mark = "a>" + []string{schedule.Release, schedule.Release2}[n]
		}
	}
	return all
}

// does returns what a step did to the lock and to the stock.
func (p *Passport) does(s *step) string {
	var all []string
	for _, one := range []struct {
		is   func(*history.Command) bool
		text string
	}{
		{acquired, "acquires the lock"},
		{(*history.Command).Prolongs, "renews the lock"},
		{(*history.Command).ReadsStock, "reads the stock"},
		{(*history.Command).WritesStock, "writes the stock"},
		{(*history.Command).Releases, "releases the lock"},
	} {
		if s.has(one.is) {
			all = append(all, one.text)
		}
	}
	if len(all) == 0 && s.shape.IsOnLock() {
		return "reads the lock"
	}
	return strings.Join(all, ", ")
}
