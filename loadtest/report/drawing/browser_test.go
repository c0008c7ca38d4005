package drawing_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
	"stockapi/loadtest/report/reporttest"
)

// These tests show drawings in a real browser, each on a page in a file.
//
//	go test ./loadtest/report/drawing -run InABrowser -artifacts -outputdir D keeps screenshots

func TestTimelineInABrowser(t *testing.T) {
	b := reporttest.NewBrowser(t)

	t.Run("opens on the violation", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		assert.InDeltaSlice(t, []float64{-13, 550}, p.window(), 0.01)
		p.Shows(".drawn", "unit 98 was sold twice")
		for _, text := range []string{"Anna sells unit 98 again", "Bert sells unit 98", "reads 98", "holds the lock",
			"TTL over", "unit 98 sold twice", "held by Anna, since 7 ms", "Anna: TTL over at 507 ms"} {
			assert.Contains(t, p.texts(), text)
		}
		p.Until(`document.querySelectorAll(".drawn .believes").length === 1`)
		p.Until(`document.querySelectorAll(".list tbody tr").length === 7`)
		p.Picture("pause")
	})

	t.Run("wheel, drag and keys", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		first := p.window()
		p.evaluateVoid(`document.body.style.height = "4000px"`)
		p.wheel(400, 0, 200)
		p.Until("scrollY > 100")
		assert.Equal(t, first, p.window(), "the plain wheel scrolls the page")
		p.evaluateVoid("scrollTo(0, 0)")
		p.wheel(400, ctrl, -300)
		p.narrower(first)
		zoomed := p.window()
		p.drag(600, 500)
		p.Until(fmt.Sprintf("%s > %v", from, zoomed[0]))
		p.evaluateVoid(`document.querySelector(".drawn").focus()`)
		p.Press("f")
		p.Until(fmt.Sprintf("%s < %v", from, first[0]+20))
		for _, key := range []string{"+", "w", "=", kb.ArrowRight, "d"} {
			before := p.window()
			p.Press(key)
			p.Until(fmt.Sprintf("%s > %v", from, before[0]))
		}
		for _, key := range []string{kb.ArrowLeft, "a", "-", "s"} {
			before := p.window()
			p.Press(key)
			p.Until(fmt.Sprintf("%s < %v", from, before[0]))
		}
		p.Press("0")
		p.Until(fmt.Sprintf("%s === %v", from, first[0]))
		p.Click("+")
		p.narrower(first)
		p.Click("violation")
		p.Until(fmt.Sprintf("%s === %v", from, first[0]))
		p.evaluateVoid(`document.querySelector(".drawn").dispatchEvent(new MouseEvent("dblclick", { clientX: 500 }))`)
		p.narrower(first)
	})

	t.Run("zoom about the selection or the violation", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		closer := func(at float64, zoom func()) {
			t.Helper()
			p.Click("violation")
			p.Until(fmt.Sprintf("%s === -13", from))
			for range 6 {
				before := p.window()
				zoom()
				p.narrower(before)
			}
			window := p.window()
			assert.Less(t, window[1]-window[0], 30.0)
			assert.True(t, window[0] <= at && at <= window[1], "%v is not in %v", at, window)
		}
		button := func() { p.Click("+") }
		closer(532.8, button)
		closer(532.8, func() {
			p.evaluateVoid(`document.querySelector(".drawn").focus()`)
			p.Press("+")
		})
		p.Click("violation")
		p.Until(`document.querySelector('.list tr[data-mark="command:1"]')?.click() === undefined &&
			document.querySelector('.drawn [data-mark="command:1"].lit')`)
		closer(7.8, button)
	})

	t.Run("requests to a database", func(t *testing.T) {
		d := pauseDrawing()
		d.Commands = append(d.Commands, drawing.Command{Order: 1, Lane: 1, Lock: -1, Kind: "other",
			Text: "request 4 to the database", Came: 100, At: 420, End: 421, Heard: 421})
		p := open(t, b, d, 1100)
		p.Shows(".list", "421.000 ms\tBert, b\trequest 4 to the database\t\theld 320 ms")
		p.evaluateVoid(`document.querySelector('.list tr[data-mark="command:7"]').click()`)
		p.Shows(".card", "reached the wire")
	})

	t.Run("pinch", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 390)
		first := p.window()
		touch := func(kind input.DispatchTouchEventType, x ...float64) {
			points := []*input.TouchPoint{}
			for i, x := range x {
				id := float64(i)
				points = append(points, &input.TouchPoint{X: x, Y: 250, ID: &id})
			}
			event := input.DispatchTouchEventParams{Type: kind, TouchPoints: points}
			_, err := chromedp.Call(p.Ctx, input.DispatchTouchEvent, event)
			require.NoError(t, err)
		}
		touch("touchStart", 150, 200)
		touch("touchMove", 140, 220)
		touch("touchMove", 100, 260)
		touch("touchEnd")
		p.narrower(first)
	})

	t.Run("marks, card and list", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		p.hover(`.drawn [data-mark="command:2"]`)
		p.Shows(".card", "SET ProductStock 97")
		p.Shows(".card", "reached the wire")
		p.Until(`document.querySelector('.list tr[data-mark="command:2"].lit')`)
		p.hover(`.list tr[data-mark="command:5"]`)
		p.Shows(".card", "GET ProductStock")
		p.Until(`document.querySelector('.drawn [data-mark="command:5"].lit')`)
		p.hover(".controls")
		p.evaluateVoid(`document.querySelector(".drawn").focus()`)
		p.Press(kb.Enter)
		p.Until(`document.querySelector(".drawn .lit")`)
		mark := `document.querySelector(".drawn .lit").dataset.mark`
		one := evaluate[string](p, mark)
		p.Press(kb.Tab)
		p.Until(fmt.Sprintf("%s !== %q", mark, one))
		p.Press(kb.Escape)
		p.Until(`!document.querySelector(".drawn .lit")`)
		p.Press(kb.Tab) // no mark is selected, so the focus moves on
		p.Until(`!document.activeElement.closest(".drawn")`)
		p.wheel(1060, ctrl, -300)
		p.narrower([]float64{-13, 550})
		p.Until(`document.querySelector(".list tbody tr")?.dataset.mark === "command:4"`)
		p.evaluateVoid(`document.querySelector(".list tbody tr").click()`)
		p.Until(fmt.Sprintf("Math.abs((%s + %s) / 2 - 531.4) < 0.01", from, to))
	})

	t.Run("strip", func(t *testing.T) {
		p := open(t, b, crowdDrawing(60), 1100)
		p.Until(`document.querySelectorAll(".strip .density").length === 2`)
		assert.Equal(t, []float64{5, 30}, p.window())
		strip := func(t float64) float64 { // returns the x of a time
			return evaluate[float64](p, fmt.Sprintf(`(() => {
				const { left } = document.querySelector(".strip").getBoundingClientRect();
				const { x, width } = document.querySelector(".strip .window").getBBox();
				return left + x + (%v - %s) / (%s - %[2]s) * width;
			})()`, t, from, to))
		}
		p.dragAt(stripY, strip(15), strip(25))
		p.Until(fmt.Sprintf("Math.abs(%s - 15) < 0.5 && Math.abs(%s - 40) < 0.5", from, to))
		p.dragAt(stripY, strip(p.window()[1]), strip(20))
		p.Until(fmt.Sprintf("Math.abs(%s - 15) < 0.5 && Math.abs(%s - 20) < 0.5", from, to))
		p.dragAt(stripY, strip(50), strip(50))
		p.Until(fmt.Sprintf("Math.abs(%s + %s - 100) < 1", from, to))
	})

	t.Run("button released outside", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		first := p.window()
		for i, kind := range []input.DispatchMouseEventType{"mousePressed", "mouseMoved", "mouseReleased"} {
			x, buttons := []float64{13, 10, 10}[i], []int64{1, 1, 0}[i]
			p.mouse(input.DispatchMouseEventParams{Type: kind, X: x, Y: drawnY, Button: "left", Buttons: buttons})
		}
		p.hover(`.drawn [data-mark="command:2"]`)
		p.Shows(".card", "SET ProductStock 97")
		assert.Equal(t, first, p.window())
	})

	t.Run("list stays in place", func(t *testing.T) {
		for _, width := range []int64{390, 1100} {
			p := open(t, b, hostile(strings.Repeat("W ", 5_000), pauseDrawing()), width)
			top := `document.querySelector(".list").getBoundingClientRect().top + scrollY`
			empty := evaluate[float64](p, top)
			for _, mark := range []string{"command:2", "order:0", "fault:0"} {
				p.hover(fmt.Sprintf(`.drawn [data-mark=%q]`, mark))
				p.Until(`document.querySelector(".card dd")`)
				assert.InDelta(t, empty, evaluate[float64](p, top), 0.01, mark)
			}
		}
	})

	t.Run("failed commands", func(t *testing.T) {
		d := pauseDrawing()
		d.Commands[3].Failed = true
		p := open(t, b, d, 1100)
		p.Until(`document.querySelector('.list tr[data-mark="command:3"]')?.innerText.includes("failed")`)
		p.Until(`!document.querySelector('.list tr[data-mark="command:2"]').innerText.includes("failed")`)
	})

	t.Run("previous and next mark", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 1100)
		p.evaluateVoid(`document.querySelector(".drawn").focus()`)
		mark := `document.querySelector(".drawn .lit")?.dataset.mark ?? ""`
		seen := []string{}
		for range 3 {
			before := evaluate[string](p, mark)
			p.Press(".")
			p.Until(fmt.Sprintf("(%s) !== %q", mark, before))
			seen = append(seen, evaluate[string](p, mark))
		}
		p.Press(",")
		p.Until(fmt.Sprintf("(%s) === %q", mark, seen[1]))
		p.Run(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
		p.Until(fmt.Sprintf("(%s) === %q", mark, seen[2]))
		p.Run(chromedp.KeyEvent(kb.ArrowLeft, chromedp.KeyModifiers(chromedp.ModifierShift)))
		p.Until(fmt.Sprintf("(%s) === %q", mark, seen[1]))
		for range 60 { // more than there are marks
			p.Press(".")
		}
		assert.NotEmpty(t, evaluate[string](p, mark))
		// Once no mark is selected, the page gets its keys back.
		p.Press(kb.Escape)
		p.Until(fmt.Sprintf(`(%s) === ""`, mark))
		assert.True(t, evaluate[bool](p, `document.activeElement.matches(".drawn")`))
		p.Press(kb.Escape)
		p.Until(`document.activeElement === document.body`)
	})

	t.Run("390 pixels", func(t *testing.T) {
		p := open(t, b, pauseDrawing(), 390)
		p.Until("document.documentElement.scrollWidth <= 390")
		p.Until(`[...document.querySelectorAll(".drawn text")].every((one) =>
			parseFloat(getComputedStyle(one).fontSize) >= 11)`)
		p.Until(`[...document.querySelectorAll(".controls button")].every((one) =>
			one.offsetWidth >= 32 ? one.offsetHeight >= 32 : false)`)
		assert.Contains(t, p.texts(), "Bert sells unit 98")
		p.apart()
		p.Picture("phone")
	})

	t.Run("saved file", func(t *testing.T) {
		p := open(t, b, hostile("\x01<b>&\uFFFE", pauseDrawing()), 1100)
		dir := t.TempDir()
		_, err := chromedp.Call(p.Ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
			Behavior: "allow", DownloadPath: dir})
		require.NoError(t, err)
		p.Click("save SVG")
		var file string
		require.Eventually(t, func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, "timeline.svg"))
			file = string(text)
			return strings.HasSuffix(file, "</svg>")
		}, 20*time.Second, 20*time.Millisecond)
		assert.Contains(t, file, "prefers-color-scheme: dark")
		assert.Contains(t, file, "--paper: #fff")
		assert.Contains(t, file, "<title")
		for decoder := xml.NewDecoder(strings.NewReader(file)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
		}
	})

	t.Run("hostile strings and times", func(t *testing.T) {
		for _, text := range []string{
			"</script><img src=x onerror=alert(1)>", strings.Repeat("W", 10_000), "\x00\x01]]>&amp;<b>",
		} {
			p := open(t, b, hostile(text, pauseDrawing()), 1100)
			p.Until(`document.querySelectorAll(".list tbody tr").length === 7`)
			assert.Zero(t, evaluate[int](p, `document.querySelectorAll("img, b, i").length`))
			assert.LessOrEqual(t, evaluate[int](p, "document.documentElement.scrollWidth"), 1100)
			p.apart()
		}
		p := open(t, b, &drawing.Drawing{}, 1100)
		assert.Empty(t, evaluate[string](p, `[
			[0, 0], [5, 5], [1e15, 1e15], [-1e15, 1e15], [1e15, 1e15 + 1], [NaN, null], [9, 3],
		].map(([from, to]) => {
			const lanes = [{ kind: "instance", name: "a" }, { kind: "lock", name: "lock" }], never = null;
			const order = { id: "1", lane: 0, sent: from, done: never, from: to, to: never, lease: true, units: null };
			const drawing = { lanes, orders: [order, { ...order, to, lost: { at: never, since: never } }, { id: "2", lane: 7 }],
				tenures: [{ lane: 1, order: 0, from, at: never, how: "gone" }], commands: [{ order: 0, kind: "read" }],
				faults: [{ lane: 0, order: 0, kind: "stop", from: never, to: never }] };
			return drawTimeline(drawing, { from, to, width: 600 }).outerHTML.match(/NaN|Infinity|undefined/g);
		}).flat().filter(Boolean).join(" ")`))
	})

	t.Run("texts do not overlap", func(t *testing.T) {
		for _, d := range []*drawing.Drawing{pauseDrawing(), crowdDrawing(60), queueDrawing()} {
			for _, width := range []int64{390, 1100} {
				p := open(t, b, d, width)
				p.apart()
				p.evaluateVoid(`document.querySelector(".drawn").focus()`)
				for _, key := range []string{"f", "w", "w", "d"} {
					before := evaluate[string](p, frame)
					p.Press(key)
					p.Until(fmt.Sprintf("%s !== %q", frame, before))
					p.apart()
				}
			}
		}
	})

	t.Run("a queue", func(t *testing.T) {
		p := open(t, b, queueDrawing(), 1100)
		assert.Subset(t, p.texts(), []string{"order 7 on b", "turn 8"})
		p.Until(`document.querySelectorAll(".queued").length === 20`)
		p.Picture("queue")
	})

	t.Run("a crowd", func(t *testing.T) {
		p := open(t, b, crowdDrawing(1000), 1100)
		elements := `document.querySelectorAll(".drawn *").length`
		assert.Less(t, evaluate[int](p, elements), 600)
		p.Shows(".drawn", "more")
		p.evaluateVoid(`document.querySelector(".drawn").focus()`)
		p.Press("f")
		p.Until(fmt.Sprintf("%s < 0", from))
		assert.Less(t, evaluate[int](p, elements), 600)
		p.Until(`document.querySelector(".rest").textContent.includes("more: zoom in")`)
		p.Until(`(() => { // the lock and the last order are drawn to the end
			const bars = [...document.querySelectorAll(".drawn .hold, .drawn .thin")].map((one) => one.getBBox());
			const { y } = [...document.querySelectorAll(".drawn .lane")].at(-1).getBBox();
			const right = (all) => Math.max(...all.map(({ x, width }) => x + width));
			return right(bars.filter((bar) => bar.y >= y)) > right(bars) - 10;
		})()`)
		p.Picture("crowd")
	})

	// Both lanes name their orders. Where there is no room, those of a violation have their names.
	t.Run("a crowd on a wall", func(t *testing.T) {
		d := crowdDrawing(15)
		for i := range d.Orders { // all at once; there are 8 at a and 7 at b
			d.Orders[i].Sent, d.Orders[i].From, d.Orders[i].To, d.Orders[i].Released, d.Orders[i].Done = 1, 2, 30, 30, 31
		}
		d.Tenures, d.Commands = nil, nil
		d.Violations = []drawing.Violation{{Letter: "S", Orders: []int{2, 9}}, {Letter: "E", Orders: []int{4, 9}}}
		p := open(t, b, d, 1300)
		names := func(height int) string {
			return evaluate[string](p, fmt.Sprintf(`[...drawTimeline(drawing, {
				width: 1250, height: %d, from: 0, to: 40, size: 18, gutter: 32, lanes: ({ kind }) => kind === "instance",
				name: ({ id }) => "o" + id, says: () => "",
			}).querySelectorAll(".label")].map((one) => one.textContent.trim()).sort().join(" ")`, height))
		}
		assert.Equal(t, "o0 o1 o10 o11 o12 o13 o14 o2 o3 o4 o5 o6 o7 o8 o9", names(300))
		assert.Equal(t, "o2 o4 o9", names(120))
	})
}

