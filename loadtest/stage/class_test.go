package stage_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/stage"
)

// atOnce returns the round without a lock and without work.
func atOnce(t *testing.T) stage.Round {
	r := ownRounds(t, "v0")[0]
	r.Work = 0
	return r
}

// A class plays a round: it votes, buys, votes on its observations, and sees the verdict.
func TestClass(t *testing.T) {
	t.Parallel()
	c := open(t, atOnce(t))
	fox, owl := c.join(), c.join()
	for p, who := range map[*phone]string{fox: "fox a", owl: "owl b"} {
		s := p.await(func(s *state) bool { return s.Here == 2 })
		assert.Equal(t, who, s.Person+" "+s.Instance)
	}
	for _, early := range []string{"again", "verdict", "anna", "all", "pause", "step", "flow"} {
		status, _ := c.tryTo(early)
		assert.Equal(t, http.StatusConflict, status, early)
	}
	assert.Equal(t, http.StatusConflict, fox.vote("S", "1"), "it is not open")

	c.do("vote")
	status, _ := c.tryTo("vote")
	assert.Equal(t, http.StatusConflict, status, "no vote, no start")
	assert.Equal(t, http.StatusConflict, fox.buy("early"))
	for _, wrong := range [][2]string{{"X", "1"}, {"SS", "1"}, {"S", "2"}, {"S", ""}} {
		assert.Equal(t, http.StatusBadRequest, fox.vote(wrong[0], wrong[1]))
	}
	again := fox.open() // another tab of the same person
	assert.Equal(t, http.StatusNoContent, fox.vote("SE", "1"))
	assert.Equal(t, http.StatusNoContent, fox.vote("SR", "more"), "changed")
	others := owl.await(func(s *state) bool { return s.Votes > 0 })
	assert.Equal(t, 1, others.Votes)
	assert.False(t, others.Voted)
	again()
	assert.Equal(t, http.StatusNoContent, owl.vote("", "0"))
	c.wall.await("class", func(e *event) bool { return e.Voted == 2 })
	for _, e := range c.wall.all() {
		assert.NotContains(t, e.text, "letters", "votes are secret while the vote is open")
	}
	c.do("vote")
	closed := c.wall.await("class", func(e *event) bool { return e.First != nil })
	assert.Equal(t, &votes{map[string]int{"S": 1, "E": 0, "R": 1, "L": 0, "none": 1},
		map[string]int{"0": 1, "1": 0, "more": 1}}, closed.First)
	assert.Equal(t, http.StatusConflict, fox.vote("S", "1"), "it is closed")

	var taps sync.WaitGroup
	for range 8 { // double taps, and resends by the network
		taps.Go(func() { assert.Equal(t, http.StatusAccepted, fox.buy("the same")) })
	}
	taps.Wait()
	var statuses sync.Map
	for i := range 4 {
		taps.Go(func() { statuses.Store(owl.buy(fmt.Sprint(i)), true) })
	}
	taps.Wait()
	_, often := statuses.Load(http.StatusTooManyRequests)
	assert.True(t, often, "faster than a person taps")
	assert.Len(t, fox.await(func(s *state) bool { return len(s.Orders) > 0 && s.Orders[0].Outcome != "" }).Orders, 1)

	// A phone that slept or changed networks is the same person.
	c.do("all")
	for _, p := range []*phone{fox, owl} {
		p.await(func(s *state) bool { return len(s.Orders) > 1 && s.Orders[len(s.Orders)-1].Outcome != "" })
	}
	fox.leave()
	owl.await(func(s *state) bool { return s.Here == 1 })
	fox.open()
	same := fox.await(func(s *state) bool { return s.Here == 2 })
	assert.Equal(t, "fox", same.Person)
	assert.Len(t, same.Orders, 2)

	c.do("again")
	assert.Equal(t, http.StatusConflict, fox.buy("late"))
	assert.Equal(t, http.StatusAccepted, fox.buy("the same"), "it was heard long ago")
	assert.Equal(t, http.StatusNoContent, fox.vote("", "0"))
	c.do("verdict")
	c.wall.await("phase", func(e *event) bool { return e.Phase == "verdict" })
	assert.Equal(t, &votes{map[string]int{"S": 0, "E": 0, "R": 0, "L": 0, "none": 1},
		map[string]int{"0": 1, "1": 0, "more": 0}},
		c.wall.await("class", func(e *event) bool { return e.Second != nil }).Second)
	assert.Equal(t, http.StatusConflict, fox.vote("S", "1"))
	status, _ = c.tryTo("anna")
	assert.Equal(t, http.StatusConflict, status)
	checkReplay(t, c)
}

