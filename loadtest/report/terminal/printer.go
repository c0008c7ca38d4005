package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

const (
	// pageWidth is the width of what is not printed to a terminal.
	pageWidth = 120
	// leastWidth is the width below which lines are not wrapped any more.
	leastWidth = 40
)

// A Printer prints results.
type Printer struct {
	io.Writer
	// Width is the width that no line exceeds, 0 for 120 columns.
	Width  int
	Colour bool
}

// NewPrinter returns a printer to w, as wide as the terminal if w is one.
func NewPrinter(w io.Writer) Printer {
	p := Printer{Writer: w, Colour: Colourful(w)}
	if t := Of(w); t != nil {
		p.Width, _ = t.Size()
	}
	return p
}

func (p Printer) width() int { return max(cmp.Or(p.Width, pageWidth), leastWidth) }

// wrapped prints a text after its head. Further lines are indented, by the head's length or more.
func (p Printer) wrapped(head string, indent int, text string) {
	for _, line := range wrap(text, p.width()-indent) {
		fmt.Fprintln(p, head+line)
		head = strings.Repeat(" ", indent)
	}
}

// text returns what a function prints.
func (p Printer) text(prints func(Printer)) string {
	var text strings.Builder
	prints(Printer{&text, p.Width, p.Colour})
	return text.String()
}