// TestPictureInABrowser writes the picture of a run's first cell, for make picture: STOCKAPI_PICTURE names the file,
// and STOCKAPI_RESULTS the results of the run. It shows the orders of the violation.
func TestPictureInABrowser(t *testing.T) {
	file := os.Getenv("STOCKAPI_PICTURE")
	if file == "" {
		t.Skip("STOCKAPI_PICTURE names no file")
	}
	run, err := history.Open(os.Getenv("STOCKAPI_RESULTS"))
	require.NoError(t, err)
	p := open(t, reporttest.NewBrowser(t), drawing.Of(run.Cells[0]), 1100)
	picture := evaluate[string](p, `(() => {
		const { what, text, orders } = drawing.violations[0], { spans } = timelineIndex(drawing);
		const from = Math.min(...orders.map((i) => spans[i].lo)), to = Math.max(...orders.map((i) => spans[i].hi));
		const view = { from, to, orders, width: 820 };
		return timelineFile(drawing, view, what[0].toUpperCase() + what.slice(1), text);
	})()`)
	require.NoError(t, os.WriteFile(file, []byte(picture+"\n"), 0o600))
}

// pauseDrawing has a lease that expires while its holder is stopped, as in the picture of the README.
func pauseDrawing() *drawing.Drawing {
	command := func(order int, kind, text, reply string, at, end drawing.Time) drawing.Command {
		return drawing.Command{Order: order, Lane: order, Lock: 2, Kind: kind, Text: text, Reply: reply, Came: unknown(),
			At: at, End: end, Heard: unknown()}
	}
	anna := command(0, "read", "GET ProductStock", "98", 7.5, 7.8)
	anna.Says = "reads 98"
	late := command(0, "write", "SET ProductStock 97", "OK", 532.6, 532.8)
	late.Came, late.Heard = 532.5, 532.9
	return &drawing.Drawing{
		Lanes: []drawing.Lane{{Kind: "instance", Name: "a"}, {Kind: "instance", Name: "b", Colour: 1},
			{Kind: "lock", Name: "lock key", Title: "DistributedLock"}},
		Orders: []drawing.Order{
			{ID: "anna", Name: "Anna", Lane: 0, Sent: 6, Done: 533, From: 7, To: 533, Lease: true, Released: 533,
				Lost: &drawing.Lost{Since: 507, At: 507, Why: "TTL over"}, Outcome: "sold", Units: []int64{98},
				Does: "sells unit # again"},
			{ID: "bert", Name: "Bert", Lane: 1, Sent: 12, Done: 532.4, From: 531.4, To: 532.2, Lease: true, Released: 532.2,
				Outcome: "sold", Units: []int64{98}, Does: "sells unit #"},
		},
		Tenures: []drawing.Tenure{
			{Lane: 2, Order: 0, From: 7, Since: 507, At: 507, How: "expired", Why: "TTL over"},
			{Lane: 2, Order: 1, From: 531.4, Since: 532.2, At: 532.2, How: "released", Why: "released"},
		},
		Commands: []drawing.Command{
			command(0, "acquire", "SET DistributedLock … NX", "OK", 6.5, 7), anna, late,
			command(0, "release", "EVAL release", "0", 532.9, 533),
			command(1, "acquire", "SET DistributedLock … NX", "OK", 531, 531.4),
			command(1, "read", "GET ProductStock", "98", 531.5, 531.7),
			command(1, "write", "SET ProductStock 97", "OK", 531.8, 531.9),
		},
		Faults: []drawing.Fault{{Lane: 0, Order: 0, Kind: "stop", From: 11, To: 532.5,
			Text: "stopped for 0.521 s before set/stock under a lease of 0.500 s"}},
		Violations: []drawing.Violation{
			{Verdict: "stock", Letter: "S", Sign: "stock-broken", What: "unit 98 was sold twice", Orders: []int{1, 0},
				At: []drawing.Time{531.9, 532.8}, Unit: 98, Text: "b sold unit 98 to Bert; a sold unit 98 again to Anna"},
			{Verdict: "exclusion", Letter: "E", Sign: "lock-broken", What: "two orders held the lock at once",
				Orders: []int{0, 1}, At: []drawing.Time{531.9, 532.2}},
		},
		First: drawing.Frame{From: -13, To: 550, Orders: []int{0, 1}},
	}
}

