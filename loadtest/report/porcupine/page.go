package porcupine

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"github.com/anishathalye/porcupine"

	"stockapi/loadtest/history"
)

//go:embed words.gohtml
var layout string

var words = template.Must(template.New("words").Parse(layout))

// The places in Porcupine's page where our text is inserted.
var (
	head   = []byte("<title>Porcupine</title>")
	canvas = []byte(`<div id="canvas"></div>`)
)

// page is the text above the picture.
type page struct {
	Title, Story string
	Lock         bool   // the operations are about the lock, not about the stock
	Drawn        string // which time of an order its box covers
	Orders, Of   int
	Without      string // the order without which there is a legal sequence
}

// Write writes Porcupine's own page, which needs nothing but a browser, with an explanation above the picture. It fails
// if NoPicture says why there is none.
func (w *Window) Write(out io.Writer) error {
	if w.NoPicture != "" {
		return errors.New("there is no picture: " + w.NoPicture)
	}
	var picture, above, below bytes.Buffer
	if err := porcupine.Visualize(w.question.model(), w.info, &picture); err != nil {
		return err
	}
	p := w.page()
	if err := errors.Join(words.ExecuteTemplate(&above, "head", p), words.ExecuteTemplate(&below, "body", p)); err != nil {
		return err
	}
	before, rest, found := bytes.Cut(picture.Bytes(), head)
	between, after, also := bytes.Cut(rest, canvas)
	if !found || !also {
		return errors.New("this version of Porcupine makes another page")
	}
	for _, part := range [][]byte{before, above.Bytes(), between, below.Bytes(), canvas, after} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func (w *Window) page() page {
	orders := map[*history.Op]bool{}
	for _, a := range w.question.operations {
		if a.op != nil {
			orders[a.op] = true
		}
	}
	p := page{
		Title: w.cell.Title() + ": " + w.title(), Story: w.finding.Evidence[0].Text,
		Lock: w.finding.Verdict == history.Exclusion, Drawn: w.boxLength(),
		Orders: len(orders), Of: w.cell.Len(),
	}
	if violation := w.orders(); w.legalWithout {
		p.Without = "order " + w.cell.Short(violation[len(violation)-1].Order)
	}
	return p
}

// boxLength says which time of an order its box covers; see times.
func (w *Window) boxLength() string {
	violation := w.orders()
	switch {
	case !w.times.byInstances:
		return "from when it was sent until it was answered"
	case len(violation) > 0 && violation[0].Lease == nil:
		return "for as long as it was at work: there is no lock"
	default:
		return "for as long as it held the lock"
	}
}

func (w *Window) title() string {
	first := w.finding.Evidence[0]
	switch {
	case w.finding.Verdict == history.Exclusion:
		return "two held the lock at once"
	case len(first.Orders) == 2:
		return fmt.Sprintf("unit %d was sold twice", first.Unit)
	case len(first.Orders) == 1:
		return fmt.Sprintf("unit %d was never there", first.Unit)
	default:
		return "the books do not balance"
	}
}
