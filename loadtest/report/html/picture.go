package html

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stockapi/loadtest/history"
)

//go:embed picture.css
var pictureStyle string

// The measures of a picture. Its text is 11 units high or more, which is 11 pixels where a page shows it 850 wide.
const (
	pictureWidth = 820.0
	pictureEdge  = 15.0 // the margin on all sides
	pictureRow   = 48.0
	pictureBar   = 16.0
)

// picture is one cell's timeline as a file of its own: larger than in the report, with the orders of the violation
// alone, and with its marks in words.
type picture struct {
	drawing
	drawn int // how many orders are drawn
}

// WritePicture writes a cell's timeline to w, as an SVG file that needs nothing else. It shows the orders of the first
// violation and those that had a fault; of a cell without a violation, those that the report shows. A cell without
// orders is an error.
func WritePicture(w io.Writer, c *history.Cell) error {
	if c.Len() == 0 {
		return errors.New("there are no orders to draw")
	}
	shown := choose(c)
	shown.narrow(c.Faults)
	shown.finding = history.Finding{} // the title says it
	p := &picture{drawing: *newDrawing(c, shown, lockKeys(c, shown), pictureWidth)}
	p.lanes()
	_, err := io.WriteString(printable{w}, p.file())
	return err
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

// file puts the title and the story above the timeline, and the key below it.
func (p *picture) file() string {
	title, does, story := heading(p.cell)
	head := &svg{}
	y := pictureEdge + 20
	head.text("title", title, pictureEdge, y)
	y += 20
	head.text("does", does, pictureEdge, y)
	y += 6
	for _, line := range wrap(story, 13, pictureWidth) {
		y += 18
		head.text("story", line, pictureEdge, y)
	}
	y += 14
	timeline := p.content()
	key, below := p.key(timeline, p.y+22)
	height := y + below + pictureEdge
	width := pictureWidth + 2*pictureEdge

	s := &svg{}
	s.tag("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", fmt.Sprintf("0 0 %g %s", width, number(height)),
		"width", 1000.0, "height", height*1000/width, "role", "img", "aria-labelledby", "title desc")
	s.WriteString(`><title id="title">` + escape(title) + `</title><desc id="desc">` + escape(story) + "</desc>\n")
	s.WriteString("<style>\n" + palette + timelineStyle + pictureStyle + "</style>\n<defs>")
	s.hatch("hatch", "hatch", 45)
	s.hatch("hatch2", "hatch2", -45)
	s.WriteString("</defs>\n")
	s.el("rect", "", "class", "paper", "x", 0.5, "y", 0.5, "width", width-1, "height", height-1, "rx", 8.0)
	s.WriteString("\n" + head.String() + "\n")
	s.tag("g", "transform", fmt.Sprintf("translate(%g %s)", pictureEdge, number(y)))
	s.WriteString(">\n" + timeline + "\n" + key + "</g>\n</svg>\n")
	return s.String()
}

func (s *svg) hatch(id, class string, angle float64) {
	s.tag("pattern", "id", id, "width", 6.0, "height", 6.0, "patternUnits", "userSpaceOnUse",
		"patternTransform", fmt.Sprintf("rotate(%g)", angle))
	s.WriteString(">")
	s.el("line", "", "class", class, "x1", 0.0, "y1", 0.0, "x2", 0.0, "y2", 6.0)
	s.WriteString("</pattern>")
}

// violations are titles of pictures.
var violations = map[history.Verdict]string{
	history.Stock:      "What was sold and what is left do not add up",
	history.Exclusion:  "Two orders held the lock at once",
	history.OwnRelease: "An order removed a lock that was not its own",
	history.Liveness:   "No order got through in time",
	history.Fence:      "The fencing tokens are not in order",
	history.Order:      "Orders got the lock out of turn",
	history.Herd:       "One release woke all who waited",
}

// heading says what happened in the cell, what the cell does, and the story.
func heading(c *history.Cell) (title, does, sentence string) {
	first := firstEvidence(c)
	title = "No violation was found"
	broken := func(f history.Finding) bool { return f.Result == history.Broken }
	if i := slices.IndexFunc(c.Findings, broken); i >= 0 {
		title = violations[c.Findings[i].Verdict]
		if c.Findings[i].Verdict == history.Stock && len(first.Orders) > 1 {
			title = fmt.Sprintf("Unit %d was sold twice", first.Unit)
		}
	}
	does = fmt.Sprintf("lock %s %s, scenario %s", clip(c.Rung, 30), clip(c.Name, 30), clip(c.Scenario, 30))
	if what := doesOf(c.Scenario); what != "" {
		does += ": " + what
	}
	return title, does, story(c)
}

// wrap breaks a text into lines that are no wider than width, at a size of type.
func wrap(text string, size, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(longer)*size/11 > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	return append(lines, line)
}

// keyMark is one entry of the key: a mark and its meaning.
type keyMark struct {
	class, text string
	draw        func(d *drawing, x, y float64)
}

var keyMarks = []keyMark{
	{"read", "reads the stock", func(d *drawing, x, y float64) {
		d.el("circle", "", "class", "read", "cx", x+14, "cy", y, "r", 3.2)
	}},
	{"write", "writes the stock", func(d *drawing, x, y float64) { d.diamond("write", "", x+14, y, 4.6) }},
	{"refused", "the stock refuses the write", func(d *drawing, x, y float64) { d.refusedMark("", x+14, y) }},
	{"believes", "the lock has ended, and the order believes that it holds it", func(d *drawing, x, y float64) {
		d.el("rect", "", "class", "believes", "x", x, "y", y-6, "width", 22.0, "height", 12.0)
	}},
	{"renew", "renews the lock", renewalMark("renew")},
	{"renew failed", "fails to renew the lock", renewalMark("renew failed")},
	{"cross", "a lock removed by an order that did not hold it, or the death of a process",
		func(d *drawing, x, y float64) { d.cross(x+14, y) }},
	{"stopped", "the process is stopped or dead", func(d *drawing, x, y float64) {
		d.el("rect", "", "class", "stopped", "x", x, "y", y-6, "width", 20.0, "height", 12.0)
	}},
	{"overlap " + lockBroken.class, "both orders believe that they hold the lock", func(d *drawing, x, y float64) {
		d.el("rect", "", "class", "overlap "+lockBroken.class, "x", x+6, "y", y-7, "width", 14.0, "height", 14.0)
	}},
}

func renewalMark(class string) func(d *drawing, x, y float64) {
	return func(d *drawing, x, y float64) {
		d.el("path", "", "class", class, "d", fmt.Sprintf("M%s %sl-3.5 -6h7z", number(x+14), number(y+3)))
	}
}

// key explains the marks that the timeline uses, from y on. It returns where it ends.
func (p *picture) key(timeline string, y float64) (markup string, end float64) {
	d := &drawing{}
	x := 0.0
	d.WriteString(`<g class="i0">`)
	for _, m := range keyMarks {
		if !strings.Contains(timeline, `class="`+m.class+`"`) {
			continue
		}
		need := 28 + textWidth(m.text)
		if x > 0 && x+need > pictureWidth {
			x, y = 0, y+18
		}
		m.draw(d, x, y)
		d.text("key", m.text, x+26, y+4)
		x += need + 14
	}
	d.WriteString("</g>\n")
	if clocksDiffer(p.cell) {
		y += 18
		d.text("key", differentClocks, 0, y+4)
	}
	return d.String(), y + 6
}