// unknown is the time of an event that did not happen.
func unknown() drawing.Time { return drawing.Time(math.NaN()) }

// hostile puts a text into every field that a stranger's shop can set.
func hostile(text string, d *drawing.Drawing) *drawing.Drawing {
	for i := range d.Lanes {
		d.Lanes[i].Name, d.Lanes[i].Title = text, text
	}
	for i := range d.Orders {
		o := &d.Orders[i]
		o.ID, o.Name, o.Does, o.Outcome, o.Turn = text, text, text, text, text
	}
	for i := range d.Commands {
		c := &d.Commands[i]
		c.Text, c.Reply, c.Effect, c.Node, c.Says = text, text, text, text, text
	}
	d.Faults[0].Text, d.Faults[0].Short = text, text
	for i := range d.Violations {
		v := &d.Violations[i]
		v.What, v.Text, v.Sign = text, text, v.Sign+text
	}
	return d
}

// crowdDrawing has n orders that compete for one lock. Each holds it for a millisecond.
func crowdDrawing(n int) *drawing.Drawing {
	d := &drawing.Drawing{
		Lanes: []drawing.Lane{{Kind: "instance", Name: "a"}, {Kind: "instance", Name: "b", Colour: 1},
			{Kind: "lock", Name: "lock key"}},
		First: drawing.Frame{From: 5, To: 30, Orders: []int{6, 7, 8, 9}},
	}
	for i := range n {
		from := drawing.Time(i) + 1
		d.Orders = append(d.Orders, drawing.Order{ID: fmt.Sprint(i), Lane: i % 2, Sent: from / 2, Done: from + 1.1,
			From: from, To: from + 1, Released: from + 1, Lease: true, Outcome: "sold",
			Units: []int64{int64(n - i)}, Does: "sells unit #"})
		d.Tenures = append(d.Tenures, drawing.Tenure{Lane: 2, Order: i, From: from, Since: from + 0.9, At: from + 1,
			How: "released"})
		for j, kind := range []string{"acquire", "read", "write", "release"} {
			at := from + drawing.Time(j)/4
			d.Commands = append(d.Commands, drawing.Command{Order: i, Lane: i % 2, Lock: 2, Kind: kind, Text: kind,
				Came: unknown(), At: at, End: at + 0.1, Heard: unknown()})
		}
	}
	return d
}

