package drawing_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

// Generators of forged histories.
var (
	evil = "</noscript></style></title><script>alert(1)</script>\" onload='x' \x00\x1b\u0085\xff{{.}} javascript:&\u202e" +
		strings.Repeat(" long", 200)

	anyText    = rapid.SampledFrom([]string{"", "o1", "o2", "<&>", "\v\x00", evil})
	anyInstant = rapid.OneOf(
		rapid.Custom(func(t *rapid.T) history.Instant {
			return history.Instant(rapid.Int64Range(-1e9, 1e10).Draw(t, "near"))
		}),
		rapid.SampledFrom([]history.Instant{0, -1, history.Never, history.Never - 1, math.MinInt64}),
	)
	anyOutcome = rapid.SampledFrom([]history.Outcome{
		history.Sold, history.Busy, history.Unknown, "", history.Outcome(evil)})
	anyVerdict = rapid.SampledFrom([]history.Verdict{history.Stock, history.Exclusion, history.Verdict(evil)})
	anyCommand = rapid.Custom(func(t *rapid.T) history.Command {
		cmd := history.Command{
			Node: rapid.SampledFrom([]string{"n1", "n2", evil}).Draw(t, "node"),
			Cmd: rapid.SampledFrom([]string{"set", "get", "del", "eval:renew", "eval:release", "eval:write", "zk:create",
				"fault", "woken", evil}).Draw(t, "cmd"),
			Key: rapid.SampledFrom([]string{"lock", "ProductStock_x", "hold@x", "", evil}).Draw(t, "key"),
			At:  anyInstant.Draw(t, "at"), End: anyInstant.Draw(t, "end"),
			Reply:  rapid.SampledFrom([]string{"OK", "0", strings.Repeat("0", 500) + "1", "", evil}).Draw(t, "reply"),
			Err:    rapid.SampledFrom([]string{"", "", "STALE", history.StockChanged, evil}).Draw(t, "err"),
			Source: rapid.SampledFrom([]history.Source{history.Told, history.ReplyLost, history.Looked}).Draw(t, "source"),
		}
		if rapid.Bool().Draw(t, "wire") {
			cmd.Wire = &history.Carried{Text: evil, Came: anyInstant.Draw(t, "came"), Heard: anyInstant.Draw(t, "heard")}
		}
		return cmd
	})
	anyOp = rapid.Custom(func(t *rapid.T) history.Op {
		o := history.Op{
			Order: anyText.Draw(t, "order"), Instance: rapid.SampledFrom([]string{"a", "b", evil}).Draw(t, "instance"),
			Phase:   rapid.SampledFrom([]history.Phase{history.Buy, history.Probe, history.Reading}).Draw(t, "phase"),
			Outcome: anyOutcome.Draw(t, "outcome"),
			Sent:    anyInstant.Draw(t, "sent"), Done: anyInstant.Draw(t, "done"),
			Units:  rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 30).Draw(t, "units"),
			SoldBy: anyText.Draw(t, "sold by"), Trace: rapid.SliceOfN(anyCommand, 0, 5).Draw(t, "trace"),
		}
		if rapid.Bool().Draw(t, "lease") {
			o.Lease = &history.Lease{AcquiredAt: anyInstant.Draw(t, "acquired"), ReleasedAt: anyInstant.Draw(t, "released"),
				Fence: rapid.Int64Range(-1, 3).Draw(t, "fence")}
		}
		return o
	})
	anyFault = rapid.Custom(func(t *rapid.T) history.Fault {
		return history.Fault{
			Order: anyText.Draw(t, "order"), Instance: anyText.Draw(t, "instance"), Text: anyText.Draw(t, "text"),
			On:   rapid.SampledFrom([]string{"", "network", "locks", "stock", evil}).Draw(t, "on"),
			Kind: rapid.SampledFrom([]history.FaultKind{"", history.FaultKill, history.FaultKind(evil)}).Draw(t, "kind"),
			At:   anyInstant.Draw(t, "at"), End: anyInstant.Draw(t, "end"),
		}
	})
	anyFinding = rapid.Custom(func(t *rapid.T) history.Finding {
		return history.Finding{
			Verdict: anyVerdict.Draw(t, "verdict"),
			Result:  history.Broken, Because: evil,
			Evidence: []history.Evidence{{Text: anyText.Draw(t, "text"), Orders: rapid.SliceOfN(anyText, 0, 3).Draw(t, "orders"),
				At: rapid.SliceOfN(anyInstant, 0, 3).Draw(t, "at")}},
		}
	})
)

