package sale

import "time"

// SlowLine returns the line that holds Anna's order beyond its lease, each command for less than its client's timeout,
// at as few commands as possible. If all of them are too few, it holds all.
func (p *Passport) SlowLine() (line string) {
	for _, one := range p.slowLines() {
		if line = one.line; p.suffices(one) {
			break
		}
	}
	return line
}

// CanBeSlow reports whether such a line holds an order beyond its lease.
func (p *Passport) CanBeSlow() bool {
	lines := p.slowLines()
	return p.suffices(lines[len(lines)-1])
}

// suffices reports whether a line holds an order beyond its lease.
func (p *Passport) suffices(l heldLine) bool {
	return l.lasts >= p.Lease()+AMoment || p.OutlastsLease()
}

// A heldLine is a line that holds an order at one or more of its commands, and for how long it can.
type heldLine struct {
	line  string
	lasts time.Duration
}

func (p *Passport) slowLines() []heldLine {
	lines := []heldLine{{"a<read.b>end.a>end", p.LongestHold()}, {"a<read.b>end.a>write.b>end.a>end", 2 * p.LongestHold()}}
	if read := p.BeforeWrite(); len(p.Locks) > 0 && read != nil && !read.Has(Acquired) {
		lines = append(lines, heldLine{"a<acquired.b>end.a<read.b>end.a>write.b>end.a>end",
			p.LongestAcquireHold() + 2*p.LongestHold()})
	}
	return lines
}
