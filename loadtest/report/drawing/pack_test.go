package drawing_test

import (
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

// unpack undoes drawing.Pack: each drawing as JSON has it, without what is empty.
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

// rowsOf are the rows of columns. A time is the difference, in µs, to the one before it in its row; the first time is
// that to the first one of the row above.
func rowsOf(columns map[string]any) (rows []any) {
	by, above := columns["by"].(map[string]any), 0.0
	times, _ := columns["times"].([]any)
	for r := range int(columns["rows"].(float64)) {
		row, last, first := map[string]any{}, above, true
		for name, column := range by {
			if value := column.([]any)[r]; value != nil && !slices.Contains(times, any(name)) {
				row[name] = value
			}
		}
		for _, name := range times {
			if us, is := by[name.(string)].([]any)[r].(float64); is {
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

// rowTimes are the times in the rows of a drawing: 0 is one of them.
var rowTimes = []string{"sent", "done", "from", "to", "released", "since", "at", "came", "end", "heard"}

// plain is a drawing as JSON has it. Its rows are without what is empty, which packed ones do not have.
func plain(t *testing.T, d *drawing.Drawing) (out map[string]any) {
	t.Helper()
	file, err := json.Marshal(d)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &out))
	for name, value := range out {
		rows, is := value.([]any)
		if !is || name == "notes" {
			continue
		}
		for _, row := range rows {
			for field, v := range row.(map[string]any) {
				if v == nil || v == "" || v == 0.0 && !slices.Contains(rowTimes, field) {
					delete(row.(map[string]any), field)
				}
			}
		}
	}
	return out
}

func TestPackKeepsAll(t *testing.T) {
	var drawings []*drawing.Drawing
	cells := []*history.Cell{slow(), paused(), fenced(), gap(), zookeeper(), crashed(), quorum(), herd(), crowd("v4")}
	run, err := history.Open(recorded())
	require.NoError(t, err)
	for _, c := range append(cells, run.Cells...) {
		drawings = append(drawings, drawingOf(c))
	}
	packed, err := drawing.Pack(drawings)
	require.NoError(t, err)
	got := unpack(t, packed)
	require.Len(t, got, len(drawings))
	for i, d := range drawings {
		assert.Equal(t, plain(t, d), got[i])
	}
}

// A list that is empty is not packed, and a drawing without orders is.
func TestPackOfNothing(t *testing.T) {
	packed, err := drawing.Pack([]*drawing.Drawing{{}, drawingOf(cellOf("pause", "v4"))})
	require.NoError(t, err)
	got := unpack(t, packed)
	assert.NotContains(t, got[0], "orders")
	assert.Len(t, got[1]["lanes"], 2)
}

// Of many orders, a lean drawing keeps those whole that it shows first.
func TestLean(t *testing.T) {
	c := crowd("v4")
	for i := range c.Ops {
		c.Ops[i].Sent += 123456 // ns
		c.Ops[i].Trace[0].End += 123456
	}
	c.Strays = []history.Command{command("del", "lock", 1, 2, "0")}
	whole, lean := drawingOf(c), drawingOf(c)
	lean.Lean()
	first := whole.First.Orders
	assert.Len(t, first, 20)
	for i, o := range lean.Orders {
		if slices.Contains(first, i) {
			assert.Equal(t, whole.Orders[i], o)
			assert.Equal(t, whole.Tenures[i], lean.Tenures[i])
		} else {
			sent := drawing.Time(20*i + 10)
			assert.Equal(t, []drawing.Time{sent + .1, sent - .9}, []drawing.Time{o.Sent, lean.Tenures[i].From})
		}
	}
	of := slices.DeleteFunc(slices.Clone(whole.Commands), func(cmd drawing.Command) bool {
		return !slices.Contains(first, cmd.Order)
	})
	assert.Len(t, lean.Commands, len(of))
	assert.Len(t, of, 20*4)
	assert.Len(t, lean.Notes, len(whole.Notes)+1)

	small := drawingOf(slow())
	small.Lean()
	assert.Equal(t, plain(t, drawingOf(slow())), plain(t, small), "a small one stays as it is")
}
