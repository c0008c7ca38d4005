package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Terminal is an output on which lines can be drawn again.
type Terminal struct {
	// Size is asked each time, since windows are resized. Zeros mean that nobody knows.
	Size   func() (columns, rows int)
	Colour bool
}

// screen keeps a few lines at the bottom of a terminal. The cursor rests below them and no mode of the terminal is
// changed, so nothing needs to be set right again, however the process ends.
type screen struct {
	w     io.Writer
	shown []string
}

// show draws the lines in place of those shown before, and above them what is to stay. It is one write, so that
// nobody sees half of it. It erases line by line: some terminals take the erasing of all that is visible for something
// to remember, and would keep each drawing in their history.
func (s *screen) show(columns int, lines []string, stay string) {
	var b strings.Builder
	eraseLine := text.EraseLine.Sprint()
	b.WriteString("\r" + eraseLine + strings.Repeat(text.CursorUp.Sprint()+eraseLine, s.height(columns)))
	b.WriteString(stay)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	s.shown = lines
	_, _ = io.WriteString(s.w, b.String()) // there is nobody to tell
}

// height is how many lines of the terminal what is shown takes by now: a window that has become narrower has broken
// the lines that no longer fit. What a window that has become lower has pushed out of it stays there.
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
