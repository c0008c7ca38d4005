package trial

import "time"

// slowLine returns the line that holds Anna's order beyond its lease, each command for less than its client's timeout,
// at as few commands as possible. If all of them are too few, it holds all.
func (p *Passport) slowLine() (line string) {
	for _, one := range p.slowLines() {
		if line = one.line; p.suffices(one) {
			break
		}
	}
	return line
}

// canBeSlow reports whether such a line holds an order beyond its lease.
func (p *Passport) canBeSlow() bool {
	lines := p.slowLines()
	return p.suffices(lines[len(lines)-1])
}

// suffices reports whether a line holds an order beyond its lease.
func (p *Passport) suffices(l heldLine) bool {
	return l.lasts >= p.Lease()+aMoment || p.outlastsLease()
}

// A heldLine is a line that holds an order at one or more of its commands, and for how long it can.
type heldLine struct {
	line  string
	lasts time.Duration
}

func (p *Passport) slowLines() []heldLine {
	lines := []heldLine{{"a<read.b>end.a>end", p.hold()}, {"a<read.b>end.a>write.b>end.a>end", 2 * p.hold()}}
	if read := p.beforeWrite(); len(p.Locks) > 0 && read != nil && !read.has(acquired) {
		lines = append(lines, heldLine{"a<acquired.b>end.a<read.b>end.a>write.b>end.a>end",
			p.holdAcquire() + 2*p.hold()})
	}
	return lines
}
