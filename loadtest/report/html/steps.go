package html

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sort"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// DrawSteps draws a cell as the report does, but with its steps one unit apart. It draws all orders, and a mark for
// each of their commands. A fault on "time" stands on the lane of the clock.
func DrawSteps(c *history.Cell, steps []history.Step) template.HTML {
	w := window{finding: firstBroken(c), whole: true, caption: "the steps of " + c.Title()}
	w.focus = focusOf(evidenceOf(w.finding))
	for i := range c.Ops {
		op := &c.Ops[i]
		w.ops = append(w.ops, op)
	}
	last := len(steps) - 1
	w.span = span{0, float64(history.StepAt(last+1, steps[last].Passed))}
	d := drawTimeline(c, w, locksOf(c), reportWidth, steps...)
	return template.HTML(d.whole()) // svg escapes all text and attributes
}

// stepTime returns the instant of step i.
func (s scale) stepTime(i int) float64 { return float64(history.StepAt(i, s.steps[i].Passed)) }

// part returns how far along the plot a time lies, from 0 to 1, if the steps are one unit apart.
func (s scale) part(ns float64) float64 {
	at := func(i int) float64 {
		switch {
		case i < 0:
			return s.lo
		case i == len(s.steps):
			return s.hi
		}
		return s.stepTime(i)
	}
	next := sort.Search(len(s.steps), func(i int) bool { return s.stepTime(i) >= ns })
	from, to := at(next-1), at(next)
	return (float64(next) + (ns-from)/(to-from)) / float64(len(s.steps)+1)
}

// stepOf returns the step that has that instant, and false if none has.
func (s scale) stepOf(ns float64) (label string, found bool) {
	for i := range s.steps {
		if by := ns - s.stepTime(i); by > -float64(history.StepApart)/2 && by < float64(history.StepApart)/2 {
			return s.label(i), true
		}
	}
	return "", false
}

func (s scale) label(i int) string {
	if s.steps[i].Label != "" {
		return s.steps[i].Label
	}
	return fmt.Sprint(i + 1)
}

// moment renders a time: as the number of its step, if it has one.
func (s scale) moment(ns float64) string {
	if len(s.steps) == 0 {
		return s.span.moment(ns)
	}
	if label, found := s.stepOf(ns); found {
		return "step " + label
	}
	return seconds(time.Duration(min(ns, 1e15)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("+%.3f s", d.Seconds()) }

// stepTicks returns a line of the axis for each step.
func (s scale) stepTicks() (out []tick) {
	for i := range s.steps {
		out = append(out, tick{s.x(s.stepTime(i)), s.label(i)})
	}
	return out
}

// clock draws the lane of the clock: a line where time passes, hatched where that is a fault.
func (d *drawing) clock() {
	if d.steps[len(d.steps)-1].Passed == 0 {
		return
	}
	const least = time.Millisecond
	d.lane("clock", rowHeight+4)
	middle, before, x0 := d.y+2+rowHeight/2, time.Duration(0), gutter
	for i, step := range d.steps {
		x1 := d.x(d.stepTime(i))
		if step.Passed-before >= least {
			d.passes(d.stepTime(i), x0, x1, middle)
			text := seconds(step.Passed)
			d.put("turn", append(d.within(x0, x1, middle+4, text), spot{x1 + 4, middle + 4, text, ""},
				spot{x0 - 4, middle + 4, text, "end"})...)
			before = step.Passed
		}
		x0 = x1
	}
	d.y += rowHeight + 8
}

// passes draws that time passes until a step.
func (d *drawing) passes(until, x0, x1, middle float64) {
	for _, f := range d.cell.Faults {
		if f.On == "time" && float64(f.End) == until {
			d.rect("fault", f.Text, x0, x1, middle-barHeight/2-2, barHeight+4)
			return
		}
	}
	d.el("line", "", "class", "wait i3", "x1", x0, "x2", x1, "y1", middle, "y2", middle)
}

// sent marks a command that has no mark of its own in a report: hollow, if it was not carried out.
func (d *drawing) sent(cmd *history.Command, x, y float64) {
	class, title := "sent", calledAs(cmd)+": "+cmd.Reply
	if cmd.Err != "" {
		class, title = "sent failed", calledAs(cmd)+": "+clip(cmd.Err, 80)
	}
	d.el("circle", title, "class", class, "cx", x, "cy", y, "r", 3.0)
	d.reserve(x, y, 3)
}

// namesBelow is the room for the names of an order's commands.
const namesBelow = 2 * lineBelow

// called names the commands of an order, below their marks, where there is room.
func (d *drawing) called(b *bar, middle float64) {
	d.group(d.orderClass(b.op), "")
	defer d.end()
	for i := range b.op.Trace {
		cmd := &b.op.Trace[i]
		if cmd.Ended() {
			continue
		}
		x, text, line := d.x(float64(cmd.End)), calledAs(cmd), middle+barHeight/2+15
		half := textWidth(text) / 2
		x = min(max(x, gutter+half), d.right()-half)
		d.put("called", spot{x, line, text, "middle"}, spot{x, line + lineBelow - 2, text, "middle"})
	}
}

// calledAs names a command and its server, in short: a script without "eval:".
func calledAs(cmd *history.Command) string {
	return clip(strings.TrimPrefix(cmd.Cmd, "eval:")+" "+cmd.Node, 32)
}

// A Sheet holds what a page with timelines needs besides its own layout.
type Sheet struct {
	CSS        template.CSS
	Script     template.JS // unfolds cells, and moves between them: see report.js
	ScriptHash string      // as a Content-Security-Policy names the script
}

// NewSheet returns the styles and the script of the report and of steps.
func NewSheet() Sheet {
	sum := sha256.Sum256([]byte(script))
	return Sheet{template.CSS(palette + timelineStyle + pageStyle), template.JS(script),
		"sha256-" + base64.StdEncoding.EncodeToString(sum[:])}
}

// Layout returns the template of a page. The page can use the templates "legend" and "defs": the key to the timelines,
// and the patterns that they are hatched with, which a page must have once.
func Layout(page string) *template.Template {
	return template.Must(template.New("page").Parse(legendLayout + page))
}

// Printable returns a writer that replaces control characters, which markup must not contain.
func Printable(w io.Writer) io.Writer { return printable{w} }

// SignOf returns the class by which a page shows what is worst among findings, as the report does.
func SignOf(findings []history.Finding) (class string) {
	return signOf(&history.Cell{Findings: findings}).Class
}
