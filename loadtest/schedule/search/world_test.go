package search

import (
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// A fake is a world of orders that send commands to one server. Each of sends is an order; commands in one word with
// slashes between them are sent at once.
//
//   - get and set read the stock, and write one less than was read.
//   - nx takes the lock. While another order holds it, nx is refused, and comes again once the lock has changed.
//   - eval releases the lock. Any other command does nothing.
type fake struct {
	sends   []string
	crashes bool   // one order may die at any step
	flaky   string // after these steps, a set is a get from the second time on
	reached int    // how often flaky was
}

// A state is the server and the orders of a fake in one schedule.
type state struct {
	waiting   [][]string // commands of each order
	later     [][]string // words of each order
	refused   []int      // the number of changes of the lock when each order was refused
	read      []int
	holder    int // the order that holds the lock, or -1
	changes   int // of the lock
	left      int // in stock
	crashed   bool
	steps     string
	soldTwice int // the number of steps until a unit was sold twice, 0: it was not
}

// Play is part of World.
func (f *fake) Play(choose func([]Option) int) (End, error) {
	s := &state{holder: -1, left: 9}
	for _, sends := range f.sends {
		s.later, s.waiting = append(s.later, strings.Fields(sends)), append(s.waiting, nil)
		s.refused, s.read = append(s.refused, -1), append(s.read, 0)
	}
	for taken := 1; ; taken++ {
		options := s.options(f)
		if len(options) == 0 {
			return End{true, s.broken()}, nil
		}
		n := choose(options)
		if n < 0 {
			return End{false, s.broken()}, nil
		}
		s.steps += options[n].String()
		s.take(options[n], taken)
	}
}

func (s *state) options(f *fake) (options []Option) {
	flaky := f.flaky != "" && s.steps == f.flaky
	if flaky {
		f.reached++
	}
	for who := range s.waiting {
		if len(s.waiting[who]) == 0 && len(s.later[who]) > 0 {
			s.waiting[who], s.later[who] = strings.Split(s.later[who][0], "/"), s.later[who][1:]
		}
		for nth, cmd := range s.waiting[who] {
			if cmd == "nx" && s.refused[who] == s.changes {
				continue
			}
			if flaky && f.reached > 1 && cmd == "set" {
				cmd = "get"
			}
			step := schedule.Step{Who: who, Nth: nth}
			options = append(options, Option{step, schedule.ClientName(who) + " " + cmd})
		}
		if f.crashes && !s.crashed && len(s.waiting[who]) > 0 {
			step := schedule.Step{Kind: schedule.CrashBefore, Who: who}
			options = append(options, Option{step, step.String()})
		}
	}
	return options
}

// take carries out a step, the nth of the schedule.
func (s *state) take(o Option, nth int) {
	who := o.Who
	if o.IsFault() {
		s.crashed, s.waiting[who], s.later[who] = true, nil, nil
		return
	}
	switch _, cmd, _ := strings.Cut(o.ID, " "); {
	case cmd == "get":
		s.read[who] = s.left
	case cmd == "set":
		if s.read[who] != s.left && s.soldTwice == 0 {
			s.soldTwice = nth
		}
		s.left = s.read[who] - 1
	case cmd == "nx" && s.holder >= 0:
		s.refused[who] = s.changes
		return
	case cmd == "nx":
		s.holder, s.changes = who, s.changes+1
	case cmd == "eval":
		s.holder, s.changes = -1, s.changes+1
	}
	s.waiting[who] = slices.Delete(s.waiting[who], o.Nth, o.Nth+1)
}

func (s *state) broken() map[history.Verdict]int {
	if s.soldTwice == 0 {
		return nil
	}
	return map[history.Verdict]int{history.Stock: s.soldTwice}
}

// all plays every schedule by trying each option in turn, and returns them in any order.
func (f *fake) all() (texts []string) {
	var chosen, options []int // the index of each step, and between how many it was chosen
	for {
		text, at := "", 0
		_, _ = f.Play(func(os []Option) int {
			if at == len(chosen) {
				chosen, options = append(chosen, 0), append(options, len(os))
			}
			at++
			text += os[chosen[at-1]].String()
			return chosen[at-1]
		})
		texts = append(texts, text)
		for len(chosen) > 0 && chosen[len(chosen)-1]+1 == options[len(options)-1] {
			chosen, options = chosen[:len(chosen)-1], options[:len(options)-1]
		}
		if len(chosen) == 0 {
			return texts
		}
		chosen[len(chosen)-1]++
	}
}
