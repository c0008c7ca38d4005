package terminal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// pageWidth is the width of output that does not go to a terminal.
const pageWidth = 120

// A Printer prints results.
type Printer struct {
	io.Writer
	// Width is the maximum width of a line, 0 for 120 columns.
	Width  int
	Colour bool
	// Height is the number of lines of the terminal, 0 if the output is not a terminal. A longer matrix repeats its
	// heading below.
	Height int
}

// NewPrinter returns a printer to w, with the size of the terminal if w is one.
func NewPrinter(w io.Writer) Printer {
	p := Printer{Writer: w, Colour: Colourful(w)}
	if t := Of(w); t != nil {
		p.Width, p.Height = t.Size()
	}
	return p
}

// width returns the width to which lines are wrapped, at least 40.
func (p Printer) width() int { return max(cmp.Or(p.Width, pageWidth), 40) }

// wrapped prints head and text. Further lines are indented by indent, which is at least the length of head.
func (p Printer) wrapped(head string, indent int, text string) {
	for _, line := range wrap(text, p.width()-indent) {
		fmt.Fprintln(p, head+line)
		head = strings.Repeat(" ", indent)
	}
}

// lines prints lines and a blank one.
func (p Printer) lines(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(p, line)
	}
	fmt.Fprintln(p)
}

// wrap breaks a text into lines, between words.
func wrap(s string, width int) []string { return trim(text.WrapSoft(s, width)) }

// trim returns the lines of a text without trailing spaces.
func trim(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// newTable returns a table with a line below its head, and columns as narrow as possible.
func newTable(head table.Row, columns ...table.ColumnConfig) table.Writer {
	t := table.NewWriter()
	s := table.StyleLight
	s.Format.Header, s.Format.Footer = text.FormatDefault, text.FormatDefault
	s.Options = table.Options{SeparateHeader: true}
	s.Box.PaddingLeft, s.Box.PaddingRight = "", " "
	t.SetStyle(s)
	t.AppendHeader(head)
	t.SetColumnConfigs(columns)
	return t
}

// render returns the lines of a table, without trailing spaces.
func render(t table.Writer) []string { return trim(t.Render()) }

// filter returns the elements that keep accepts.
func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}
