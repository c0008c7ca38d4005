package html

import (
	"html/template"
	"strings"

	"stockapi/loadtest/report/drawing"
)

// An inside is the content of a cell's section once it is opened. A page of hundreds of cells keeps them compressed,
// several in one text because neighbours have most of their words in common.
type inside struct {
	HTML    string           `json:"html"`
	Drawing *drawing.Drawing `json:"drawing,omitempty"`
}

// packSize bounds the uncompressed size of one text, in bytes: it is unpacked whole.
const packSize = 300_000

// pack returns the insides of the sections as compressed texts, and sets in each section where its inside is. With
// lean, drawings of crowds have only the orders that are shown first.
func pack(sections []*section, lean bool) (packs []template.HTML, err error) {
	var some []inside
	size := 0
	flush := func() {
		if err == nil && len(some) > 0 {
			var text string
			text, err = drawing.Compress(some)
			packs, some, size = append(packs, template.HTML(text)), nil, 0
		}
	}
	for _, s := range sections {
		one := inside{}
		var out strings.Builder
		if err := pageTemplate.ExecuteTemplate(printable{&out}, "cell", s); err != nil {
			return nil, err
		}
		one.HTML = out.String()
		length := len(one.HTML)
		if s.Has {
			one.Drawing = drawing.Of(s.row.Shown().Cell)
			if lean {
				one.Drawing.Lean()
			}
			length += 100*len(one.Drawing.Orders) + 200*len(one.Drawing.Commands)
		}
		if size+length > packSize {
			flush()
		}
		s.Pack, s.At = len(packs), len(some)
		some, size = append(some, one), size+length
	}
	flush()
	return packs, err
}
