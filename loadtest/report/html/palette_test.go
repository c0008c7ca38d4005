package html_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type colour [3]float64 // red, green and blue, linear

// What is left of colours for those who see no green, and for those who see no red: Machado, Oliveira and Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.
var sights = map[string][3]colour{
	"all colours":  {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"deuteranopia": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}},
	"protanopia":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
}

func seen(c colour, by [3]colour) (out colour) {
	for i, row := range by {
		out[i] = min(max(row[0]*c[0]+row[1]*c[1]+row[2]*c[2], 0), 1)
	}
	return out
}

func parsed(t *testing.T, hex string) (c colour) {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		if c[i] = float64(n) / 255 / 12.92; n > 10 {
			c[i] = math.Pow((float64(n)/255+.055)/1.055, 2.4)
		}
	}
	return c
}

func luminance(c colour) float64 { return .2126*c[0] + .7152*c[1] + .0722*c[2] }

func contrast(a, b colour) float64 {
	x, y := luminance(a)+.05, luminance(b)+.05
	return max(x, y) / min(x, y)
}

// distance is that of two colours as the eye sees it, in CIELAB: one of 2 is just noticeable.
func distance(a, b colour) float64 {
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(c colour) [3]float64 {
	f := func(t float64) float64 {
		if t > .008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16./116
	}
	x := f((.4124*c[0] + .3576*c[1] + .1805*c[2]) / .95047)
	y := f(luminance(c))
	z := f((.0193*c[0] + .1192*c[1] + .9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// The results have colours that can be told apart with any eyes, and read on every background that they have.
func TestThePaletteIsForAllEyes(t *testing.T) {
	css, err := os.ReadFile("palette.css")
	require.NoError(t, err)
	light, dark, found := strings.Cut(string(css), "@media")
	require.True(t, found)
	for name, part := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]colour{}
		for _, m := range regexp.MustCompile(`--([\w-]+): (#[0-9a-f]+);`).FindAllStringSubmatch(part, -1) {
			colours[m[1]] = parsed(t, m[2])
		}
		results := []string{"ok", "broken", "lock", "stuck", "unknown", "mark"}
		for i, one := range results {
			for _, ground := range []string{"paper", "panel", one + "-bg"} {
				assert.GreaterOrEqual(t, contrast(colours[one], colours[ground]), 4.5, "%s: %s on %s", name, one, ground)
			}
			for _, other := range results[:i] {
				for sight, by := range sights {
					assert.GreaterOrEqual(t, distance(seen(colours[one], by), seen(colours[other], by)), 20.,
						"%s: %s and %s by %s", name, one, other, sight)
				}
			}
		}
		for sight, by := range sights {
			assert.GreaterOrEqual(t, distance(seen(colours["i0"], by), seen(colours["i1"], by)), 20.,
				"%s: two instances by %s", name, sight)
		}
	}
}
