package stage_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A picture has the unpacked rows of an event's drawing, as maps from fields to values.
type picture struct{ Orders, Commands []row }

type row = map[string]any

// pictureOf returns the drawing of an event.
func pictureOf(t *testing.T, e *event) *picture {
	t.Helper()
	rows := func(name string) (all []row) {
		var columns struct {
			Rows  int
			Times []string
			By    map[string][]any
		}
		text, err := json.Marshal(e.Drawing[name])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &columns))
		above := 0.0
		for r := range columns.Rows {
			one, last, first := row{}, above, true
			for field, column := range columns.By {
				one[field] = column[r]
			}
			for _, field := range columns.Times {
				if one[field] == nil {
					continue
				}
				last += one[field].(float64)
				if one[field] = last / 1000; first {
					above, first = last, false
				}
			}
			all = append(all, one)
		}
		return all
	}
	return &picture{rows("orders"), rows("commands")}
}

// drawing waits for the first drawing of the round that is accepts.
func (w *wall) drawing(is func(*picture) bool) (d *picture) {
	w.t.Helper()
	w.await("drawing", func(e *event) bool {
		d = pictureOf(w.t, e)
		return is(d)
	})
	return d
}

// order returns an order by its name, nil if it is not in the drawing.
func (d *picture) order(id string) row {
	if i := d.index(id); i >= 0 {
		return d.Orders[i]
	}
	return nil
}

func (d *picture) index(id string) int {
	return slices.IndexFunc(d.Orders, func(o row) bool { return o["id"] == id })
}

// kinds returns the kinds of an order's commands that have not failed.
func (d *picture) kinds(id string) (kinds []any) {
	for _, cmd := range d.Commands {
		if cmd["order"] == float64(d.index(id)) && cmd["failed"] != true {
			kinds = append(kinds, cmd["kind"])
		}
	}
	return kinds
}

// An order in flight has its lease, its fencing token and its commands.
func TestDrawingOfOrdersInFlight(t *testing.T) {
	t.Parallel()
	c := openAt(t, 1, ownRounds(t, "v15")...) // on a busy machine Bert needs more than a short lease
	c.do("vote")
	c.join().vote("E", "0")
	c.do("vote")
	c.do("anna")
	d := c.wall.drawing(func(d *picture) bool { return slices.Contains(d.kinds("anna"), any("read")) })
	anna := d.order("anna")
	assert.Equal(t, true, anna["lease"])
	assert.EqualValues(t, 1, anna["fence"])
	assert.NotNil(t, anna["from"])
	for _, unknown := range []string{"to", "released", "done"} {
		assert.Nil(t, anna[unknown], unknown)
	}
	c.wall.await("fault", func(e *event) bool { return e.State == "stopped" })
	c.do("bert")
	d = c.wall.drawing(func(d *picture) bool { return d.order("bert")["done"] != nil })
	assert.EqualValues(t, 2, d.order("bert")["fence"])
	assert.Subset(t, d.kinds("bert"), []any{"acquire", "read", "write", "release"})
	lost, _ := d.order("anna")["lost"].(row)
	assert.Equal(t, "expired", lost["how"])
	c.do("continue")
	d = c.wall.drawing(func(d *picture) bool { return d.order("anna")["done"] != nil })
	assert.Subset(t, d.kinds("anna"), []any{"acquire", "read"})
}

// While two orders are in flight at an instance, the sender of a command is unknown, so neither has it. Once they have
// ended, each has its own.
func TestDrawingOfOrdersAtOneInstance(t *testing.T) {
	t.Parallel()
	c := open(t, ownRounds(t, "v4")...)
	c.do("vote")
	c.join().vote("S", "1")
	c.do("vote")
	c.do("bert")
	c.do("bert")
	d := c.wall.drawing(func(d *picture) bool {
		return len(d.Orders) == 2 && d.Orders[0]["done"] != nil && d.Orders[1]["done"] != nil
	})
	for _, id := range []string{"bert", "bert-2"} {
		assert.Equal(t, []any{"acquire", "read", "write", "release"}, d.kinds(id), id)
	}
	for _, e := range c.wall.all() {
		if e.Kind != "drawing" {
			continue
		}
		for _, cmd := range pictureOf(t, &e).Commands {
			assert.NotEqual(t, -1.0, cmd["order"], cmd)
		}
	}
}
