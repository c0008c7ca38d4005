package html_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"stockapi/loadtest/history"
)

// shape is an element of a timeline, with the text in it and the group that it is in.
type shape struct {
	xml.StartElement
	text, group string
}

func (s shape) class() string { return attr(s.StartElement, "class") }

func (s shape) number(name string) float64 {
	f, _ := strconv.ParseFloat(attr(s.StartElement, name), 64)
	return f
}

// timelinesOf returns the shapes of each timeline of a report.
func timelinesOf(t require.TestingT, doc string) (all [][]shape) {
	d := xml.NewDecoder(strings.NewReader(doc))
	var groups []string
	in := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			switch {
			case e.Name.Local == "svg":
				if in = strings.HasPrefix(attr(e, "class"), "timeline"); in {
					all, groups = append(all, nil), nil
				}
			case in && e.Name.Local == "g":
				groups = append(groups, attr(e, "class"))
			case in:
				all[len(all)-1] = append(all[len(all)-1], shape{StartElement: e.Copy(), group: strings.Join(groups, " ")})
			}
		case xml.EndElement:
			if in && e.Name.Local == "g" {
				groups = groups[:len(groups)-1]
			}
			in = in && e.Name.Local != "svg"
		case xml.CharData:
			if in && len(all[len(all)-1]) > 0 {
				last := &all[len(all)-1][len(all[len(all)-1])-1]
				last.text += string(e)
			}
		}
	}
}

// of returns the shapes of that class, in a group whose class has that word.
func of(shapes []shape, class, group string) (out []shape) {
	for _, s := range shapes {
		if (s.class() == class || strings.HasPrefix(s.class(), class+" ")) && strings.Contains(s.group, group) {
			out = append(out, s)
		}
	}
	return out
}

// texts returns what a timeline says.
func texts(shapes []shape) (out []string) {
	for _, s := range shapes {
		if s.Name.Local == "text" {
			out = append(out, s.text)
		}
	}
	return out
}

func draw(t *testing.T, c *history.Cell) [][]shape {
	t.Helper()
	all := timelinesOf(t, render(t, runOf(c)))
	require.NotEmpty(t, all)
	return all
}

// timeAt returns the time at a point of the axis, in ms, by two of its lines.
func timeAt(t *testing.T, shapes []shape, x float64) float64 {
	t.Helper()
	var xs, times []float64
	for _, s := range of(shapes, "axis", "") {
		text := strings.Replace(strings.TrimSuffix(s.text, " ms"), "−", "-", 1)
		at, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, s.text)
		xs, times = append(xs, s.number("x")), append(times, at)
	}
	require.Greater(t, len(xs), 1)
	return times[0] + (x-xs[0])/(xs[1]-xs[0])*(times[1]-times[0])
}

func TestTheEndOfALeaseIsDrawn(t *testing.T) {
	first := draw(t, slow())[0]
	over := of(first, "over", "order")
	require.Len(t, over, 1, "one order works on without its lock")
	bar, pale := of(first, "bar", "order i0"), of(first, "believes", "order i0")
	require.Len(t, pale, 1)
	ends := bar[len(bar)-1].number("x") + bar[len(bar)-1].number("width")
	assert.InDelta(t, pale[0].number("x"), ends, 0.6, "solid until the TTL is over, then pale")
	assert.InDelta(t, 9+1000, timeAt(t, first, ends), 5, "the acquire ended at 9 ms, and the TTL is 1 s")
	assert.Subset(t, texts(first), []string{
		"TTL over", "holds the lock", "believes it holds the lock",
		"held by order 1, since 9 ms", "order 1: TTL over at 1009 ms",
	})
}

