package stage_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/report/reporttest"
	"stockapi/loadtest/stage"
)

// These tests play rounds on the stage's pages in a real browser.
//
//	go test ./loadtest/stage -run Pages -artifacts -outputdir D    keeps screenshots of each phase
//	STOCKAPI_AXE=axe.min.js go test ./loadtest/stage -run Pages    asks axe-core about each phase

// A teacher with a keyboard and three persons with phones play all rounds; without STOCKAPI_REQUIRE, one.
func TestPages(t *testing.T) {
	t.Parallel()
	b := reporttest.NewBrowser(t)
	if !cluster.CanStop {
		t.Skip("this system cannot stop a process")
	}
	rungs := []string{"v4"}
	if os.Getenv("STOCKAPI_REQUIRE") != "" {
		rungs = []string{"v0", "v4", "v15", "v3"} // in the order of the rounds
	}
	rounds := ownRounds(t, rungs...)
	rounds[slices.Index(rungs, "v4")].Do = nil // without a script phones may buy
	c := open(t, rounds...)
	wall := openTab(t, b, c.teacher, 1280, 720)
	wall.Press("?")
	wall.Shows("#help", "Space: step")
	wall.Press("?")
	wall.Until(`!document.querySelector("#help").checkVisibility()`)
	checkChinese(t, b)
	checkHeadings(t, b)
	var phones []*tab
	for _, name := range []string{"fox", "owl", "bear"} {
		phones = append(phones, openTab(t, b, c.phones+"/"+code, 360, 740))
		phones[len(phones)-1].Shows("#me", name)
	}
	begin := func(rung string, letters ...string) { // the phones vote; then the class may buy
		t.Helper()
		wall.Press(fmt.Sprint(slices.Index(rungs, rung) + 1))
		wall.Shows("#title", rung+":")
		wall.picture("ready", phones[0])
		wall.Press("v")
		for i, p := range phones {
			p.phase("vote")
			for _, letter := range letters {
				p.Click(letter + " ")
			}
			p.Click("one")
			p.Click("Send")
			p.Shows("#send", "Sent")
			c.wall.await("class", func(e *event) bool { return e.Voted == i+1 })
		}
		wall.Shows("#diff-head", rung+": its code")
		wall.Shows("#meanings", "S stock")
		wall.Until(`document.querySelectorAll(".added, .removed").length === 0`) // the answers
		wall.picture("vote", phones[0])
		wall.Press("v")
		wall.phase("buy")
	}
	judge := func(letters string, looks ...func()) {
		t.Helper()
		wall.Press("w")
		phones[0].phase("again")
		// Nothing may influence the second vote.
		for page, told := range map[*tab]string{wall: "#banner, #stamps, #stock", phones[0]: "#flash, .double"} {
			page.Until(fmt.Sprintf(`[...document.querySelectorAll(%q)].every((one) => !one.checkVisibility())`, told))
		}
		for _, look := range looks {
			look()
		}
		wall.picture("again", phones[0])
		phones[0].Shows("#twice-head", "Was any unit sold twice?")
		wall.Press(kb.Enter)
		wall.phase("verdict")
		verdict := c.wall.await("verdict", nil)
		assert.Equal(t, letters, verdict.broken())
		wall.Shows("#judged", "sold twice: "+fmt.Sprint(verdict.Twice))
		phones[0].Shows("#judged", strings.Join(strings.Split(letters, ""), " "))
		phones[0].Shows("#right", "points")
		for _, look := range looks {
			look()
		}
		wall.picture("verdict", phones[0])
	}

	begin("v4", "S", "E")
	wall.Press("s")
	phones[0].Click("BUY at a")
	c.wall.await("cmd", func(e *event) bool { return e.Instance == "a" && e.Role == "acquire" })
	phones[1].Click("BUY at b")
	c.wall.await("twice", nil)
	wall.Until(`[...document.querySelectorAll("#stock li")].some(({ innerText }) =>
		["100", "fox", "owl"].every((text) => innerText.includes(text)))`)
	phones[0].Shows("#flash", "100")
	phones[0].Shows("#flash", "owl")
	phones[1].Shows("#flash", "fox")
	assert.NotContains(t, phones[2].text("body"), "also sold")
	wall.picture("buy", phones[0])
	// The address does not contain the person's secret, so it can be copied safely.
	phones[0].Until(`location.hash === "" && location.pathname.length === 5`)
	evidence := func() { // the marks of both sales' reads and writes are joined
		t.Helper()
		wall.Until(`(() => {
			const { left, right } = document.querySelector("#lanes").getBoundingClientRect();
			const inSight = (all) => all.every((one) => one.getBoundingClientRect().left > left &&
				one.getBoundingClientRect().right < right);
			const read = [...document.querySelectorAll("#lanes .p0.read")];
			const line = document.querySelector("#lanes .join.first path");
			const writes = [...document.querySelectorAll("#lanes .write")];
			const rings = [...document.querySelectorAll("#lanes .join circle")];
			const [lease] = document.querySelectorAll("#lanes .order.p0 rect.bar"); // the read is within it
			const at = (one) => one.getAttribute("cx") ?? one.getAttribute("d").match(/^M([\d.]+)/)[1];
			const xs = (all) => all.map(at).sort().join();
			return read.length === 1 && Number(read[0].getAttribute("cx")) >= Number(lease.getAttribute("x")) &&
				writes.length === 2 && inSight([...read, ...writes, line]) && /[LC]/.test(line.getAttribute("d")) &&
				xs(rings) === xs(writes);
		})()`)
		wall.Until(`(() => { // no text covers the stroke at which the lease expires
			const box = (one) => one.getBoundingClientRect();
			const [over] = [...document.querySelectorAll("#lanes .over")].map(box);
			return [...document.querySelectorAll("#lanes .inside")].map(box).every((text) =>
				text.right <= over.left || text.left >= over.right);
		})()`)
	}
	judge("SE", evidence)
	wall.Press("d")
	wall.Shows("#diff-head", "What v5 changes in v4")
	wall.Shows("#code", "rt.every")
	wall.Until(`!/func \w+\(/.test(document.querySelector("#code").innerText)`) // the signature is no lesson
	wall.Until(`(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document.querySelector("#code"))`)
	wall.picture("verdict", phones[0])

	wall.Press(kb.Delete)
	wall.Until(`!document.querySelector("#address").innerText.endsWith("/KXQP")`)
	c.code = strings.TrimPrefix(wall.text("#address"), "127.0.0.1:7071/")
	for _, p := range phones {
		p.phase("join")
		p.Run(chromedp.SendKeys(`//input`, c.code, chromedp.NodeVisible))
		p.Click("Join")
		p.phase("ready")
		p.Shows("#points", "3 of 3")
		p.Forgive("/me?", "/join") // its place and the code are gone
	}
	wall.picture("ready", phones[0])
	if len(rungs) == 1 {
		return
	}

	begin("v15", "E")
	phones[0].Until(`!document.querySelector("#buy").checkVisibility()`) // only Anna and Bert buy
	wall.Press("a")
	c.wall.await("fault", func(e *event) bool { return e.State == "stopped" })
	wall.Press("b")
	c.wall.await("order", func(e *event) bool { return e.Order == "bert" && e.State == "done" })
	wall.Press("c")
	wall.Until(`document.querySelector("#lanes .refused")`)
	refused := func() {
		t.Helper()
		wall.Shows("#stamps .held", "Stock refused Anna’s write: 1 < 2")
	}
	refused()
	wall.Until(`["a", "b"].every((_, i) => document.querySelectorAll("#lanes .fence")[i]?.textContent === String(i + 1))`)
	wall.picture("buy", phones[0])
	judge("E")
	refused()

	for range 30 {
		c.join()
	}
	begin("v0", "S")
	wall.Press("e")
	c.wall.await("twice", func(e *event) bool { return len(e.Persons.([]any)) > 20 })
	last := c.wall.await("twice", func(e *event) bool { return len(e.Persons.([]any)) == 33 })
	wall.Shows("#banner", fmt.Sprintf("Unit %d was sold 33 times; 99 left", last.Unit))
	phones[0].Shows("#flash", "sold 33 times")
	phones[0].Click("Got it")
	phones[0].Shows("#receipts .double", "sold 33 times")
	wall.picture("buy", phones[0])
	judge("S")

	begin("v3", "R")
	for step := range 7 {
		wall.Press(" ")
		c.wall.await("step", func(e *event) bool { return len(e.Trace) > step && e.Trace[step].Done })
	}
	wall.Until(`["a DEL", "b SET"].every((text, i) => // in the order in which they reached Redis, the newest first
		document.querySelectorAll("#stream li")[i]?.innerText.replace(/\s+/g, " ").startsWith(text))`)
	wall.Shows("#stamps", "Anna removed the lock of Bert")
	wall.Until(`document.querySelector("#lanes .stolen")`)
	wall.picture("buy", phones[0])
	judge("R")
}

