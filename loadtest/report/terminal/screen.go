package terminal

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A screen keeps a few lines at the bottom of a terminal. The cursor rests below them, and no mode of the terminal is
// changed, so nothing has to be restored however the process ends.
type screen struct {
	w     io.Writer
	shown []string
}

// show replaces the lines shown before, and prints above them what is to stay. It is one write, so that no half of it
// is ever visible. It erases line by line: when asked to erase the whole screen, some terminals save it in their
// history.
func (s *screen) show(columns int, lines []string, stay string) {
	var b strings.Builder
	eraseLine := text.EraseLine.Sprint()
	b.WriteString("\r" + eraseLine + strings.Repeat(text.CursorUp.Sprint()+eraseLine, s.height(columns)))
	b.WriteString(stay)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	s.shown = lines
	_, _ = io.WriteString(s.w, b.String()) // an error cannot be reported anywhere
}

// height returns how many lines of the terminal the shown lines take by now: a window that has become narrower has
// wrapped the lines that no longer fit.
func (s *screen) height(columns int) int {
	height := 0
	for _, line := range s.shown {
		height++
		if w := text.StringWidthWithoutEscSequences(line); columns > 0 && w > columns {
			height += (w - 1) / columns
		}
	}
	return height
}
