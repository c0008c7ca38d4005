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

// Of returns the terminal that w is, nil if it is none.
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

// Colourful reports whether colours belong on w: it is a terminal, and https://no-color.org does not say otherwise.
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
