package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"stockapi/bench/figures"
)

// The measures of a bar chart, in pixels.
const (
	barsWidth = 560
	barsName  = 112 // where the bars begin
	barsValue = 112 // for the figures at their ends
	barsLine  = 24
)

// bars draws one metric of a point as horizontal bars, the best first. A thin line goes from the least to the most of
// all rounds. A bar that would make all others tiny is cut.
func bars(t *figures.Table, m figures.Metric) template.HTML {
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r *figures.Row) bool { return r.Figures[m.ID] == nil })
	slices.SortStableFunc(rows, func(a, b *figures.Row) int {
		order := compare(a.Figures[m.ID].Median, b.Figures[m.ID].Median)
		if m.HigherIsBetter {
			return -order
		}
		return order
	})
	most := longestBar(rows, m)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		barsWidth, barsLine*len(rows)+4, template.HTMLEscapeString(caption(m, t.Workload)))
	for i, r := range rows {
		bar(&out, r, r.Figures[m.ID], i*barsLine, most)
	}
	out.WriteString("</svg>")
	return template.HTML(out.String())
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// longestBar returns the value at the end of the scale.
func longestBar(rows []*figures.Row, m figures.Metric) float64 {
	var medians []float64
	most := 0.0
	for _, r := range rows {
		medians = append(medians, r.Figures[m.ID].Median)
		most = max(most, r.Figures[m.ID].Median)
	}
	if middle := figures.Median(medians); middle > 0 {
		return min(most, 4*middle)
	}
	return max(most, 1)
}

func bar(out *strings.Builder, r *figures.Row, f *figures.Figure, y int, most float64) {
	scale := float64(barsWidth-barsName-barsValue) / most
	at := func(v float64) float64 { return barsName + min(v, most)*scale }
	value := number(f)
	if ratio(f) != "" {
		value += ` <tspan class="soft">` + ratio(f) + "×</tspan>"
	}
	fmt.Fprintf(out, `<g class="%s"><title>%s: %s, from %.4g to %.4g</title>`,
		r.Kind, r.Contender, number(f), f.Least, f.Most)
	fmt.Fprintf(out, `<text class="name" x="%d" y="%d">%s</text>`, barsName-8, y+17, r.Contender)
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%.1f" height="16" rx="2"/>`, barsName, y+4, max(at(f.Median)-barsName, 1))
	end := at(f.Median)
	if f.Median > most {
		fmt.Fprintf(out, `<path class="cut" d="M%.1f %dl-6 20m-4 0l6 -20"/>`, end-8, y+2)
	} else if len(r.Samples) > 1 {
		fmt.Fprintf(out, `<path class="range" d="M%.1f %dH%.1f"/>`, at(f.Least), y+12, at(f.Most))
		end = max(end, at(f.Most))
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%d">%s</text></g>`, end+6, y+17, value)
}