func TestALockWithoutATTLNeverEnds(t *testing.T) {
	for _, rung := range []string{"v1", "v12-naive", "v13"} {
		c := slow()
		c.Rung, c.Ops = rung, c.Ops[:2]
		c.Ops[1].Trace[0].Cmd = map[string]string{"v1": "setnx", "v12-naive": "sql:acquire", "v13": "zk:create"}[rung]
		c.Ops[1].Trace[4] = command("del", "lock", 2500, 2501, "1")
		first := draw(t, c)[0]
		assert.Empty(t, of(first, "over", ""), rung)
		assert.Empty(t, of(first, "believes", ""), rung)
	}
}

// fenced is a cell in which order 1 is stopped for longer than its lease, and the stock refuses its write.
func fenced() *history.Cell {
	first, second := sale("lt-beef-3-v15-1", "a", 98, 10, 525), sale("lt-beef-3-v15-2", "b", 98, 523, 524)
	first.Outcome, first.Units, first.Lease.Fence, second.Lease.Fence = history.NotSold, nil, 33, 34
	key := "ProductStock_lt-beef-3-v15"
	const us1 = history.Instant(time.Microsecond)
	us := func(cmd history.Command, at, end history.Instant) history.Command {
		cmd.At, cmd.End = at*us1, end*us1
		return cmd
	}
	stale := us(history.Command{Cmd: "eval:write", Key: key, Err: "STALE a newer token has been seen"}, 524300, 524500)
	first.Trace = []history.Command{
		command("eval:acquire", "lock", 9, 10, "33"), command("eval:read", key, 10, 11, "98"),
		us(command("fault", "stop@before:eval:write", 0, 0, ""), 11000, 524300), stale,
		us(command("eval:release", "lock", 0, 0, "0"), 525000, 525100),
	}
	second.Trace = []history.Command{
		us(command("eval:acquire", "lock", 0, 0, "34"), 520600, 523000),
		us(command("eval:read", key, 0, 0, "98"), 523100, 523300),
		us(command("eval:write", key, 0, 0, "OK"), 523400, 523700),
		us(command("eval:release", "lock", 0, 0, "1"), 524000, 524100),
	}
	second.Sent, first.Done, second.Done = 15*ms, 525200*us1, 524150*us1
	first.Sent = 8 * ms
	opening := sale("lt-beef-3-v15-opening-a", "a", 99, 3, 5)
	opening.Sent, opening.Done, opening.Trace = 0, 6*ms, slices.Delete(opening.Trace, 2, 3)
	c := cellOf("pause", "v15", opening, first, second)
	left := int64(98)
	c.Left, c.TTL = &left, 500*time.Millisecond
	c.Faults = []history.Fault{{
		Order: "lt-beef-3-v15-1", Instance: "a", Text: "stopped for 0.513 s before eval:write under a lease of 0.500 s",
		Kind: history.FaultStop, At: 11 * ms, End: 524 * ms,
	}}
	return c
}

func TestARefusedWriteIsNotAWrite(t *testing.T) {
	all := draw(t, fenced())
	require.Len(t, all, 1)
	for _, shapes := range all {
		assert.Len(t, of(shapes, "refused", "order i0"), 1)
		assert.Empty(t, of(shapes, "write", "order i0 nosale"), "order 1 wrote nothing")
		assert.Contains(t, texts(shapes),
			"lock broken, stock safe: two orders held the lock at once; the stock refused the late write of order 1")
		assert.Empty(t, of(shapes, "sign", "stock-broken"))
		assert.Len(t, of(shapes, "sign", "lock-broken"), 1)
	}
	for _, shapes := range all {
		assert.Contains(t, texts(shapes), "refused: token 1 < 2", "there is room for the tokens below the mark")
	}

	c := fenced()
	c.Ops[1].Trace[3].Err = "redis: transaction failed"
	assert.Contains(t, texts(draw(t, c)[0]), "refused: the stock has changed")
	c.Ops[1].Trace[3].Err = "NOSCRIPT No matching script. Please use EVAL."
	assert.Empty(t, of(draw(t, c)[0], "refused", ""), "the client sends it again")
	c.Ops[1].Trace[3].Err, c.Ops[1].Trace[3].Source = "i/o timeout", history.ReplyLost
	first := draw(t, c)[0]
	assert.Empty(t, of(first, "refused", ""))
	assert.Len(t, of(first, "unsure", ""), 1, "it may have been written")
}