// Any file results in a drawing that is safe to show: it marshals and packs, its indices are in range, and its strings
// are short and printable.
func TestForgedHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cellOf("two-instances", "v4", rapid.SliceOfN(anyOp, 0, 30).Draw(t, "ops")...)
		c.TTL, c.InLine = time.Duration(rapid.Int64().Draw(t, "ttl")), rapid.Bool().Draw(t, "in line")
		c.Waiting = rapid.IntRange(-1, 3).Draw(t, "waiting")
		c.Faults = rapid.SliceOfN(anyFault, 0, 5).Draw(t, "faults")
		c.Strays = rapid.SliceOfN(anyCommand, 0, 2).Draw(t, "strays")
		if rapid.Bool().Draw(t, "strangers") {
			c.Instances = nil
		}
		c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, history.Terms{}))
		c.Findings = append(c.Findings, rapid.SliceOfN(anyFinding, 0, 3).Draw(t, "findings")...)
		d := drawing.Of(c)
		sound(t, d)
		d.Lean()
		sound(t, d)
	})
}

// clips are the maximum lengths of strings, by field. Others have at most 40 characters.
var clips = map[string]int{"Title": 204, "Text": 600, "Reply": 120, "Node": 80, "ID": 80, "Notes": 200, "Why": 80,
	"Does": 90, "What": 120, "Says": 60, "Effect": 100}

// sound checks the invariants of a drawing.
func sound(t require.TestingT, d *drawing.Drawing) {
	file, err := json.Marshal(d)
	require.NoError(t, err)
	assert.True(t, utf8.Valid(file))
	packed, err := drawing.Compress([]*drawing.Drawing{d})
	require.NoError(t, err)
	require.Len(t, unpack(t, packed), 1)
	strings := 0
	eachString(reflect.ValueOf(*d), "", func(field, s string) {
		strings++
		most, is := clips[field]
		if !is {
			most = 40
		}
		assert.LessOrEqual(t, len([]rune(s)), most, field)
		for _, r := range s {
			assert.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%s: %q", field, s)
		}
	})
	assert.GreaterOrEqual(t, strings, len(d.Lanes))
	inRange(t, d)
}

// eachString calls f with each string in a value and the name of its field.
func eachString(v reflect.Value, field string, f func(field, s string)) {
	switch v.Kind() {
	case reflect.String:
		f(field, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			eachString(v.Field(i), v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(v.Index(i), field, f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(v.Elem(), field, f)
		}
	}
}

// inRange checks that each index names an order, or a lane of the right kind.
func inRange(t require.TestingT, d *drawing.Drawing) {
	order := func(i, least int) { assert.True(t, i >= least && i < len(d.Orders), "order %d", i) }
	lane := func(i, least int, kinds ...string) {
		if assert.True(t, i >= least && i < len(d.Lanes), "lane %d", i) && i >= 0 {
			assert.Contains(t, kinds, d.Lanes[i].Kind)
		}
	}
	for _, l := range d.Lanes {
		assert.True(t, l.Colour >= 0 && l.Colour < 4)
	}
	for _, o := range d.Orders {
		lane(o.Lane, 0, "instance")
		assert.LessOrEqual(t, len(o.Units), 20)
	}
	for _, h := range d.Tenures {
		order(h.Order, -1)
		lane(h.Lane, 0, "lock")
	}
	for _, cmd := range d.Commands {
		order(cmd.Order, -1)
		lane(cmd.Lane, -1, "instance")
		lane(cmd.Lock, -1, "lock")
	}
	for _, f := range d.Faults {
		order(f.Order, -1)
		lane(f.Lane, 0, "instance", "around")
	}
	for _, v := range d.Violations {
		for _, i := range v.Orders {
			order(i, 0)
		}
	}
	for _, i := range d.First.Orders {
		order(i, 0)
	}
	assert.Less(t, d.First.From, d.First.To)
	assert.LessOrEqual(t, len(d.First.Orders), 24)
}