// In step mode leases last a minute. The commands stay in view nevertheless.
func TestPagesOfLongLeases(t *testing.T) {
	t.Parallel()
	b := reporttest.NewBrowser(t)
	c := openAt(t, 1, ownRounds(t, "v3")...)
	c.do("vote")
	c.join().vote("R", "0")
	c.do("vote")
	wall := openTab(t, b, c.teacher, 1280, 720)
	for range 3 {
		wall.Press(" ")
		time.Sleep(time.Second)
	}
	wall.Until(`[".bar", ".read", ".write", ".now"].every((what) => document.querySelector("#lanes " + what))`)
	wall.Press("w")
	wall.phase("again")
	wall.Until(`!document.querySelector("#lanes .now")?.checkVisibility()`) // the picture is frozen
}

// checkChinese replays a verdict on the Chinese wall. It shows the letter, the unit, the buyers and the times, but not
// the audit's sentences, which are English.
func checkChinese(t *testing.T, b *reporttest.Browser) {
	t.Helper()
	const log = `{"n":1,"at":0,"kind":"round","round":{"number":1,"of":1,"stock":100}}
{"n":2,"at":1,"kind":"order","order":"anna","colour":-1,"instance":"a","state":"sent","sent":1000}
{"n":3,"at":2,"kind":"lock","keys":[{"key":"l","token":"1","order":"anna","instance":"a","ttl":-1}],"left":100}
{"n":4,"at":3,"kind":"drawing","begins":0,"drawing":{"first":{"from":0,"to":4},"lanes":{"rows":1,"times":null,"by":{
 "kind":["instance"],"name":["a"]}},"orders":{"rows":1,"times":["sent","from"],"by":{"id":["anna"],"lease":[true],
 "lane":[0],"sent":[1000],"from":[500],"outcome":["unknown"],"does":["has an unknown outcome"]}}}}
{"n":4,"at":3,"kind":"fault","instance":"a","state":"dead"}
{"n":5,"at":4,"kind":"refused","order":"anna","own":"1","newest":"4"}
{"n":6,"at":4,"kind":"refused","order":"anna","own":"2","newest":"4"}
{"n":7,"at":4,"kind":"refused","order":"anna","own":"3","newest":"4"}
{"n":8,"at":4,"kind":"step","stepping":false,"trace":[{"text":"a","done":true},{"text":"expiry","done":false}]}
{"n":8,"at":4,"kind":"broken","letter":"E","result":"BROKEN","orders":["anna","fox"]}
{"n":8,"at":4,"kind":"broken","letter":"E","result":"BROKEN","orders":["anna","fox"]}
{"n":8,"at":4,"kind":"verdict","sold":2,"left":99,"twice":1,"best":[{"person":"fox","colour":0,"points":2}],"findings":[
 {"letter":"S","verdict":"stock","result":"BROKEN","because":"a sold it","unit":100,"orders":["anna","fox"],
 "moments":[3500,4250]},
 {"letter":"R","verdict":"own-release","result":"ok","because":""}]}
{"n":9,"at":5,"kind":"phase","phase":"verdict"}`
	recording, err := stage.ReadRecording(strings.NewReader(strings.ReplaceAll(log, "\n ", "")), "zh")
	require.NoError(t, err)
	go recording.Play(t.Context())
	wall := openTab(t, b, serve(t, recording.Wall()), 1280, 720)
	wall.phase("verdict")
	for _, text := range []string{
		"S 库存", "出错", "第 100 件：安娜和狐狸 · 2.500 秒 · 3.250 秒", "R 只释放自己的锁", "狐狸 2 分",
	} {
		wall.Shows("#judged", text)
	}
	assert.NotRegexp(t, "[a-z]{2}", wall.text("main"))
	wall.Until(`document.querySelectorAll("#stamps .held").length === 2`) // more would fill the wall
	wall.Until(`[...document.querySelectorAll("#stamps .letter")].map((one) => one.innerText).join() === "E,S"`)
	wall.Until(`document.querySelector("#trace").textContent === "✓ a▸ 到期"`)
	// The cross of a dead process is above its order's bar.
	wall.Until(`document.querySelector("#lanes rect.bar").compareDocumentPosition(
		document.querySelector("#lanes .cross")) & Node.DOCUMENT_POSITION_FOLLOWING`)
}