// gap is a cell in which order 1 removes the lock of order 2, which has had it for some µs of half a second.
func gap() *history.Cell {
	first, second := sale("lt-beef-3-v3-1", "a", 98, 10, 20), sale("lt-beef-3-v3-2", "b", 97, 537, 545)
	first.Trace[2] = command("get", "lock", 20, 21, "token")
	first.Trace[4] = command("del", "lock", 540, 541, "1")
	first.Trace = append(first.Trace, command("fault", "hold@before:del/lock", 21, 540, ""))
	second.Trace[4].Reply, second.Sent = "0", 25*ms
	first.Sent, first.Done, second.Done = 7*ms, 541*ms, 546*ms
	c := cellOf("check-delete-gap", "v3", first, second)
	left := int64(98)
	c.Left, c.TTL = &left, 500*time.Millisecond
	c.Ops[0].Units, c.Ops[1].Units = []int64{100}, []int64{99}
	return c
}

// line is a cell in which 30 orders wait for the first one. Turns says in which turn each gets the lock.
func line(rung string, turns map[int]int) *history.Cell {
	c := cellOf("queue-order", rung, sale("lt-beef-3-"+rung+"-first", "a", 98, 10, 1000))
	c.InLine, c.TTL = true, 30*time.Second
	for i := 1; i <= 30; i++ {
		turn := i
		if t, other := turns[i]; other {
			turn = t
		}
		op := sale(fmt.Sprintf("lt-beef-3-%s-%d", rung, i), []string{"b", "a"}[i%2], int64(98-i),
			history.Instant(1000+turn*10), history.Instant(1007+turn*10))
		op.Sent = history.Instant(20*i) * ms
		c.Ops = append(c.Ops, op)
	}
	return c
}

func TestAQueueIsDrawnByArrival(t *testing.T) {
	all := draw(t, line("v8", nil))
	require.Len(t, all, 1, "the queue is drawn once")
	waits := of(all[0], "queued", "order")
	require.Len(t, waits, 23, "of those who came after the first one")
	for i, s := range waits {
		sent := float64(20 * (i + 1))
		assert.InDelta(t, sent, timeAt(t, all[0], s.number("x")), 3)
		assert.InDelta(t, 1010+float64(10*i), timeAt(t, all[0], s.number("x")+s.number("width")), 3)
		if i > 0 {
			assert.Greater(t, s.number("y"), waits[i-1].number("y"), "a row for each, as they came")
		}
	}
	assert.Len(t, of(all[0], "fault", "order"), 24, "each of these orders was held up for a while")
	assert.Subset(t, texts(all[0]), []string{"first on a", "order 1 on a", "order 2 on b", "turn 1", "turn 2", "turn 24"})

	all = draw(t, line("v4", map[int]int{3: 28, 28: 3}))
	assert.Subset(t, texts(all[0]), []string{
		"turn 29 instead of 4", "turn 5", "unfair: orders got the lock out of turn",
	})
	assert.NotEmpty(t, of(all[0], "turn", "overtaken"))
}

