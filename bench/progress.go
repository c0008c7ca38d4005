package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"stockapi/bench/figures"
)

// A progress says what is being measured: on a terminal in one line that changes, elsewhere in a line for each
// measurement.
type progress struct {
	io.Writer
	terminal    bool
	done, steps int
	expected    time.Duration // for all steps, before the first has been timed
	began       time.Time
}

func newProgress(stderr io.Writer, steps int, expected time.Duration) *progress {
	p := &progress{Writer: stderr, steps: steps, expected: expected, began: time.Now()}
	if file, ok := stderr.(*os.File); ok {
		p.terminal = isatty.IsTerminal(file.Fd())
	}
	p.say("%d measurements, about %s", steps, expected.Round(time.Second))
	return p
}

func (p *progress) begin(s step) {
	if p.terminal {
		fmt.Fprintf(p, "\r\033[K%d of %d, %s left: %s\r", p.done+1, p.steps, p.left(), nameOf(s))
	}
}

func (p *progress) end(s step, sample figures.Sample) {
	p.done++
	if !p.terminal {
		p.say("%d of %d: %s: %s", p.done, p.steps, nameOf(s), inWords(sample))
	}
}

func (p *progress) skip() { p.done++ }

// say prints a line that stays.
func (p *progress) say(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p, format+"\n", args...)
}

// clear removes the line that changes.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p, "\r\033[K")
	}
}

// left estimates the time that is left.
func (p *progress) left() time.Duration {
	each := p.expected / time.Duration(max(p.steps, 1))
	if p.done > 0 {
		each = time.Since(p.began) / time.Duration(p.done)
	}
	return (each * time.Duration(p.steps-p.done)).Round(time.Second)
}

func nameOf(s step) string {
	return fmt.Sprintf("round %d, %s %d × %d, %s", s.round, s.point.Workload, s.point.Processes, s.point.Waiters,
		s.contender.Name)
}