// checkHeadings replays a fix after a verdict. The stock is right only if that is known.
func checkHeadings(t *testing.T, b *reporttest.Browser) {
	t.Helper()
	const log = `{"n":1,"at":0,"kind":"round","round":{"number":1,"of":1,"stock":100,"rung":"v4"}}
{"n":2,"at":1,"kind":"order","order":"anna","colour":-1,"instance":"a","state":"sent","sent":1000}
{"n":3,"at":4,"kind":"verdict","sold":2,"left":99,"twice":0,"best":[],"findings":[
 {"letter":"E","verdict":"exclusion","result":"BROKEN"},{"letter":"S","verdict":"stock","result":"unknown"}]}
{"n":4,"at":5,"kind":"phase","phase":"verdict"}
{"n":5,"at":6,"kind":"mend","rung":"v15","findings":[{"letter":"E","result":"BROKEN"},{"letter":"S","result":"ok"}]}`
	recording, err := stage.ReadRecording(strings.NewReader(strings.ReplaceAll(log, "\n ", "")), "en")
	require.NoError(t, err)
	go recording.Play(t.Context())
	wall := openTab(t, b, serve(t, recording.Wall()), 1280, 720)
	wall.Shows("#lanes", "v4: E broken · Unknown: S")
	wall.Shows("#lanes", "v15: the lock breaks (E), but the stock is right")
}

