package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"stockapi/internal/explore"
	"stockapi/loadtest/report/terminal"
)

// A progress is a line on a terminal that says what is being explored. On anything else it shows nothing.
type progress struct {
	io.Writer
	terminal *terminal.Terminal // nil: none
	began    time.Time
	shown    bool
}

func newProgress(stderr io.Writer) *progress {
	return &progress{Writer: stderr, terminal: terminal.Of(stderr), began: time.Now()}
}

// draw shows how many cells are done, which are under way, and for how long it has been going on.
func (p *progress) draw(printed int, tasks []*task) {
	if p.terminal == nil {
		return
	}
	done, under := printed, []string{}
	for _, one := range tasks[printed:] {
		select {
		case <-one.done:
			done++
		default:
			if one.begun.Load() {
				under = append(under, one.rung+" "+explore.FaultNames(one.bounds))
			}
		}
	}
	line := fmt.Sprintf("%s: %d of %s; now %s", time.Since(p.began).Round(time.Second), done,
		count(len(tasks), "cell"), strings.Join(under, ", "))
	if columns, _ := p.terminal.Size(); columns > 1 {
		line = text.Snip(line, columns-1, "…")
	}
	fmt.Fprintf(p, "\r\033[K%s\r", line)
	p.shown = true
}

// clear removes the line, so that other output may come.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p, "\r\033[K")
		p.shown = false
	}
}
