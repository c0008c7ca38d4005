package stage

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// A page of the sheet is a round with what the class said, before and after, and the verdict.
type page struct {
	Cell          *history.Cell
	Round         *Round
	First, Second *count
	Best          []winner
}

//go:embed sheet.gohtml
var sheetText string

var sheetTemplate = template.Must(template.New("sheet").Funcs(template.FuncMap{
	"votes":  (*count).String,
	"broken": broken,
	"story":  func(c *history.Cell) string { return audit.Story(c.Findings) },
	"clock":  func(c *history.Cell) string { return c.Start.Format("15:04") },
	"words": func(w []winner) string {
		var all []string
		for _, one := range w {
			all = append(all, fmt.Sprintf("%s %d", one.Person, one.Points))
		}
		return strings.Join(all, ", ")
	},
}).Parse(sheetText))

// String tells what was voted: "S 7, E 9; 1 unit twice 8".
func (n *count) String() string {
	var parts []string
	for _, letter := range append(strings.Split(letters, ""), "none") {
		if n.Letters[letter] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", letter, n.Letters[letter]))
		}
	}
	for _, twice := range counts {
		if n.Twice[twice] > 0 {
			parts = append(parts, fmt.Sprintf("×%s: %d", twice, n.Twice[twice]))
		}
	}
	return strings.Join(parts, ", ")
}

// WriteSheet writes the page with all rounds of a class, votes beside verdicts.
func (s *Stage) WriteSheet(w io.Writer) error {
	s.mu.Lock()
	pages := slices.Clone(s.sheet)
	s.mu.Unlock()
	return sheetTemplate.Execute(w, map[string]any{"Pages": pages, "Language": s.options.Language,
		"Started": s.record.start.Format("2006-01-02 15:04")})
}