// checkReplay checks that a replay of the log sends the same events to the wall, and the last drawing.
func checkReplay(t *testing.T, c *class) {
	t.Helper()
	recording, err := stage.ReadRecording(strings.NewReader(c.log.String()), "en")
	require.NoError(t, err)
	go recording.Play(t.Context())
	address := serve(t, recording.Wall())
	w := watch(t, address)
	post(t, address+"/do", map[string]string{"do": "next"}) // to the buying, past the vote
	w.await("phase", func(e *event) bool { return e.Phase == "verdict" })
	before, lastBefore := undrawn(c.wall.all())
	assert.Eventually(t, func() bool {
		others, last := undrawn(w.all())
		return len(others) == len(before) && last == lastBefore
	}, 5*time.Second, 10*time.Millisecond)
	shown, _ := undrawn(w.all())
	for i := range shown {
		if shown[i].Kind == "round" {
			assert.Equal(t, true, shown[i].Round["replay"])
			delete(shown[i].Round, "replay")
			shown[i].text = strings.Replace(shown[i].text, `"replay":true,`, "", 1)
		}
	}
	assert.Equal(t, before, shown)
}

// undrawn separates the last drawing from the other events. A wall may skip the earlier drawings.
func undrawn(events []event) (others []event, last string) {
	for _, e := range events {
		if e.Kind == "drawing" {
			last = e.text
		} else {
			others = append(others, e)
		}
	}
	return others, last
}

// At thirty orders a second, with pages that do not read and with long texts, phones get few and small states, and a
// wall misses no event, even if it is opened late.
func TestBusyClass(t *testing.T) {
	t.Parallel()
	r := atOnce(t)
	r.Title, r.Question = strings.Repeat("先想后看", 100), strings.Repeat("谁买到了哪一件？", 100)
	c := open(t, r)
	var phones []*phone
	for range 10 {
		phones = append(phones, c.join())
	}
	openDeaf(t, c.teacher, "/events")
	openDeaf(t, c.phones, "/me?id="+phones[0].id)
	c.do("vote")
	phones[0].vote("S", "more")
	c.do("vote")

	const each, most, gap = 8, 20, 330 * time.Millisecond
	begun := time.Now()
	before := make([]int, len(phones))
	var taps sync.WaitGroup
	for i, p := range phones {
		before[i] = p.states()
		taps.Go(func() {
			for n := range each {
				time.Sleep(time.Until(begun.Add(time.Duration(n) * gap)))
				tap := fmt.Sprintf("%d-4294967295-4294967295-4294967295", n)
				for p.buy(tap) != http.StatusAccepted && time.Since(begun) < time.Minute {
					time.Sleep(gap) // the machine stalled, and the last order was too recent
				}
			}
		})
	}
	taps.Wait()
	for range most - each {
		c.do("all")
	}
	lasted := time.Since(begun)
	time.Sleep(gap)
	assert.Equal(t, http.StatusTooManyRequests, phones[0].buy("one too many"))
	assert.False(t, phones[0].await(func(s *state) bool { return len(s.Orders) == 3 }).Buying)
	for i, p := range phones {
		p.await(func(s *state) bool { return s.Orders[len(s.Orders)-1].Outcome != "" })
		assert.Less(t, p.largest(), 1000, "bytes")
		assert.LessOrEqual(t, float64(p.states()-before[i]), 4*lasted.Seconds()+3, "states")
	}

	ended := func(w *wall) (n int) {
		for _, e := range w.all() {
			if e.Kind == "order" {
				assert.NotEmpty(t, e.Person, e.text)
				if e.State == "done" {
					n++
				}
			}
		}
		return n
	}
	late := watch(t, c.teacher)
	for _, w := range []*wall{c.wall, late} {
		assert.Eventually(t, func() bool { return ended(w) == most*len(phones) }, 5*time.Second, 20*time.Millisecond)
		assert.Equal(t, 1, w.fresh)
		whose := map[int]string{} // a command belongs to one order, though many are in flight at its instance
		events := w.all()
		numbers := c.log.numbers()
		for _, e := range events {
			if e.Kind == "drawing" { // a wall gets the newest
				continue
			}
			assert.Equal(t, numbers[0], e.N)
			numbers = numbers[1:]
			for _, id := range e.Commands {
				assert.Empty(t, whose[id], e.text)
				whose[id] = e.Order
			}
		}
	}
	drawings := slices.DeleteFunc(late.all(), func(e event) bool { return e.Kind != "drawing" })
	assert.NotEmpty(t, drawings)
	assert.LessOrEqual(t, len(drawings), 2, "one, and the last one if that came later")
}