// zookeeper is a cell of v14: order 1 dies with the lock, and the next ones have places behind it.
func zookeeper() *history.Cell {
	place := func(n int) string { return fmt.Sprintf("/stockapi/sequential/DistributedLock_p/_c_x-lock-%010d", n) }
	opening, fresh := sale("opening-a", "b", 99, 5, 10), sale("probe-2", "b", 98, 900, 910)
	for n, op := range []*history.Op{&opening, &fresh} {
		op.Trace[0] = command("zk:create", place(n*3), op.Lease.AcquiredAt/ms-3, op.Lease.AcquiredAt/ms-2, "ok")
		op.Trace[4] = command("zk:delete", place(n*3), op.Lease.ReleasedAt/ms, op.Lease.ReleasedAt/ms+1, "true")
	}
	fresh.Phase = history.Probe
	unnumbered := command("zk:create", "/stockapi/sequential/DistributedLock_p/_c_x-lock-", 0, 1, "")
	unnumbered.Err, unnumbered.Source = "zk: node does not exist", history.ReplyLost
	opening.Trace = append(opening.Trace, unnumbered)
	c := cellOf("crash", "v14", opening,
		history.Op{Order: "1", Phase: history.Buy, Instance: "a", Outcome: history.NotSold, Sent: 12 * ms, Done: 30 * ms},
		history.Op{
			Order: "probe-1", Phase: history.Probe, Instance: "b", Outcome: history.Busy, Sent: 40 * ms, Done: 540 * ms,
			Trace: []history.Command{
				command("zk:watch", place(1), 45, 46, ""), command("zk:delete", place(2), 530, 535, "true"),
			},
		},
		fresh)
	c.Faults = []history.Fault{{Order: "1", Instance: "a", Kind: history.FaultKill,
		Text: "killed before set/stock", At: 20 * ms, End: 30 * ms}}
	c.TTL = 500 * time.Millisecond
	return c
}

func TestAQueueOfZooKeepersHasALane(t *testing.T) {
	first := draw(t, zookeeper())[0]
	assert.Equal(t, []string{"instance a", "instance b", "lock key"}, func() (names []string) {
		for _, s := range of(first, "name", "") {
			names = append(names, s.text)
		}
		return names
	}())
	held := of(first, "bar", "hold")
	require.Len(t, held, 2, "places are the lock from the lease on")
	assert.InDelta(t, 900, timeAt(t, first, held[1].number("x")), 3)
	assert.InDelta(t, 911, timeAt(t, first, held[1].number("x")+held[1].number("width")), 4)
	assert.Len(t, of(first, "busy", ""), 1)
	assert.Len(t, of(first, "maybe", ""), 1, "what the dead order had")
	assert.Contains(t, texts(first), "perhaps the key of order 1, which died")
}

func TestALockLostOnSomeNodesEndsWithTheQuorum(t *testing.T) {
	first, second := sale("1", "a", 98, 10, 400), sale("2", "b", 98, 380, 390)
	first.Trace, second.Trace = first.Trace[1:4], second.Trace[1:4]
	for n := range 5 {
		set := command("set", "redlock:p", 5, 8, "true")
		set.Node = fmt.Sprint("n", n)
		if n < 3 {
			first.Trace = append(first.Trace, set)
		}
		set.At, set.End = 370*ms, 375*ms
		if n >= 2 {
			second.Trace = append(second.Trace, set)
		}
	}
	c := cellOf("node-restart", "v6", first, second)
	c.TTL = 30 * time.Second
	shapes := draw(t, c)[0]
	over := of(shapes, "over", "order i0")
	require.Len(t, over, 1)
	assert.Contains(t, texts(shapes), "lock gone")
	assert.Contains(t, texts(shapes), "its lock ends at some time here", "when the node forgot it is not known")
	assert.Len(t, of(shapes, "maybe", "order i0"), 1)
	pale := of(shapes, "believes", "order i0")
	require.Len(t, pale, 1)
	assert.InDelta(t, 375, timeAt(t, shapes, pale[0].number("x")), 2)
}

// room is the smallest rectangle around a shape.
type room struct{ x0, y0, x1, y1 float64 }

func (r room) meets(o room) bool {
	const touch = 0.2 // numbers are rounded to tenths
	return r.x0+touch < o.x1 && o.x0+touch < r.x1 && r.y0+touch < o.y1 && o.y0+touch < r.y1
}

var step = regexp.MustCompile(`[Mmlhvz][^Mmlhvz]*`)

