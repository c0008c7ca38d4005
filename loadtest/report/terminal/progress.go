package terminal

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// A Progress shows what is going on at the bottom of a terminal: a line, and a grid that fills as cells finish. If the
// output is not a terminal it prints one line per finished cell and nothing else.
type Progress struct {
	w        io.Writer
	terminal *Terminal // nil if the output is not one
	screen   screen

	mu       sync.Mutex
	status   func() string
	live     *live
	pace     pace
	last     string // the last cell that finished, and its verdict
	finished int
	total    int
	stop     chan struct{}
	done     sync.WaitGroup
}

// NewProgress starts a progress on w; terminal is nil if w is not a terminal. Close ends it.
func NewProgress(w io.Writer, terminal *Terminal) *Progress {
	p := &Progress{w: w, terminal: terminal, screen: screen{w: w}, stop: make(chan struct{})}
	if terminal != nil {
		p.pace = newPace(terminal.now())
		p.done.Go(p.run)
	}
	return p
}

// Expect sets which cells Finished will report.
func (p *Progress) Expect(specs []catalog.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = len(specs)
	if p.terminal != nil {
		p.live = newLive(specs, p.terminal.Colour)
		p.pace.expect(specs, p.terminal.now())
	}
	p.draw("")
}

// Finished reports a finished cell. On a terminal it fills the grid, and a line stays for each that is not as expected.
func (p *Progress) Finished(c *history.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	c = plainCell(c)
	line := fmt.Sprintf("%d/%d %s", p.finished, p.total, Line(c))
	switch {
	case p.terminal == nil:
		fmt.Fprintln(p.w, line)
		return
	case c.NotRun != "" || len(catalog.Surprises(c))+len(catalog.Unknown(c)) == 0:
		line = ""
	default:
		line = p.terminal.wrapped(line)
	}
	p.pace.finished(c, p.terminal.now())
	p.last = fmt.Sprintf("; %s: %s", c.Title(), verdict(c))
	if p.live != nil {
		p.live.add(c)
	}
	p.draw(line)
}

// Status sets the text of the line, which is read ten times a second. With nil it counts the finished cells.
func (p *Progress) Status(status func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
	p.draw("")
}

// Say sets the line to a fixed text.
func (p *Progress) Say(text string) { p.Status(func() string { return text }) }

// Clear erases line and grid, so that other output may be printed to the same terminal.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.live = nil, nil
	p.draw("")
}

// Close clears the progress and ends it. It may be called twice.
func (p *Progress) Close() {
	p.Clear()
	p.mu.Lock()
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
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
			p.draw("")
			p.mu.Unlock()
		case <-p.stop:
			return
		}
	}
}

// draw updates the terminal, and prints above it what is to stay.
func (p *Progress) draw(stay string) {
	if p.terminal == nil {
		return
	}
	columns, rows := p.terminal.Size()
	if lines := p.lines(columns, rows); stay != "" || !slices.Equal(lines, p.screen.shown) {
		p.screen.show(columns, lines, stay)
	}
}

// wrapped breaks a text into lines that fit.
func (t *Terminal) wrapped(line string) string {
	columns, _ := t.Size()
	if columns < leastWidth {
		return line + "\n"
	}
	return Printer{Width: columns}.text(func(p Printer) { p.wrapped("", 2, line) })
}

// lines returns the grid, if the terminal has room for it, and the line. One column and one row stay free, for the
// cursor.
func (p *Progress) lines(columns, rows int) []string {
	if p.status == nil && p.live == nil {
		return nil
	}
	status := fmt.Sprintf("%d of %d cells%s", p.finished, p.total, p.last)
	if p.status != nil {
		status = p.status()
	}
	status = p.pace.text(p.terminal.now()) + ": " + status
	if columns > 0 {
		status = text.Snip(status, columns-1, "…")
	}
	var grid []string
	if p.live != nil {
		grid = p.live.lines(columns-1, rows-2)
	}
	return append(slices.Clone(grid), status)
}
