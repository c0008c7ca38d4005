package drawing

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// A run of all cells has some hundred drawings, most of which are never opened. So a list of orders or commands is
// written as a column for each field, which compresses best. Empty columns are omitted. Times are in whole
// microseconds, each as the difference from the previous one in its row, and the first from the first of the row above.
// unpackDrawing in unpack.js reverses this.

// MarshalJSON writes the drawing in columns.
func (d *Drawing) MarshalJSON() ([]byte, error) {
	packed, v := map[string]any{}, reflect.ValueOf(*d)
	for f := range v.NumField() {
		name, value := tagOf(v.Type().Field(f)), v.Field(f)
		switch {
		case value.IsZero():
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			packed[name] = columnsOf(value)
		default:
			packed[name] = value.Interface()
		}
	}
	return json.Marshal(packed)
}

// Compress returns the JSON of v, deflated, in base64.
func Compress(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return "", err
	}
	_, _ = w.Write(text) // to memory
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func tagOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// columns holds the values of rows by field.
type columns struct {
	Rows  int              `json:"rows"`
	Times []string         `json:"times"` // the columns of times, in the order of the fields
	By    map[string][]any `json:"by"`
}

func columnsOf(rows reflect.Value) *columns {
	c, kind := &columns{Rows: rows.Len(), By: map[string][]any{}}, rows.Type().Elem()
	above := int64(0) // the first time of the row before
	for r := range rows.Len() {
		last, first := above, true
		for f := range kind.NumField() {
			name, value := tagOf(kind.Field(f)), rows.Index(r).Field(f).Interface()
			at, isTime := value.(Time)
			if !isTime {
				c.By[name] = append(c.By[name], value)
				continue
			}
			if r == 0 {
				c.Times = append(c.Times, name)
			}
			us := math.Round(float64(at) * 1e3)
			if !(math.Abs(us) < 1<<52) { // never, or forged
				c.By[name] = append(c.By[name], nil)
				continue
			}
			c.By[name] = append(c.By[name], int64(us)-last)
			if last = int64(us); first {
				above, first = last, false
			}
		}
	}
	for name, column := range c.By {
		// A column of numbers stays: a zero is a value.
		if !slices.ContainsFunc(column, func(v any) bool { return v != nil && v != "" && v != false && !isEmpty(v) }) {
			delete(c.By, name) // columns of times are listed in Times
		}
	}
	return c
}

// isEmpty reports whether a value is a nil slice or a nil pointer.
func isEmpty(v any) bool {
	value := reflect.ValueOf(v)
	return (value.Kind() == reflect.Slice || value.Kind() == reflect.Pointer) && value.IsZero()
}

// Lean shrinks the drawing of a crowd: it keeps only the orders of the first frame and of the violations, and adds a
// note.
func (d *Drawing) Lean() {
	all := len(d.Orders)
	if all <= maxOrders {
		return
	}
	keep := slices.Clone(d.First.Orders)
	for i := range d.Violations {
		keep = append(keep, d.Violations[i].Orders...)
	}
	slices.Sort(keep)
	keep = slices.Compact(keep)
	at := func(order int) int { return slices.Index(keep, order) } // -1 stays -1
	leaves := func(order int) bool { return order >= 0 && at(order) < 0 }
	orders := make([]Order, len(keep))
	for i, order := range keep {
		orders[i] = d.Orders[order]
	}
	d.Orders = orders
	for i := range d.Violations {
		renumber(d.Violations[i].Orders, at)
	}
	renumber(d.First.Orders, at)
	d.Tenures = slices.DeleteFunc(d.Tenures, func(h Tenure) bool { return leaves(h.Order) })
	for i := range d.Tenures {
		d.Tenures[i].Order = at(d.Tenures[i].Order)
	}
	d.Commands = slices.DeleteFunc(d.Commands, func(c Command) bool { return leaves(c.Order) })
	for i := range d.Commands {
		d.Commands[i].Order = at(d.Commands[i].Order)
	}
	d.Faults = slices.DeleteFunc(d.Faults, func(f Fault) bool { return leaves(f.Order) })
	for i := range d.Faults {
		d.Faults[i].Order = at(d.Faults[i].Order)
	}
	d.Notes = append(d.Notes, fmt.Sprintf("This page shows %d of %d orders: run this cell alone to see all.",
		len(keep), all))
}

func renumber(orders []int, at func(int) int) {
	for i := range orders {
		orders[i] = at(orders[i])
	}
}