// openDeaf opens a stream and never reads it.
func openDeaf(t *testing.T, address, path string) {
	t.Helper()
	host := strings.TrimPrefix(address, "http://")
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(1)
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host)
	require.NoError(t, err)
}

// Phones may read and send while one round ends and the next begins.
func TestClassBetweenRounds(t *testing.T) {
	t.Parallel()
	c := open(t, atOnce(t))
	var phones []*phone
	for range 10 {
		phones = append(phones, c.join())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for _, p := range phones {
		busy.Go(func() {
			for ctx.Err() == nil {
				p.vote("S", "1")
				p.buy("1")
				p.send("/turn", map[string]any{"at": "a"})
				p.open()()
				time.Sleep(250 * time.Millisecond) // the limit is twenty requests a second
			}
		})
	}
	for range 3 {
		c.do("vote")
		assert.Eventually(t, func() bool { // a vote arrives
			status, _ := c.tryTo("vote")
			return status == http.StatusNoContent
		}, 5*time.Second, time.Millisecond)
		c.do("anna")
		c.do("step")
		c.do("reset")
	}
	cancel()
	busy.Wait()
	annas, sent := 0, map[string]bool{}
	for _, e := range eventsOf(t, c.log.String()) {
		switch {
		case e.Kind == "round":
			clear(sent)
		case e.Kind == "order" && e.State == "sent":
			sent[e.Order] = true
			if e.Order == "anna" {
				annas++
			}
		case e.Kind == "order":
			assert.True(t, sent[e.Order], "no order ends in a later round: %s", e.text)
		}
	}
	assert.Equal(t, 3, annas)
}

// A round restarts at once, even while a step waits for a command that does not arrive.
func TestRoundRestartsDuringAStep(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rounds.yaml")
	text := `[{title: one step too many, rung: v3, work: 100ms, trace: "v3:aaaa.expiry.aa"}]`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	rounds, err := stage.ReadRounds(file, "en")
	require.NoError(t, err)
	c := open(t, rounds...)
	c.do("vote")
	c.join().vote("R", "0")
	c.do("vote")
	for range 6 { // the fifth expires a lease of a minute immediately
		c.do("step")
	}
	var late sync.WaitGroup
	late.Go(func() {
		status, _ := c.tryTo("step")
		assert.Equal(t, http.StatusConflict, status)
	})
	time.Sleep(200 * time.Millisecond) // the step is waiting
	begun := time.Now()
	c.do("reset")
	assert.Less(t, time.Since(begun), 5*time.Second)
	late.Wait()
}

// A round may end before its fault happens. Playing it again adds a repetition of its cell.
func TestRoundEndsBeforeItsFault(t *testing.T) {
	t.Parallel()
	stops := ownRounds(t, "v15")[0]
	file := filepath.Join(t.TempDir(), "rounds.yaml")
	text := fmt.Sprintf(`[{title: %q, rung: v15, lease: 6s, work: 1s, fault: "a>write"}]`, stops.Title)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	holds, err := stage.ReadRounds(file, "en")
	require.NoError(t, err)
	c := open(t, stops, holds[0])
	p := c.join()
	for number := 1.0; number <= 2; number++ {
		c.wall.await("round", func(e *event) bool { return e.Round["number"] == number })
		c.do("vote")
		p.vote("E", "0")
		c.do("vote")
		c.do("anna")
		c.wall.await("cmd", func(e *event) bool { return e.Role == "read" })
		assert.Empty(t, c.judge().broken(), number)
		_, _ = c.tryTo("next")
	}
	cells := c.stage.Run("").Cells
	require.Len(t, cells, 2)
	assert.Equal(t, []int{1, 2}, []int{cells[0].Repetition, cells[1].Repetition})
}

// An unknown verdict counts neither way in the scores. The stock is known even without an instance.
func TestClassWithDeadInstances(t *testing.T) {
	t.Parallel()
	c := open(t, atOnce(t))
	c.do("vote")
	fox, owl := c.join(), c.join()
	fox.vote("EL", "0")
	owl.vote("E", "0")
	c.do("vote")
	c.do("anna")
	c.wall.await("order", func(e *event) bool { return e.State == "done" })
	c.do("kill", "a")
	c.do("kill", "b")
	assert.Empty(t, c.judge().broken())
	points := map[string]int{"fox": 1, "owl": 1} // both for the number; E is wrong, and L is unknown
	for _, p := range []*phone{fox, owl} {
		s := p.await(func(s *state) bool { return s.Phase == "verdict" })
		assert.Equal(t, "?L", s.Verdict)
		assert.Equal(t, []int{points[s.Person], 2}, []int{s.Points, s.Of})
	}
	left := c.stage.Run("").Cells[0].Left
	require.NotNil(t, left)
	assert.EqualValues(t, 99, *left)
	var sheet strings.Builder
	require.NoError(t, c.stage.WriteSheet(&sheet))
	assert.Contains(t, sheet.String(), "<strong>?L</strong>")
}

// When the teacher empties the class, persons need the new code to come back, and keep their points.
func TestEmptiedClass(t *testing.T) {
	t.Parallel()
	c := open(t, atOnce(t))
	fox, owl := c.join(), c.join()
	c.do("vote")
	fox.vote("", "0")
	c.do("vote")
	c.do("anna")
	c.judge()
	points := fox.await(func(s *state) bool { return s.Of > 0 }).Points
	assert.Positive(t, points)

	c.do("empty")
	assert.Equal(t, http.StatusNotFound, fox.vote("", "0"))
	fox.leave() // a no-op: the server has closed it
	anew := c.wall.await("round", func(e *event) bool { return e.Round["phones"] != "127.0.0.1:7071/"+code })
	join := func(code, id string) (status int) {
		status, _ = post(t, c.phones+"/join", map[string]string{"code": code, "id": id})
		return status
	}
	assert.Equal(t, http.StatusForbidden, join(code, fox.id))
	c.code = strings.TrimPrefix(anew.Round["phones"].(string), "127.0.0.1:7071/")
	wolf := c.join()
	assert.Equal(t, http.StatusOK, join(c.code, fox.id))
	assert.Equal(t, http.StatusOK, join(c.code, fox.id), "the answer was lost")
	fox.open()
	assert.Equal(t, points, fox.await(func(s *state) bool { return s.Here == 2 }).Points)
	assert.Zero(t, wolf.await(func(s *state) bool { return s.Here == 2 }).Points)
	assert.NotEqual(t, owl.id, wolf.id)
	c.wall.await("class", func(e *event) bool { return e.Persons == 2.0 })
}

// The phone of a person who bought a unit twice shows that.
func TestPersonBuysAUnitTwice(t *testing.T) {
	t.Parallel()
	c := open(t, ownRounds(t, "v0")...)
	fox := c.join()
	c.do("vote")
	fox.vote("S", "1")
	c.do("vote")
	c.do("all")
	c.do("all")
	s := fox.await(func(s *state) bool { return len(s.Twice) > 0 })
	assert.Equal(t, []string{"fox"}, s.Twice[0].With)
	assert.Equal(t, 2, s.Twice[0].Times)
}

// Invalid requests are refused before they have an effect.
func TestInvalidRequestsAreRefused(t *testing.T) {
	t.Parallel()
	c := open(t, atOnce(t))
	join := fmt.Sprintf(`{"code":%q}`, code)
	t.Run("messages", func(t *testing.T) {
		huge := `{"code":"` + strings.Repeat("K", 5000) + `"}`
		for _, m := range []struct {
			address, body string
			status        int
		}{
			{c.phones + "/join", `{"code":"NOPE"}`, http.StatusForbidden},
			{c.phones + "/join", `{"code":`, http.StatusBadRequest},
			{c.phones + "/join", `{"code":"KXQP","name":"I"}`, http.StatusBadRequest},
			{c.phones + "/join", huge, http.StatusBadRequest},
			{c.phones + "/vote", `{"id":"nobody","letters":"S","twice":"1"}`, http.StatusNotFound},
			{c.phones + "/buy", `{"id":"nobody","tap":"1"}`, http.StatusNotFound},
			{c.phones + "/do", `{"do":"vote"}`, http.StatusMethodNotAllowed},
			{c.teacher + "/do", `{"do":"dance"}`, http.StatusBadRequest},
			{c.teacher + "/do", `{"do":"vote","who":"I"}`, http.StatusBadRequest},
			{c.teacher + "/do", `{"do":"vote"}{"do":"vote"}`, http.StatusBadRequest},
			{c.teacher + "/do", `{"do":"kill","at":"c"}`, http.StatusBadRequest},
			{c.teacher + "/do", huge, http.StatusBadRequest},
			{c.teacher + "/do", `{"do":"round","round":2}`, http.StatusConflict},
			{c.teacher + "/join", join, http.StatusNotFound},
		} {
			status, text := post(t, m.address, m.body)
			assert.Equal(t, m.status, status, "%s %.50s: %s", m.address, m.body, text)
		}
	})
	t.Run("sites", func(t *testing.T) {
		for _, address := range []string{c.teacher + "/do", c.phones + "/join"} {
			for header, value := range map[string]string{
				"Origin": "http://elsewhere.example", "Sec-Fetch-Site": "cross-site", "Host": "elsewhere.example",
			} {
				request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(join))
				require.NoError(t, err)
				request.Header.Set(header, value)
				want := http.StatusForbidden
				if header == "Host" { // another site's name that resolves to this server
					request.Host, want = value, http.StatusMisdirectedRequest
				}
				assert.Equal(t, want, ask(t, request).StatusCode, header)
			}
		}
		assert.NotContains(t, c.log.String(), `"persons":1`)
	})
	t.Run("headers", func(t *testing.T) {
		for address, kind := range map[string]string{
			c.teacher + "/": "text/html", c.teacher + "/stage.css": "text/css", c.teacher + "/wall.js": "text/javascript",
			c.teacher + "/timeline.js": "text/javascript", c.phones + "/timeline.js": "text/html", // not the code of a room
			c.teacher + "/page.js": "text/javascript", c.teacher + "/phone.js": "text/plain", // which it does not need
			c.teacher + "/palette.css": "text/css", c.teacher + "/words.json": "application/json",
			c.teacher + "/qr.svg": "image/svg+xml", c.teacher + "/favicon.svg": "image/svg+xml",
			c.teacher + "/none": "text/plain",
			c.phones + "/":      "text/html", c.phones + "/" + code: "text/html", c.phones + "/phone.js": "text/javascript",
			c.phones + "/page.js":      "text/javascript",
			c.phones + "/me?id=nobody": "application/json",
		} {
			request, err := http.NewRequest(http.MethodGet, address, nil)
			require.NoError(t, err)
			h := ask(t, request).Header
			assert.True(t, strings.HasPrefix(h.Get("Content-Type"), kind), "%s: %s", address, h.Get("Content-Type"))
			assert.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"), address)
			assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), address)
			assert.Equal(t, "no-store", h.Get("Cache-Control"), address)
		}
	})
	t.Run("rates", func(t *testing.T) {
		votes, p := 0, c.join()
		for range 60 { // 40 of them pass in two seconds
			if p.vote("S", "1") == http.StatusTooManyRequests {
				votes++
			}
		}
		assert.Positive(t, votes)
	})
	t.Run("crowd", func(t *testing.T) {
		ids := map[string]bool{}
		for range 39 { // one has joined
			status, id := post(t, c.phones+"/join", strings.ToLower(join)) // phones' keyboards may send small letters
			require.Equal(t, http.StatusOK, status, id)
			ids[id] = true
		}
		assert.Len(t, ids, 39)
		status, _ := post(t, c.phones+"/join", join)
		assert.Equal(t, http.StatusTooManyRequests, status)
	})
	t.Run("codes", func(t *testing.T) {
		begun, told := time.Now(), 0
		for range 60 {
			status, _ := post(t, c.phones+"/join", `{"code":"NONE"}`)
			if status == http.StatusForbidden {
				told++
			} else {
				assert.Equal(t, http.StatusTooManyRequests, status)
			}
		}
		assert.LessOrEqual(t, told, 1+int(time.Since(begun)/time.Second))
	})
}

