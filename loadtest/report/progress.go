package report

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is one line at the bottom of a terminal that says what is going on. Where the output is no terminal
// it only prints what is to stay.
type Progress struct {
	w        io.Writer
	terminal bool

	mu     sync.Mutex
	status func() string
	shown  bool
	stop   chan struct{}
	done   sync.WaitGroup
}

const eraseLine = "\r\x1b[K"

// NewProgress starts a progress line on w. Close ends it.
func NewProgress(w io.Writer, terminal bool) *Progress {
	p := &Progress{w: w, terminal: terminal, stop: make(chan struct{})}
	if terminal {
		p.done.Go(p.run)
	}
	return p
}

// Status sets what the line says, read anew ten times a second.
func (p *Progress) Status(status func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
	p.draw()
}

// Say sets the line to a text that does not change.
func (p *Progress) Say(text string) { p.Status(func() string { return text }) }

// Clear empties the line, so that something else may be printed to the same terminal.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = nil
	p.erase()
}

// Print prints a line that stays, above the progress line.
func (p *Progress) Print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.w, line)
	p.draw()
}

// Close erases the line. It may be called twice.
func (p *Progress) Close() {
	p.mu.Lock()
	p.status = nil
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	p.erase()
	p.mu.Unlock()
	p.done.Wait()
}

func (p *Progress) run() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		case <-p.stop:
			return
		}
	}
}

func (p *Progress) draw() {
	if p.terminal && p.status != nil {
		fmt.Fprint(p.w, eraseLine, p.status())
		p.shown = true
	}
}

func (p *Progress) erase() {
	if p.shown {
		fmt.Fprint(p.w, eraseLine)
		p.shown = false
	}
}