// A tab is a page of the stage in its own window, as on another device.
type tab struct{ *reporttest.Tab }

func openTab(t *testing.T, b *reporttest.Browser, address string, width, height int64) *tab {
	t.Helper()
	p := &tab{b.Open(t, address, "http://127.0.0.1:", width, height, chromedp.WithNewBrowserContext())}
	p.Until(`document.querySelector("#link.on")`)
	return p
}

func (p *tab) phase(phase string) {
	p.T.Helper()
	p.Until(fmt.Sprintf(`document.body.dataset.phase === %q`, phase))
}

// text returns the text of a visible element.
func (p *tab) text(selector string) string {
	p.T.Helper()
	return reporttest.Evaluate[string](p.Tab, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// noValue matches the text of a missing value.
var noValue = regexp.MustCompile(`undefined|null|NaN|\{[a-z\d]+\}`)

// misfits returns the elements of the wall, except the teacher's controls, that are cut off or too small to read from
// the last row.
const misfits = `[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() &&
	!one.closest("#controls, #menu") && (one.matches("#stock li") && one.scrollWidth > one.clientWidth ||
	[...one.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim()) &&
	parseFloat(getComputedStyle(one).fontSize) < (one.closest("#code") ? 16 : 18))).map((one) => one.outerHTML)`

// picture checks the wall and a phone, also with axe-core if there is one, and keeps screenshots under -artifacts.
func (p *tab) picture(phase string, phone *tab) {
	p.T.Helper()
	p.phase(phase)
	phone.phase(phase)
	for _, page := range []*tab{p, phone} {
		page.axe(phase)
		assert.Empty(p.T, noValue.FindString(page.text("body")), phase)
	}
	assert.Empty(p.T, reporttest.Evaluate[[]string](p.Tab, misfits), phase)
	if keep := flag.Lookup("test.artifacts"); keep == nil || keep.Value.String() != "true" {
		return
	}
	rung, _, _ := strings.Cut(p.text("#title"), ":")
	shot := func(page *tab, name string, width, height int64) {
		page.Run(chromedp.EmulateViewport(width, height), chromedp.Sleep(200*time.Millisecond))
		page.Picture(fmt.Sprintf("%s-%s-%s", rung, phase, name))
	}
	shot(p, "wall-1024", 1024, 768)
	shot(p, "wall-1280", 1280, 720)
	shot(phone, "phone", 360, 740)
}

// axe reports the accessibility violations that axe-core finds.
func (p *tab) axe(phase string) {
	p.T.Helper()
	file := os.Getenv("STOCKAPI_AXE")
	if file == "" {
		return
	}
	script, err := os.ReadFile(file)
	require.NoError(p.T, err)
	reporttest.Evaluate[int](p.Tab, string(script)+";0")
	assert.Empty(p.T, reporttest.Evaluate[[]string](p.Tab, `axe.run().then((all) =>
		all.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 120))))`), phase)
}