// With too many walls the oldest is closed: its page has probably gone.
func TestWallsAreBounded(t *testing.T) {
	recording, err := stage.ReadRecording(strings.NewReader(`{"n":1,"at":5,"kind":"round","round":{"number":1}}`), "en")
	require.NoError(t, err)
	address := serve(t, recording.Wall())
	ended := make(chan error, 1)
	for i := range 21 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/events", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode, i)
		if i == 0 {
			go func() {
				_, err := io.Copy(io.Discard, answer.Body)
				ended <- err
			}()
		}
	}
	assert.NoError(t, <-ended)
}

// ask sends a request, and returns its answer. It follows no redirects.
func ask(t *testing.T, request *http.Request) *http.Response {
	t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}

// A replay pauses as the class did, up to a bound, and next skips to the next phase.
func TestRecording(t *testing.T) {
	t.Parallel()
	const log = `{"n":1,"at":5,"kind":"round","round":{"number":1}}
{"n":2,"at":6,"kind":"phase","phase":"ready"}
{"n":3,"at":60000,"kind":"class","persons":3}
{"n":4,"at":70000,"kind":"class","persons":4}
{"n":5,"at":80000,"kind":"phase","phase":"vote"}
{"n":6,"at":90000,"kind":"class","per`
	recording, err := stage.ReadRecording(strings.NewReader(log), "zh")
	require.NoError(t, err)
	go recording.Play(t.Context())
	address := serve(t, recording.Wall())
	w := watch(t, address)
	w.await("phase", nil)
	begun := time.Now()
	status, text := post(t, address+"/do", `{"do":"next"}`)
	assert.Equal(t, http.StatusNoContent, status, text)
	w.await("phase", func(e *event) bool { return e.Phase == "vote" })
	assert.Less(t, time.Since(begun), 2*time.Second)
	assert.Len(t, w.all(), 5, "one that was cut short is shown as far as it goes")
	status, _ = post(t, address+"/do", `{"do":"vote"}`)
	assert.Equal(t, http.StatusBadRequest, status)
	for _, bad := range []string{"", "a\nb\n", `{"kind":`, "[]", `{"run":{}}` + "\n" + log, `{"kind":"Pod"}`} {
		_, err := stage.ReadRecording(strings.NewReader(bad), "en")
		assert.Error(t, err, bad)
	}
}