// around returns the room of a path of straight lines.
func around(path string) room {
	r := room{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	x, y, start := 0.0, 0.0, [2]float64{}
	for _, s := range step.FindAllString(path, -1) {
		var dx, dy float64
		switch s[0] {
		case 'h':
			_, _ = fmt.Sscan(s[1:], &dx)
		case 'v':
			_, _ = fmt.Sscan(s[1:], &dy)
		default:
			_, _ = fmt.Sscan(s[1:], &dx, &dy)
		}
		switch s[0] {
		case 'M':
			x, y = 0, 0
		case 'z':
			x, y = start[0], start[1]
		}
		x, y = x+dx, y+dy
		if s[0] == 'M' || s[0] == 'm' {
			start = [2]float64{x, y}
			if s[0] == 'm' {
				continue // the pen is up
			}
		}
		r = room{min(r.x0, x), min(r.y0, y), max(r.x1, x), max(r.y1, y)}
	}
	return r
}

// rooms returns those of the texts and of the marks of a timeline.
func rooms(shapes []shape) (texts, marks map[string]room) {
	texts, marks = map[string]room{}, map[string]room{}
	for i, s := range shapes {
		name := fmt.Sprintf("%d %s %s %s", i, s.class(), s.text, attr(s.StartElement, "d"))
		switch s.Name.Local {
		case "text":
			x, y, w := s.number("x"), s.number("y"), 0.0
			for _, r := range s.text {
				w += map[bool]float64{true: 6.6, false: 11}[r < 0x80]
			}
			switch attr(s.StartElement, "text-anchor") {
			case "middle":
				x -= w / 2
			case "end":
				x -= w
			}
			texts[name] = room{x, y - 9, x + w, y + 3}
		case "circle":
			x, y, r := s.number("cx"), s.number("cy"), s.number("r")
			marks[name] = room{x - r, y - r, x + r, y + r}
		case "path":
			if strings.Contains(attr(s.StartElement, "d"), "C") || strings.Contains(attr(s.StartElement, "d"), "L") {
				continue // a line from one mark to another
			}
			marks[name] = around(attr(s.StartElement, "d"))
		}
	}
	return texts, marks
}

// legible checks that no text of a report's timelines covers a mark or another text, or leaves its timeline.
func legible(t require.TestingT, title, doc string) {
	for _, shapes := range timelinesOf(t, doc) {
		texts, marks := rooms(shapes)
		for name, one := range texts {
			assert.True(t, one.x0 >= -0.2 && one.x1 <= 1080.2, "%s: %s leaves the timeline", title, name)
			for other, two := range texts {
				assert.False(t, name < other && one.meets(two), "%s: %s and %s", title, name, other)
			}
			for mark, two := range marks {
				assert.False(t, one.meets(two), "%s: %s covers %s: %v %v", title, name, mark, one, two)
			}
		}
	}
}

func TestLabelsCoverNoMarks(t *testing.T) {
	many := cellOf("two-instances", "v0.5")
	for i := range 60 {
		at := history.Instant(i*7 + 10)
		many.Ops = append(many.Ops, sale(fmt.Sprint("o", i), []string{"a", "b"}[i%2], int64(100-i/2), at, at+8))
	}
	for _, c := range []*history.Cell{
		slow(), paused(), fenced(), gap(), line("v8", nil), line("v4", map[int]int{3: 6, 6: 3}), zookeeper(), many,
	} {
		legible(t, c.Scenario+" "+c.Rung, render(t, runOf(c)))
	}
	run, err := history.Open(filepath.Join("testdata", "violations.jsonl.gz"))
	require.NoError(t, err)
	for _, c := range run.Cells {
		legible(t, c.Scenario+" "+c.Rung, render(t, runOf(c)))
	}
}

// Whatever a file holds, the report is made, is well-formed, has no number that cannot be drawn, and is legible.
func TestLabelsCoverNoMarksOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cellOf("two-instances", "v4", rapid.SliceOfN(anyOp, 0, 30).Draw(t, "ops")...)
		c.TTL, c.InLine = time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "ttl")), rapid.Bool().Draw(t, "in line")
		if rapid.Bool().Draw(t, "strangers") {
			c.Instances = nil
		}
		doc := render(t, runOf(c))
		sound(t, doc)
		legible(t, "", doc)
	})
}

