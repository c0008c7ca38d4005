package trial

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/sale"
)

// variantsOf returns lines with the same fault: with the instances and the orders swapped, with a third order at b
// before the last step, and with Bert's order before the step that precedes it, if that only lets time pass.
func variantsOf(line string) (all []string) {
	if line == "" || strings.HasPrefix(line, "crowd-") {
		return nil
	}
	swap := func(one string) string { return sale.Either(one == "a", "b", "a") }
	all = append(all, letter.ReplaceAllStringFunc(line, swap))
	words := strings.Split(line, ".")
	third := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "c@") })
	switch {
	case third >= 0:
		all = append(all, replaced(words, third, third+1, "c@a"), replaced(words, third, third+1, "c@b"))
	case len(words) > 2:
		all = append(all, replaced(words, len(words)-1, len(words)-1, "c@b"))
	}
	if b := slices.Index(words, "b>end"); b > 1 && words[b-1] == "expiry" {
		all = append(all, replaced(words, b-1, b+1, "b>end", "expiry"))
	}
	return slices.DeleteFunc(all, func(one string) bool { return one == line })
}

// letter matches the letter of an order or an instance.
var letter = regexp.MustCompile(`\b[ab]\b`)

// replaced returns a line with other words in place of some.
func replaced(words []string, from, to int, with ...string) string {
	return strings.Join(slices.Replace(slices.Clone(words), from, to, with...), ".")
}

func TestVariantsOfLines(t *testing.T) {
	for line, want := range map[string][]string{
		"a>2.lose-request-a.a>end.b>end": {"b>2.lose-request-b.b>end.a>end", "a>2.lose-request-a.a>end.c@b.b>end"},
		"a>release.expiry.b@a<read.a>end.c@b.b>end": {"b>release.expiry.a@b<read.b>end.c@a.a>end",
			"a>release.expiry.b@a<read.a>end.c@a.b>end"},
		"a<read.cut-a.expiry.b>end.join-a.a>end": {"b<read.cut-b.expiry.a>end.join-b.b>end",
			"a<read.cut-a.expiry.b>end.join-a.c@b.a>end", "a<read.cut-a.b>end.expiry.join-a.a>end"},
		"a<acquired.crash-a": {"b<acquired.crash-b"},
	} {
		assert.Equal(t, want, variantsOf(line))
	}
	for _, c := range Cells() {
		for _, line := range variantsOf(strings.ReplaceAll(c.Line, "N", "1")) {
			_, err := schedule.ParseLine(line)
			assert.NoError(t, err, c.Name)
		}
	}
}

// A line of one's own is judged as the cell that it varies: the letters, the cause, and what breaks by design follow
// from the record alone.
func TestVariantsAreJudgedAsTheirCells(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	for kind, names := range map[string][]string{
		"right":            {"slow-work", "pause", "delayed-release 1", "contended-acquire 2", "key-removed 1"},
		"del-without-look": {"delayed-release 1", "delayed-release 2", "hang-up 2"},
		"no-ttl":           {"crash 1"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, planted{file: inPython, kind: kind}.command(t)...)
			o.AtOnce = 4
			of := map[string]string{} // the lines of the cells, by variant
			for _, c := range Cells() {
				if !slices.Contains(names, c.Name) {
					continue
				}
				o.Play = append(o.Play, c.Line)
				for _, line := range variantsOf(c.Line) {
					of[line], o.Play = c.Line, append(o.Play, line)
				}
			}
			_, cells := try(t, o)
			require.Len(t, cells, len(o.Play))
			played := map[string]*history.Cell{}
			for _, c := range cells {
				played[c.Line] = c
			}
			for line, cell := range of {
				x, y := played[cell], played[line]
				assert.Equal(t, judged(x), judged(y), "%s, as %s", line, cell)
			}
		})
	}
}

// judged returns what a cell breaks, and why.
func judged(c *history.Cell) string {
	text := broken(c) + " " + c.Design + c.WhyNot()
	if c.Defect != nil {
		text += c.Defect.Cause
	}
	return text
}