// The wall reports how a round departs from its script: a key, its order, a step without a command, or the verdict. The
// class's report says so, too.
func TestRoundDepartsFromItsScript(t *testing.T) {
	t.Parallel()
	c := open(t, ownRounds(t, "v0", "v3")...)
	p := c.join()
	astray := func(sign, what string) *event {
		t.Helper()
		return c.wall.await("astray", func(e *event) bool { return e.Sign == sign && e.What == what })
	}
	c.do("vote")
	p.vote("S", "1")
	c.do("vote")
	c.do("slow")
	astray("key", "S")
	c.do("continue")
	c.do("slow", "b")
	astray("key", "Shift+S")
	c.do("bert")
	assert.Equal(t, "E", astray("early", "B").After)
	for _, do := range []string{"all", "anna", "bert", "bert"} { // in order, and one is repeated
		c.do(do)
	}
	c.do("again")
	c.do("verdict")
	c.wall.await("phase", func(e *event) bool { return e.Phase == "verdict" })
	assert.Subset(t, c.stage.Run("").Cells[0].Astray, []string{"S is not part of this round.",
		"C is not part of this round.", "Shift+S is not part of this round.", "B comes after E in this round."})

	c.do("next")
	c.do("vote")
	p.vote("R", "0")
	c.do("vote")
	c.do("step")
	c.do("kill")
	astray("key", "K")
	for _, do := range []string{"again", "verdict"} {
		c.do(do)
	}
	astray("verdict", "R")
}