// Every mark of a timeline stands in the legend.
func TestTheLegendHasEveryMark(t *testing.T) {
	renewed := slow()
	renewed.Ops[1].Trace = append(renewed.Ops[1].Trace, command("eval:renew", "lock", 500, 501, "1"))
	lost := fenced()
	lost.Ops[1].Trace[3].Source = history.ReplyLost
	quiet := map[string]bool{"lane": true, "grid": true, "hit": true, "tagbox": true}
	for _, c := range []*history.Cell{renewed, lost, paused(), fenced(), gap(), line("v8", nil), zookeeper()} {
		doc := render(t, runOf(c))
		_, legend, _ := strings.Cut(doc, `<ul class="legend">`)
		legend, _, _ = strings.Cut(legend, "</ul>")
		for _, shapes := range timelinesOf(t, doc) {
			for _, s := range shapes {
				class, _, _ := strings.Cut(s.class(), " ")
				if s.Name.Local != "text" && class != "" && !quiet[class] {
					assert.Regexp(t, `class="`+class+`[" ]`, legend)
				}
			}
		}
	}
}

// A bar begins with its lease: what an order did before, it did without the lock.
func TestABarBeginsWithTheLease(t *testing.T) {
	op := sale("lt-beef-3-v13-1", "a", 99, 500, 600)
	op.Sent = 5 * ms
	op.Trace = append([]history.Command{command("fault", "hold@after:zk:watch", 10, 60, "")}, op.Trace...)
	first := draw(t, cellOf("crash", "v13", sale("lt-beef-3-v13-0", "b", 100, 1, 490), op))[0]
	bar := of(first, "bar", "order i0")
	require.Len(t, bar, 1)
	assert.InDelta(t, 500, timeAt(t, first, bar[0].number("x")), 2)
}

// A herd is seen: each time at which an order was woken in vain is a stroke in its row.
func TestAHerdIsDrawn(t *testing.T) {
	c := line("v13", nil)
	c.Scenario, c.InLine, c.Waiting = "herd", false, 30
	for i := range c.Ops[1:] {
		op := &c.Ops[i+1]
		for turn := range i + 1 {
			at := history.Instant(1002 + 10*turn)
			op.Trace = append(op.Trace, command("woken", "lock", at, at, ""))
		}
	}
	first := draw(t, c)[0]
	assert.Len(t, of(first, "woken", "order"), 23*24/2)
	assert.Subset(t, texts(first), []string{"turn 2, woken once", "turn 3, woken 2 times"})
	assert.Len(t, of(first, "turn", "overtaken"), 22)
	assert.Empty(t, of(first, "inside", ""), "nobody holds the lock while it waits")
}

// Without a lock all buyers of a crowd read the same: a few of them are enough to see it.
func TestWithoutALockFiveBuyersReadTheSame(t *testing.T) {
	var ops []history.Op
	for i := range 30 {
		op := sale(fmt.Sprint("o", i), "a", 100, history.Instant(10+i), history.Instant(100+i))
		op.Lease = nil
		ops = append(ops, op)
	}
	c := cellOf("one-instance", "v0", ops...)
	c.Findings = []history.Finding{{Verdict: history.Stock, Result: history.Broken, Evidence: []history.Evidence{
		{Text: "unit 100", Unit: 100, Orders: []string{"o7", "o8"}, At: []history.Instant{107 * ms, 108 * ms}},
	}}}
	doc := render(t, runOf(c))
	first := timelinesOf(t, doc)[0]
	says(t, doc, "5 of the 30 orders that bought unit 100, of 30 orders in the cell.")
	assert.Len(t, of(first, "bar", "order"), 5)
	reads := slices.DeleteFunc(texts(first), func(text string) bool { return !strings.HasPrefix(text, "reads ") })
	assert.Equal(t, slices.Repeat([]string{"reads 100"}, 5), reads)
}
