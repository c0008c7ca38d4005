package stage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// A stream sends messages to a page until the page has gone or does not read.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return &stream{w, http.NewResponseController(w)}
}

// send reports whether a message has been written.
func (s *stream) send(data any) bool {
	text, err := json.Marshal(data)
	if err != nil {
		return false
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err = fmt.Fprintf(s.w, "data: %s\n\n", text); err != nil {
		return false
	}
	return s.c.Flush() == nil
}

// streamWall sends all events of the round, and then what comes, in batches.
func (s *Stage) streamWall(w http.ResponseWriter, r *http.Request) {
	out := newStream(w)
	var at reader
	for begun := true; ; begun = false {
		events, fresh, changed := s.record.next(&at)
		if begun || fresh || len(events) > 0 || time.Since(at.told) >= beat {
			at.told = time.Now()
			message := map[string]any{"now": s.record.since(at.told), "events": events}
			if fresh {
				message["fresh"] = true
			}
			if !out.send(message) {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		case <-changed:
			time.Sleep(batch)
		case <-time.After(beat):
		}
	}
}

// A phoneState is all that a phone shows.
type phoneState struct {
	Person   string      `json:"person"`
	Colour   int         `json:"colour"`
	Instance string      `json:"instance"`
	Phase    string      `json:"phase"`
	Round    phoneRound  `json:"round"`
	Voted    bool        `json:"voted"`
	Vote     *vote       `json:"vote"`
	Votes    int         `json:"votes"`
	Here     int         `json:"here"`
	Buying   bool        `json:"buying"`
	Orders   []*tap      `json:"orders"`
	Twice    []soldTwice `json:"twice"`
	Turn     bool        `json:"turn"`
	MyTurn   string      `json:"myturn"`
	Points   int         `json:"points"`
	Of       int         `json:"of"`
	Verdict  string      `json:"verdict"`
}

type phoneRound struct {
	Number   int    `json:"number"`
	Of       int    `json:"of"`
	Title    string `json:"title"`
	Question string `json:"question"`
	Rung     string `json:"rung"`
}

// state is what the phone of a person shows. The caller has the lock.
func (s *Stage) state(p *person) phoneState {
	r := &s.rounds[s.number]
	second := 0
	if s.phase != ready && s.phase != voting && s.phase != buying {
		second = 1
	}
	const shownOrders, shownTwice, shownText = 3, 4, 120
	orders := []*tap{}
	for _, t := range p.taps[max(0, len(p.taps)-shownOrders):] {
		one := *t
		one.Why = cut(one.Why, shownText)
		orders = append(orders, &one)
	}
	state := phoneState{Person: p.name, Colour: p.colour, Instance: s.shop.sites[p.at].Name, Phase: s.phase,
		Round: phoneRound{s.number + 1, len(s.rounds), cut(r.Title, shownText), cut(r.Question, shownText), r.Rung},
		Voted: p.votes[second] != nil, Vote: p.votes[second], Votes: s.class.voted(second), Here: s.class.here(),
		Buying: s.phase == buying && len(p.taps) < maxTaps, Orders: orders, Twice: p.twice[max(0, len(p.twice)-shownTwice):],
		Turn: s.turning(), MyTurn: p.turn, Points: p.points, Of: p.of}
	if s.phase == judged {
		state.Verdict = broken(s.cells[len(s.cells)-1])
	}
	return state
}

// cut returns the beginning of a text.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// streamPhone sends a phone its state whenever that has changed. A phone that reads slowly gets the latest one.
func (s *Stage) streamPhone(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	p := s.class.byID[r.URL.Query().Get("id")]
	if p == nil {
		s.mu.Unlock()
		return failure{http.StatusNotFound, "nobody has this id: join"}
	}
	mine := make(chan struct{}, 1)
	mine <- struct{}{}
	if len(p.streams) == maxStreams { // the oldest is that of a phone that has moved on
		close(p.streams[0])
		p.streams = p.streams[1:]
	}
	p.streams = append(p.streams, mine)
	s.class.tell()
	s.tellClass()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.streams = slices.DeleteFunc(p.streams, func(c chan struct{}) bool { return c == mine })
		s.class.tell()
		s.tellClass()
	}()
	out := newStream(w)
	for {
		select {
		case _, open := <-mine:
			if !open {
				return nil
			}
		case <-time.After(beat):
		case <-r.Context().Done():
			return nil
		case <-s.ctx.Done():
			return nil
		}
		s.mu.Lock()
		state := s.state(p)
		s.mu.Unlock()
		if !out.send(state) {
			return nil
		}
		time.Sleep(phoneGap)
	}
}
