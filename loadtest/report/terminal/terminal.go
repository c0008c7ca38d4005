package terminal

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// A Terminal is an output on which lines can be redrawn.
type Terminal struct {
	// Size is called each time, since windows are resized. Zeros mean unknown.
	Size func() (columns, rows int)
}

// Of returns w as a terminal, nil if it is not one.
func Of(w io.Writer) *Terminal {
	f, ok := fileOf(w)
	if !ok || !isTerminal(f) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &Terminal{Size: func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}}
}

// Colourful reports whether to use colours on w: it is a terminal, and NO_COLOR is unset (https://no-color.org).
func Colourful(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && isTerminal(f) && os.Getenv("NO_COLOR") == ""
}

func fileOf(w io.Writer) (f *os.File, ok bool) {
	if o, is := w.(*Output); is {
		w = o.Writer
	}
	f, ok = w.(*os.File)
	return f, ok
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }
