package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format that plots are saved in
)

// plot draws a metric over the number of waiters, a line for each contender, on logarithmic axes.
func (r *Report) plot(path string, m Metric) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s, %d processes, all on one lock", m.Name, r.Processes)
	p.X.Label.Text, p.Y.Label.Text = "waiters in each process", m.Name
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	waiters := r.waiters()
	slices.Sort(waiters)
	of, ticks := map[int]map[string]Figure{}, plot.ConstantTicks{}
	for _, n := range waiters {
		of[n] = Of(r.Samples, m, n)
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	p.X.Tick.Marker = ticks
	p.Add(plotter.NewGrid())
	drawn := false
	for i, c := range r.Contenders {
		var points plotter.XYs
		for _, n := range waiters {
			if f, ok := of[n][c.Name]; ok && f.Median > 0 {
				points = append(points, plotter.XY{X: float64(n), Y: f.Median})
			}
		}
		if len(points) < 2 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i/7), vg.Points(1.5)
		marks.Color, marks.Shape = line.Color, plotutil.Shape(i)
		p.Add(line, marks)
		p.Legend.Add(c.Name, line, marks)
		drawn = true
	}
	if !drawn {
		return nil // nobody counted it
	}
	p.X.Max *= 4 // room for the legend
	return p.Save(9*vg.Inch, 6*vg.Inch, path)
}
