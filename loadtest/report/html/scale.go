package html

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The measures of a timeline, in SVG units.
const (
	reportWidth = 1080.0
	gutter      = 104.0 // the lanes' names
	rowHeight   = 20.0
	tallRow     = 34.0 // with a line for words
	lineBelow   = 16.0 // another one, below the bar
	barHeight   = 12.0
)

// scale maps the times of a window to the width of the plot.
type scale struct {
	span
	width float64 // of the whole timeline
}

// right is the right edge of the plot.
func (s scale) right() float64 { return s.width - 14 }

// x returns where a time lies. A time outside the window lies at the edge of the plot.
func (s scale) x(ns float64) float64 {
	x := gutter + (ns-s.lo)/s.length()*(s.right()-gutter)
	return min(max(x, gutter), s.right())
}

func (s scale) shows(ns float64) bool { return ns >= s.lo && ns <= s.hi }

// tick is one line of the axis.
type tick struct {
	x    float64
	text string
}

// ticks returns about eight round times of the window, in ms.
func (s scale) ticks() []tick {
	step := roundStep(s.length() / 8)
	var out []tick
	first := math.Ceil(s.lo / step)
	for i := range 24 {
		at := (first + float64(i)) * step
		if at > s.hi {
			break
		}
		out = append(out, tick{s.x(at), millisAt(at, step)})
	}
	return out
}

// millisAt renders a time of the axis in ms, with as many decimals as its step has.
func millisAt(ns, step float64) string {
	decimals := int(max(0, math.Ceil(-math.Log10(step/1e6)-1e-9)))
	text := strconv.FormatFloat(ns/1e6, 'f', min(decimals, 6), 64)
	if len(text) > 14 {
		text = fmt.Sprintf("%.4g", ns/1e6)
	}
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return strings.Replace(text, "-", "−", 1) + " ms"
}

// roundStep returns the smallest of 1, 2 and 5 times a power of ten that is not below least.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= least {
			return m * power
		}
	}
	return 10 * power
}
