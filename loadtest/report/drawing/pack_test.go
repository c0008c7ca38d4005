package drawing_test

import (
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

// unpack reverses drawing.Compress: it returns each drawing as JSON in rows, without empty fields.
func unpack(t require.TestingT, packed string) (drawings []map[string]any) {
	file := flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	require.NoError(t, json.NewDecoder(file).Decode(&drawings))
	for _, d := range drawings {
		for name, value := range d {
			if columns, is := value.(map[string]any); is && columns["by"] != nil {
				d[name] = rowsOf(columns)
			}
		}
	}
	return drawings
}

// rowsOf returns the rows of columns. A time is the difference, in µs, from the previous one in its row; the first one
// is the difference from the first one of the row above.
func rowsOf(columns map[string]any) (rows []any) {
	by, above := columns["by"].(map[string]any), 0.0
	times, _ := columns["times"].([]any)
	for r := range int(columns["rows"].(float64)) {
		row, last, first := map[string]any{}, above, true
		for name, column := range by {
			if value := column.([]any)[r]; !isEmpty(value) && !slices.Contains(times, any(name)) {
				row[name] = value
			}
		}
		for _, name := range times {
			column, _ := by[name.(string)].([]any) // none if all are never
			if column == nil {
				continue
			}
			if us, is := column[r].(float64); is {
				last += us
				row[name.(string)] = last / 1e3
				if first {
					above, first = last, false
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// rowTimes are the fields that are times: there a 0 is a value.
var rowTimes = []string{"sent", "done", "from", "to", "released", "since", "at", "came", "end", "heard"}

// isEmpty reports whether a value in a row may be omitted.
func isEmpty(v any) bool { return v == nil || v == "" || v == 0.0 || v == false }

// inRows is a drawing without its MarshalJSON.
type inRows drawing.Drawing

// plain returns a drawing as JSON in rows, without empty fields.
func plain(t *testing.T, d *drawing.Drawing) (out map[string]any) {
	t.Helper()
	file, err := json.Marshal((*inRows)(d))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &out))
	for name, value := range out {
		rows, is := value.([]any)
		if !is || name == "notes" {
			continue
		}
		if len(rows) == 0 {
			delete(out, name)
		}
		for _, row := range rows {
			for field, v := range row.(map[string]any) {
				if isEmpty(v) && !slices.Contains(rowTimes, field) || v == nil {
					delete(row.(map[string]any), field)
				}
			}
		}
	}
	return out
}

func TestPackIsLossless(t *testing.T) {
	var drawings []*drawing.Drawing
	cells := []*history.Cell{slow(), paused(), fenced(), gap(), zookeeper(), crashed(), quorum(), herd(), crowd("v4")}
	run, err := history.Open(recorded())
	require.NoError(t, err)
	for _, c := range append(cells, run.Cells...) {
		drawings = append(drawings, drawingOf(c))
	}
	packed, err := drawing.Compress(drawings)
	require.NoError(t, err)
	got := unpack(t, packed)
	require.Len(t, got, len(drawings))
	for i, d := range drawings {
		assert.Equal(t, plain(t, d), got[i])
	}
}

// Empty lists are omitted, and a drawing without orders can be packed.
func TestPackOmitsEmptyLists(t *testing.T) {
	packed, err := drawing.Compress([]*drawing.Drawing{{}, drawingOf(cellOf("pause", "v4"))})
	require.NoError(t, err)
	got := unpack(t, packed)
	assert.NotContains(t, got[0], "orders")
	assert.Len(t, got[1]["lanes"], 2)
}

// A lean drawing of a crowd has the orders of the first frame, unchanged.
func TestLeanDrawing(t *testing.T) {
	c := crowd("v4")
	c.Strays = []history.Command{command("del", "lock", 1, 2, "0")}
	whole, lean := drawingOf(c), drawingOf(c)
	lean.Lean()
	require.Len(t, lean.Orders, 20)
	of := func(d *drawing.Drawing, order int) (commands []string) {
		for _, cmd := range d.Commands {
			if cmd.Order == order {
				commands = append(commands, fmt.Sprint(cmd.Kind, cmd.At, cmd.Text))
			}
		}
		return commands
	}
	kept := slices.Sorted(slices.Values(whole.First.Orders))
	for i, o := range lean.Orders {
		assert.Equal(t, whole.Orders[kept[i]], o)
		assert.Len(t, of(lean, i), 4)
		assert.Equal(t, of(whole, kept[i]), of(lean, i))
		assert.InDelta(t, float64(whole.Tenures[kept[i]].From), float64(lean.Tenures[i].From), 0)
		assert.Equal(t, i, lean.Tenures[i].Order)
	}
	assert.Len(t, lean.First.Orders, 20)
	assert.Equal(t, "This page shows 20 of 200 orders: run this cell alone to see all.",
		lean.Notes[len(lean.Notes)-1])

	shown := drawingOf(c)
	shown.Violations = []drawing.Violation{{Orders: []int{150, 151}}}
	shown.Lean()
	require.Len(t, shown.Orders, 22)
	assert.Equal(t, whole.Orders[150:152], shown.Orders[20:], "those of a violation stay, too")
	assert.Equal(t, []int{20, 21}, shown.Violations[0].Orders)

	small := drawingOf(slow())
	small.Lean()
	assert.Equal(t, plain(t, drawingOf(slow())), plain(t, small), "a small one stays as it is")
}
