package html

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

//go:embed picture.css
var pictureStyle string

// The measures of a picture: its text is 11 pixels high or more where a page shows it 850 wide.
const (
	pictureWidth = 820.0
	pictureEdge  = 15.0 // the margin on all sides
)

// WritePicture writes a cell's timeline to w, as an SVG file that needs nothing else. It shows the orders of the first
// violation and those that had a fault; of a cell without a violation, those that the report shows. A cell without
// orders is an error.
func WritePicture(w io.Writer, r *catalog.Row) error {
	c := r.Shown().Cell
	if len(c.Ops) == 0 {
		return errors.New("there are no orders to draw")
	}
	_, err := io.WriteString(printable{w}, picture(drawPicture(c, pictureWidth), r.Scenario.Does))
	return err
}

// drawPicture draws what a picture of a cell shows.
func drawPicture(c *history.Cell, width float64) *drawing {
	shown := choose(c)
	shown.narrow(c.Faults)
	shown.finding, shown.only = history.Finding{}, true // the title says it
	return drawTimeline(c, shown, locksOf(c), width)
}

// small returns a picture of a cell for a page that has room for two, side by side.
func small(c *history.Cell) template.HTML {
	return template.HTML(drawPicture(c, pictureWidth*3/4).whole()) // svg escapes all text and attributes
}

// narrow keeps the orders of the violation and those that had a fault. Without a violation it keeps all.
func (w *window) narrow(faults []history.Fault) {
	var ops []*history.Op
	s := noSpan()
	for _, op := range w.ops {
		hit := func(f history.Fault) bool { return f.Order == op.Order && f.On == "" }
		if !w.focus[op.Order] && !slices.ContainsFunc(faults, hit) {
			continue
		}
		ops = append(ops, op)
		s.join(active(op))
		if w.whole {
			s.join(underWay(op))
		}
	}
	if len(w.focus) > 0 && len(ops) > 0 {
		w.ops, w.span, w.queue = ops, s, false
		w.pad()
	}
}

// picture puts the title and the story above a timeline, and what its marks mean below it.
func picture(d *drawing, what string) string {
	title, does, story := heading(d.cell, what)
	head, y := &svg{}, pictureEdge
	for _, line := range append([]string{title, does}, wrap(story, pictureWidth)...) {
		y += 18
		head.text([]string{"title", "does", "story"}[min(2, strings.Count(head.String(), "<text"))], line, pictureEdge, y)
	}
	y += 12
	height, width := y+d.y+30+pictureEdge, pictureWidth+2*pictureEdge
	s := &svg{}
	s.tag("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", fmt.Sprintf("0 0 %g %s", width, number(height)),
		"width", 1000.0, "height", height*1000/width, "role", "img", "aria-labelledby", "title desc")
	s.WriteString(`><title id="title">` + escape(title) + `</title><desc id="desc">` + escape(story) + "</desc>\n")
	s.WriteString("<style>\n" + palette + timelineStyle + pictureStyle + "</style>\n<defs>")
	s.hatch("hatch", "hatch", 45)
	s.hatch("hatch2", "hatch2", -45)
	s.WriteString("</defs>\n")
	s.rect("paper", "", 0.5, width-0.5, 0.5, height-1, "rx", 8.0)
	s.WriteString("\n" + head.String() + "\n")
	s.tag("g", "class", signOf(d.cell).severity(), "transform", fmt.Sprintf("translate(%g %s)", pictureEdge, number(y)))
	s.WriteString(">\n" + d.content() + "\n")
	key := "○ reads the stock,   ◆ writes the stock;   hatched: the process is stopped or dead"
	if clocksDiffer(d.cell) {
		key = differentClocks
	}
	s.text("key", key, 0, d.y+22)
	s.WriteString("</g>\n</svg>\n")
	return s.String()
}

func (s *svg) hatch(id, class string, angle float64) {
	s.tag("pattern", "id", id, "width", 6.0, "height", 6.0, "patternUnits", "userSpaceOnUse",
		"patternTransform", fmt.Sprintf("rotate(%g)", angle))
	s.WriteString(">")
	s.el("line", "", "class", class, "x1", 0.0, "y1", 0.0, "x2", 0.0, "y2", 6.0)
	s.WriteString("</pattern>")
}

// heading says what happened in the cell, what the cell does, and the story.
func heading(c *history.Cell, what string) (title, does, sentence string) {
	title = "No violation was found"
	if f := history.FirstBroken(c.Findings); f.Result == history.Broken {
		title = whatHappened(f)
		title = strings.ToUpper(title[:1]) + title[1:]
	}
	does = fmt.Sprintf("lock %s %s, scenario %s", clip(c.Rung, 30), clip(c.Name, 30), clip(c.Heading(), 30))
	if what != "" {
		does += ": " + what
	}
	return title, does, story(c)
}

// wrap breaks a text into lines that are no wider than width.
func wrap(text string, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(longer)*13/11 > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	return append(lines, line)
}
