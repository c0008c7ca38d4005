package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/worker"
)

// The measures of a panel, in pixels.
const (
	panelWidth  = 250
	panelHeight = 150
	panelLeft   = 46
	panelRight  = 10
	panelTop    = 8
	panelBottom = 22
)

// A line is one contender over the number of waiters.
type line struct {
	Contender
	x, y []float64
}

// lines returns a section for each metric that is drawn over the number of waiters, if there are several numbers.
func (r *Report) lines() (sections []lineSection) {
	for _, m := range figures.Metrics {
		if m.ID != figures.Rate && m.ID != figures.P99 && m.ID != figures.Commands {
			continue
		}
		processes, all := r.linesOf(m)
		if s := newScale(all, m.ID != figures.Rate); s.maxX > s.minX {
			about := "From %.0f to %.0f waiters in each of %s, all on one lock. A panel has one contender in colour and the " +
				"others behind it. The dashed line is the limit: a mutex in one process."
			sections = append(sections, lineSection{Title: caption(m, worker.Hot) + ", over the number of waiters",
				About: fmt.Sprintf(about, s.minX, s.maxX, counted(processes, "process")), Panels: s.panels(all)})
		}
	}
	return sections
}

// counted returns a number with what it counts, in the plural if there are several.
func counted(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// linesOf returns the lines of a metric, with the number of processes that they are of.
func (r *Report) linesOf(m figures.Metric) (processes int, all []line) {
	for _, p := range r.Main {
		if p.Workload == worker.Hot {
			processes = p.Processes
		}
	}
	for _, c := range r.Contenders {
		l := line{Contender: c}
		for _, t := range r.hotPoints() {
			if row := t.Row(c.Name); t.Processes == processes && row != nil && row.Figures[m.ID] != nil {
				l.x, l.y = append(l.x, float64(t.Waiters)), append(l.y, row.Figures[m.ID].Median)
			}
		}
		if len(l.x) > 1 {
			all = append(all, l)
		}
	}
	return processes, all
}

// A scale maps waiters and values to pixels. Waiters are on a logarithmic axis, and the values if log is set.
type scale struct {
	minX, maxX, minY, maxY float64
	log                    bool
	ticksX                 []float64
}

func newScale(all []line, log bool) scale {
	s := scale{minX: math.Inf(1), maxX: math.Inf(-1), minY: math.Inf(1), maxY: math.Inf(-1), log: log}
	for _, l := range all {
		for i := range l.x {
			s.minX, s.maxX = min(s.minX, l.x[i]), max(s.maxX, l.x[i])
			s.minY, s.maxY = min(s.minY, l.y[i]), max(s.maxY, l.y[i])
		}
		if len(l.x) > len(s.ticksX) {
			s.ticksX = l.x
		}
	}
	if log {
		s.minY = math.Pow(10, math.Floor(math.Log10(max(s.minY, 0.001))))
		s.maxY = math.Pow(10, math.Ceil(math.Log10(max(s.maxY, 0.01))))
	} else {
		s.minY = 0
	}
	return s
}

func (s scale) atX(v float64) float64 {
	share := math.Log(v/s.minX) / math.Log(s.maxX/s.minX)
	return panelLeft + share*(panelWidth-panelLeft-panelRight)
}

func (s scale) atY(v float64) float64 {
	share := v / s.maxY
	if s.log {
		share = math.Log(max(v, s.minY)/s.minY) / math.Log(s.maxY/s.minY)
	}
	return panelHeight - panelBottom - share*(panelHeight-panelTop-panelBottom)
}

// ticksY returns the values at which the grid has lines.
func (s scale) ticksY() (ticks []float64) {
	if !s.log {
		step := math.Pow(10, math.Floor(math.Log10(s.maxY)))
		for s.maxY/step < 2.5 {
			step /= 2
		}
		for v := 0.0; v <= s.maxY; v += step * math.Ceil(s.maxY/step/4) {
			ticks = append(ticks, v)
		}
		return ticks
	}
	for v := s.minY; v <= s.maxY*1.001; v *= 10 {
		ticks = append(ticks, v)
	}
	return ticks
}

// panels draws a panel for each line. The limits are behind all others, and have none of their own.
func (s scale) panels(all []line) (charts []chart) {
	for _, l := range all {
		if l.Kind != contender.Limit {
			charts = append(charts, chart{Title: l.Name, SVG: s.panel(l, all)})
		}
	}
	return charts
}

func (s scale) panel(shown line, all []line) template.HTML {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, panelWidth, panelHeight, shown.Name)
	s.axes(&out)
	for _, l := range all {
		if l.Name != shown.Name {
			fmt.Fprintf(&out, `<path class="behind %s" d="%s"/>`, l.Kind, s.path(l))
		}
	}
	fmt.Fprintf(&out, `<g class="%s"><path class="line" d="%s"/>`, shown.Kind, s.path(shown))
	for i := range shown.x {
		x, y := shown.x[i], shown.y[i]
		fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="3"><title>%s: %s</title></circle>`,
			s.atX(x), s.atY(y), counted(int(x), "waiter"), number(&figures.Figure{Median: y}))
	}
	out.WriteString("</g></svg>")
	return template.HTML(out.String())
}

func (s scale) path(l line) string {
	var out strings.Builder
	for i := range l.x {
		fmt.Fprintf(&out, "%c%.1f %.1f", "ML"[min(i, 1)], s.atX(l.x[i]), s.atY(l.y[i]))
	}
	return out.String()
}

func (s scale) axes(out *strings.Builder) {
	for _, v := range s.ticksY() {
		y := s.atY(v)
		fmt.Fprintf(out, `<path class="grid" d="M%d %.1fH%d"/><text class="tick y" x="%d" y="%.1f">%s</text>`,
			panelLeft, y, panelWidth-panelRight, panelLeft-6, y+3.5, tick(v))
	}
	last := math.Inf(-1)
	for _, v := range s.ticksX {
		if x := s.atX(v); x-last > 18 { // the numbers must not touch
			last = x
			fmt.Fprintf(out, `<text class="tick x" x="%.1f" y="%d">%.0f</text>`, x, panelHeight-6, v)
		}
	}
}

// tick shows a value of the axis.
func tick(v float64) string {
	if v >= 1 {
		return grouped(fmt.Sprintf("%.0f", v))
	}
	return fmt.Sprintf("%g", v)
}