// The verdict may be asked for while orders are in flight. No finding and no drawing follows it.
func TestVerdictIsLast(t *testing.T) {
	t.Parallel()
	c := open(t, ownRounds(t, "v0.5")...)
	c.do("vote")
	c.join().vote("SE", "1")
	c.do("vote")
	for _, do := range []string{"anna", "bert", "again", "verdict"} {
		c.do(do)
	}
	verdict := c.wall.await("verdict", nil)
	assert.Equal(t, "SE", verdict.broken())
	c.wall.await("phase", func(e *event) bool { return e.Phase == "verdict" })
	time.Sleep(300 * time.Millisecond) // several polls
	for _, e := range eventsOf(t, c.log.String()) {
		if e.N > verdict.N {
			assert.NotContains(t, []string{"broken", "drawing"}, e.Kind, e.text)
		}
	}
}

// After the verdict the fault of a round is played on the rung that fixes it.
func TestFixIsPlayedAfterTheVerdict(t *testing.T) {
	t.Parallel()
	fixes := map[string]struct{ broken, anna, bert string }{
		"v1":   {"", "sold", "sold"},
		"v2":   {"", "not-sold", "sold"}, // she was killed
		"v5":   {"", "sold", "sold"},
		"v5.5": {"", "not-sold", "sold"},  // her work was cancelled
		"v15":  {"E", "not-sold", "sold"}, // the stock refused her write
	}
	played := 0
	for _, r := range ownRounds(t) {
		rung, _, _ := strings.Cut(r.Play, ":")
		if rung == "" {
			continue
		}
		played++
		t.Run(rung, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(r.Play, "stop-a") && !cluster.CanStop {
				t.Skip("this system cannot stop a process")
			}
			pace := time.Duration(4)
			if rung == "v5" { // a stall of half a lease would break it
				pace = 2
			}
			c := openAt(t, pace, r)
			c.do("vote")
			c.join().vote("S", "1")
			c.do("vote")
			c.judge() // of no orders
			c.do("mend")
			status, _ := c.tryTo("mend")
			assert.Equal(t, http.StatusConflict, status, "once")
			mended := c.wall.await("mend", func(e *event) bool { return e.Drawing != nil })
			assert.Equal(t, fixes[rung].broken, mended.broken(), mended.text)
			assert.False(t, mended.isUnknown(), mended.text)
			orders := pictureOf(t, mended)
			assert.Equal(t, fixes[rung].anna, orders.order("anna")["outcome"], mended.text)
			assert.Equal(t, fixes[rung].bert, orders.order("bert")["outcome"], mended.text)
			c.do("reset")
		})
	}
	assert.Equal(t, len(fixes), played)
}
