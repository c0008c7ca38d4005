package drawing

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
)

// A run of all cells has some hundred drawings, most of which nobody opens. They are packed: a list of orders or
// commands becomes a column for each field, without those that are empty, since alike things compress best beside each
// other. Times become whole microseconds, each as its difference to the one before it in its row, and the first to the
// first of the row before. unpackDrawings of viewer.js undoes it.

// Pack returns drawings in one compressed text. NaN, and what only a forged history holds, is null.
func Pack(drawings []*Drawing) (string, error) {
	packed := make([]map[string]any, len(drawings))
	for i, d := range drawings {
		packed[i] = map[string]any{}
		v := reflect.ValueOf(*d)
		for f := range v.NumField() {
			name, value := tagOf(v.Type().Field(f)), v.Field(f)
			switch {
			case value.IsZero():
			case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
				packed[i][name] = columnsOf(value)
			default:
				packed[i][name] = value.Interface()
			}
		}
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(w).Encode(packed); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func tagOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// columns are the values of rows, by their fields. A row that has no value has null.
type columns struct {
	Rows  int              `json:"rows"`
	Times []string         `json:"times"` // the columns of times, in their order
	By    map[string][]any `json:"by"`
}

func columnsOf(rows reflect.Value) *columns {
	c, kind := &columns{Rows: rows.Len(), By: map[string][]any{}}, rows.Type().Elem()
	for f := range kind.NumField() {
		if kind.Field(f).Type == reflect.TypeFor[Time]() {
			c.Times = append(c.Times, tagOf(kind.Field(f)))
		}
	}
	above := int64(0) // the first time of the row before
	for r := range rows.Len() {
		last, first := above, true
		for f := range kind.NumField() {
			value := rows.Index(r).Field(f)
			if at, is := value.Interface().(Time); is {
				if us := math.Round(float64(at) * 1e3); math.Abs(us) < 1<<52 { // and not NaN
					c.put(kind.Field(f), r, int64(us)-last)
					if last = int64(us); first {
						above, first = last, false
					}
				}
			} else if !value.IsZero() {
				c.put(kind.Field(f), r, value.Interface())
			}
		}
	}
	c.Times = slices.DeleteFunc(c.Times, func(name string) bool { return c.By[name] == nil })
	return c
}

func (c *columns) put(f reflect.StructField, row int, value any) {
	name := tagOf(f)
	if c.By[name] == nil {
		c.By[name] = make([]any, c.Rows)
	}
	c.By[name][row] = value
}

// Lean makes a drawing of many orders small: those that it does not show first lose their commands, and have their
// times to a tenth of a millisecond. The drawing says so.
func (d *Drawing) Lean() {
	if len(d.Orders) <= maxOrders {
		return
	}
	other := func(order int) bool { return !slices.Contains(d.First.Orders, order) }
	round := func(times ...*Time) {
		for _, at := range times {
			*at = Time(math.Round(float64(*at)*10) / 10)
		}
	}
	for i := range d.Orders {
		if o := &d.Orders[i]; other(i) {
			round(&o.Sent, &o.Done, &o.From, &o.To, &o.Released)
		}
	}
	for i := range d.Tenures {
		if h := &d.Tenures[i]; other(h.Order) {
			round(&h.From, &h.Since, &h.At)
		}
	}
	d.Commands = slices.DeleteFunc(d.Commands, func(c Command) bool { return other(c.Order) })
	d.Notes = append(d.Notes, "This page has no commands of the other orders; a run of this cell alone has them.")
}
