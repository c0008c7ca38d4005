package rig

import "slices"

// Bounds on the number of plain sales. Drivers prepare a statement only after sending it five times, so the first sales
// are not representative. If the last ones still differ, there is no pattern.
const (
	FewestSales = 7
	MostSales   = 15
	alike       = 3 // sales in a row
)

// A Pattern is the sequence of requests and replies that every plain sale exchanges with the database.
type Pattern struct {
	Steps []Step
	Noisy map[int]bool // connections that also carry bytes while no order is open, such as pings
}

// A Step is a request of a sale, or a reply.
type Step struct {
	Conn   int // from 1, in the order in which the sale first uses them
	Number int // of the request
	Reply  bool
}

// Requests returns the number of requests in a sale.
func (p Pattern) Requests() (n int) {
	for _, s := range p.Steps {
		n = max(n, s.Number)
	}
	return n
}

// isSilent reports whether plain sales get no reply to their nth request.
func (p Pattern) isSilent(number int) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Number == number }) &&
		!slices.Contains(p.replies(), number)
}

// replies returns the numbers of the answered requests.
func (p Pattern) replies() (numbers []int) {
	for _, s := range p.Steps {
		if s.Reply {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers
}

// Learn returns the pattern of plain sales, given a log that also covers the times between them, and whether it is
// stable: the last three of at least seven must agree. The instance must have been idle when the log began.
func Learn(log []Piece, sales []int) (p Pattern, stable bool) {
	p.Noisy = map[int]bool{}
	for _, piece := range log {
		if piece.Order == 0 {
			p.Noisy[piece.Conn] = true
		}
	}
	if len(sales) < FewestSales {
		return p, false
	}
	last := sales[len(sales)-alike:]
	p.Steps = stepsOf(log, last[0], p.Noisy)
	for _, sale := range last[1:] {
		if !slices.Equal(stepsOf(log, sale, p.Noisy), p.Steps) {
			return p, false
		}
	}
	return p, true
}

// stepsOf returns the steps of an order on the connections that are not noisy.
func stepsOf(log []Piece, order int, noisy map[int]bool) (steps []Step) {
	conns, numbers := map[int]int{}, map[int]int{} // by those in the log
	for _, p := range log {
		if p.Order != order || noisy[p.Conn] {
			continue
		}
		if !p.Reply {
			numbers[p.Number] = len(numbers) + 1
		}
		if conns[p.Conn] == 0 {
			conns[p.Conn] = len(conns) + 1
		}
		steps = append(steps, Step{Conn: conns[p.Conn], Number: numbers[p.Number], Reply: p.Reply})
	}
	return steps
}
