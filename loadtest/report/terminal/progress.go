package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/loadtest/catalog"
)

// A Progress shows on one line of a terminal how many cells are done, and an estimate of the remaining time. If the
// output is not a terminal it prints a line per finished cell, and the texts of Say.
type Progress struct {
	w        io.Writer
	terminal *Terminal // nil if the output is not one

	mu          sync.Mutex
	status      string // shown instead of the count
	said        string // the last text of Say
	done, total int    // cells
	began       time.Time
	weights     map[string]int // of a cell, by scenario
	doneWeight  int
	totalWeight int
}

// NewProgress returns a progress on w; terminal is nil if w is not a terminal.
func NewProgress(w io.Writer, terminal *Terminal) *Progress {
	return &Progress{w: w, terminal: terminal, weights: map[string]int{}}
}

// weightOf returns the approximate duration of a cell, relative to others: crowds run one by one, faults side by side.
func weightOf(s catalog.Scenario) int {
	if s.Crowd {
		return 5
	}
	return 1
}

// Expect sets the cells that Finished will report.
func (p *Progress) Expect(specs []catalog.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.began, p.status = len(specs), time.Now(), ""
	for _, spec := range specs {
		p.weights[spec.Scenario.Name] = weightOf(spec.Scenario)
		p.totalWeight += weightOf(spec.Scenario)
	}
	p.draw("")
}

// Finished reports a finished cell. On a terminal only surprises leave a line.
func (p *Progress) Finished(c *catalog.Assessment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.doneWeight, p.status = p.done+1, p.doneWeight+p.weights[c.Scenario], ""
	line := ""
	if p.terminal == nil || c.NotTested == nil && len(c.Surprises)+len(c.Unknown) > 0 {
		line = fmt.Sprintf("%d/%d %s\n", p.done, p.total, Line(c))
	}
	p.draw(line)
}

// Count sets how many rows [Progress.Row] will report.
func (p *Progress) Count(rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.totalWeight, p.began, p.status = rows, rows, time.Now(), ""
	p.draw("")
}

// Row prints a row of a table that is not finished. If the output is not a terminal, it ends with the count and the
// time to go.
func (p *Progress) Row(row string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.doneWeight, p.status = p.done+1, p.doneWeight+1, ""
	if p.terminal == nil {
		row += "  (" + p.line() + ")"
	}
	p.draw(row + "\n")
}

// Status shows a text until the next cell is finished, only on a terminal.
func (p *Progress) Status(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = text
	p.draw("")
}

// Say shows why no cell is finishing. If the output is not a terminal it prints the text, unless it repeats the last
// one.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := ""
	if p.terminal == nil && text != p.said {
		line = text + "\n"
	}
	p.status, p.said = text, text
	p.draw(line)
}

// Clear erases the line, so that other output may be printed to the same terminal.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.total = "", 0
	p.draw("")
}

// draw replaces the line, and prints above it a text that stays. It changes no mode of the terminal, so nothing needs
// to be restored however the process ends. It ignores errors, as there is nowhere to report them.
func (p *Progress) draw(stays string) {
	if p.terminal == nil {
		_, _ = io.WriteString(p.w, stays)
		return
	}
	line := p.line()
	if columns, _ := p.terminal.Size(); columns > 0 {
		line = text.Snip(line, columns-1, "…") // one column is left for the cursor
	}
	_, _ = io.WriteString(p.w, "\r"+text.EraseLine.Sprint()+stays+line)
}

// line returns the status or, without one, the number of cells that are done and the time to go.
func (p *Progress) line() string {
	if p.status != "" || p.total == 0 {
		return p.status
	}
	line := fmt.Sprintf("%d of %d cells", p.done, p.total)
	if p.doneWeight == 0 {
		return line
	}
	left := time.Since(p.began) * time.Duration(p.totalWeight-p.doneWeight) / time.Duration(p.doneWeight)
	s := int(left.Round(5 * time.Second).Seconds())
	return line + ifAny(s, ", about %d:%02d to go", s/60, s%60)
}