func queueDrawing() *drawing.Drawing {
	d := crowdDrawing(20)
	d.Queue, d.First = true, drawing.Frame{From: -1, To: 25}
	for i := range d.Orders {
		d.Orders[i].Turn = fmt.Sprintf("turn %d", i+1)
		d.First.Orders = append(d.First.Orders, i)
	}
	return d
}

const (
	frame = `Object.values(document.querySelector(".drawn > svg")?.dataset ?? {}).join(" ")`
	from  = `Number(document.querySelector(".drawn > svg").dataset.from)`
	to    = `Number(document.querySelector(".drawn > svg").dataset.to)`
	ctrl  = 2

	// The y of the drawing and of the strip.
	drawnY, stripY = 250, 68
)

// overlapping returns the texts of the drawing that overlap.
const overlapping = `(() => {
	const all = [...document.querySelectorAll(".drawn text")].map((one) => [one.textContent, one.getBBox()]);
	return all.flatMap(([a, x], i) => all.slice(i + 1).filter(([, y]) => x.x < y.x + y.width && y.x < x.x + x.width &&
		x.y + 2 < y.y + y.height && y.y + 2 < x.y + x.height).map(([b]) => a + " | " + b));
})()`

// page writes a page with a drawing to a file. Its policy allows only the scripts of this package.
func page(t *testing.T, d *drawing.Drawing) string {
	t.Helper()
	data, err := json.Marshal(d)
	require.NoError(t, err)
	hashes, scripts := []string{"default-src 'none'; style-src 'unsafe-inline'; script-src"}, []string{}
	for _, script := range []string{drawing.Script(), drawing.Viewer,
		`const drawing = unpackDrawing(JSON.parse(document.getElementById("data").textContent));
		viewTimeline(document.getElementById("box"), drawing);`} {
		sum := sha256.Sum256([]byte(script))
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
		scripts = append(scripts, "<script>"+script+"</script>")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	html := `<!doctype html><html lang="en"><head><meta charset="utf-8">
		<meta http-equiv="Content-Security-Policy" content="` + strings.Join(hashes, " ") + `">
		<meta name="viewport" content="width=device-width, initial-scale=1"><title>timeline</title>
		<style>body { margin: 12px; font: 15px/1.5 sans-serif; background: var(--paper); color: var(--ink); }</style>
		<style id="drawing-style">` + drawing.Style() + `</style><style>` + drawing.ViewerStyle + `</style></head>
		<body><div id="box"></div>
		<script type="application/json" id="data">` + string(data) + `</script>` + strings.Join(scripts, "") +
		`</body></html>`
	require.NoError(t, os.WriteFile(file, []byte(html), 0o600))
	return "file://" + file
}

// A tab is a page with a drawing.
type tab struct{ *reporttest.Tab }

func open(t *testing.T, b *reporttest.Browser, d *drawing.Drawing, width int64) *tab {
	t.Helper()
	address := page(t, d)
	p := &tab{b.Open(t, address, address, width, 900)}
	p.Until(`document.querySelector(".drawn > svg")`)
	return p
}

func evaluate[T any](p *tab, expression string) T {
	p.T.Helper()
	return reporttest.Evaluate[T](p.Tab, expression)
}

func (p *tab) evaluateVoid(statement string) {
	p.T.Helper()
	evaluate[bool](p, "{"+statement+"}; true")
}

func (p *tab) texts() []string {
	p.T.Helper()
	return evaluate[[]string](p, `[...document.querySelectorAll(".drawn text")].map((one) => one.textContent)`)
}

func (p *tab) apart() {
	p.T.Helper()
	assert.Empty(p.T, evaluate[[]string](p, overlapping), "texts that cover each other")
}

// window returns the times at which the visible window begins and ends.
func (p *tab) window() []float64 {
	p.T.Helper()
	return evaluate[[]float64](p, "["+from+", "+to+"]")
}

// narrower waits until the window is narrower than a previous one.
func (p *tab) narrower(before []float64) {
	p.T.Helper()
	p.Until(fmt.Sprintf("%s - %s < %v", to, from, (before[1]-before[0])*0.95))
}

func (p *tab) mouse(event input.DispatchMouseEventParams) {
	p.T.Helper()
	_, err := chromedp.Call(p.Ctx, input.DispatchMouseEvent, event)
	require.NoError(p.T, err)
}

func (p *tab) wheel(x float64, modifiers int64, delta float64) {
	p.T.Helper()
	p.mouse(input.DispatchMouseEventParams{Type: "mouseWheel", X: x, Y: 250, Modifiers: modifiers,
		DeltaX: 0.01, DeltaY: delta}) // the browser needs both, and chromedp omits zeros
}

func (p *tab) drag(from, to float64) {
	p.T.Helper()
	p.dragAt(drawnY, from, to)
}

func (p *tab) dragAt(y, from, to float64) {
	p.T.Helper()
	button := func(kind input.DispatchMouseEventType, x float64, buttons int64) {
		p.mouse(input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: "left", Buttons: buttons, ClickCount: 1})
	}
	button("mousePressed", from, 1)
	for i := range 5 {
		button("mouseMoved", from+(to-from)*float64(i+1)/5, 1)
	}
	button("mouseReleased", to, 0)
}

// hover moves the mouse to the middle of an element.
func (p *tab) hover(selector string) {
	p.T.Helper()
	p.Until(fmt.Sprintf("document.querySelector(%q)", selector))
	at := evaluate[[]float64](p, fmt.Sprintf(`(() => {
		const one = document.querySelector(%q);
		one.scrollIntoView({ block: "nearest" });
		const { left, right, top, bottom } = one.getBoundingClientRect();
		return [(left + right) / 2, (top + bottom) / 2];
	})()`, selector))
	p.mouse(input.DispatchMouseEventParams{Type: "mouseMoved", X: at[0], Y: at[1]})
}
