package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
)

// A Progress shows what is going on in a line at the bottom of a terminal. If the output is not a terminal it prints
// one line per finished cell, and what a reader waits for.
type Progress struct {
	w        io.Writer
	terminal *Terminal // nil if the output is not one

	mu       sync.Mutex
	status   func() string
	shown    string // the line on the terminal; elsewhere what was said last
	pace     pace
	last     string // the last cell that finished, and its verdict
	finished int
	total    int
	stop     chan struct{}
	closed   sync.Once
	done     sync.WaitGroup
}

// NewProgress starts a progress on w; terminal is nil if w is not a terminal. Close ends it.
func NewProgress(w io.Writer, terminal *Terminal) *Progress {
	p := &Progress{w: w, terminal: terminal, stop: make(chan struct{})}
	if terminal != nil {
		p.pace.began = time.Now()
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
		p.pace.expected = time.Now()
	}
	p.pace.work = map[string]int{}
	for _, spec := range specs {
		p.pace.work[spec.Scenario.Name] = workOf(spec.Scenario)
		p.pace.all += workOf(spec.Scenario)
	}
	p.draw("")
}

// Finished reports a finished cell. On a terminal a line stays for each that is not as expected.
func (p *Progress) Finished(c *catalog.Assessment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	c = plainAssessment(c)
	line := fmt.Sprintf("%d/%d %s", p.finished, p.total, Line(c))
	switch {
	case p.terminal == nil:
		fmt.Fprintln(p.w, line)
		return
	case c.NotRun != "" || len(c.Surprises)+len(c.Unknown) == 0:
		line = ""
	default:
		columns, _ := p.terminal.Size()
		var stays strings.Builder
		Printer{Writer: &stays, Width: columns}.wrapped("", 2, line)
		line = stays.String()
	}
	p.pace.done += p.pace.work[c.Scenario]
	p.last = fmt.Sprintf("%s: %s; ", c.Title(), verdict(c))
	p.draw(line)
}

// Status sets the text of the line, which is read ten times a second. With nil it counts the finished cells.
func (p *Progress) Status(status func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
	p.draw("")
}

// Say sets the line to a fixed text, which tells why nothing finishes. If the output is not a terminal it prints the
// text, once in a row.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal == nil && text != p.shown {
		p.shown = text
		fmt.Fprintln(p.w, text)
	}
	p.status = func() string { return text }
	p.draw("")
}

// Clear erases the line, so that other output may be printed to the same terminal.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.total = nil, 0
	p.draw("")
}

// Close clears the progress and ends it. It may be called twice.
func (p *Progress) Close() {
	p.Clear()
	p.closed.Do(func() { close(p.stop) })
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

// draw replaces the line, and prints above it what is to stay, in one write, so that no half of it is ever visible. No
// mode of the terminal is changed: nothing has to be restored however the process ends.
func (p *Progress) draw(stay string) {
	if p.terminal == nil {
		return
	}
	columns, _ := p.terminal.Size()
	line := p.line(columns)
	if stay == "" && line == p.shown {
		return
	}
	erase := "\r" + text.EraseLine.Sprint()
	if w := text.StringWidth(p.shown); columns > 0 && w > columns { // a window that has become narrower wrapped it
		erase += strings.Repeat(text.CursorUp.Sprint()+text.EraseLine.Sprint(), (w-1)/columns)
	}
	p.shown = line
	_, _ = io.WriteString(p.w, erase+stay+line) // an error cannot be reported anywhere
}

// line returns the line. A column stays free, for the cursor.
func (p *Progress) line(columns int) string {
	if p.status == nil && p.total == 0 {
		return ""
	}
	line := fmt.Sprintf("%d of %d cells", p.finished, p.total)
	if p.status != nil {
		line = p.status()
	}
	line = p.pace.text() + ": " + p.last + line
	if columns > 0 {
		line = text.Snip(line, columns-1, "…")
	}
	return line
}
