package stage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stockapi/loadtest/schedule"
)

// send sends a message to a page. It returns false if the page is gone, or does not read.
func send(w http.ResponseWriter, data any) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(writeTime))
	text, err := json.Marshal(data)
	if err == nil {
		_, err = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	return err == nil && c.Flush() == nil
}

// streamWall sends all events of the round, and then new ones, in batches.
func (s *Stage) streamWall(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	mine := s.walls.open(maxWalls)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.walls.remove(mine)
	}()
	var at reader
	for begun := true; ; begun = false {
		events, fresh, changed := s.record.next(&at)
		if begun || fresh || len(events) > 0 || time.Since(at.told) >= beat {
			at.told = time.Now()
			message := map[string]any{"now": s.record.now(), "events": events}
			if fresh {
				message["fresh"] = true
			}
			if !send(w, message) {
				return
			}
		}
		select {
		case <-mine:
			return
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

// state returns the state of a person's phone: less than 1 kB. The caller holds s.mu.
func (s *Stage) state(p *person) any {
	const shown, title, question = 3, 60, 180
	r, asked, orders, verdict := &s.Rounds[s.number], s.voteNumber(), []tap{}, ""
	for _, t := range p.taps[max(0, len(p.taps)-shown):] {
		orders = append(orders, *t) // a copy, since it may change meanwhile
	}
	twice := slices.Clone(p.twice[max(0, len(p.twice)-shown):])
	for i, t := range twice {
		if len(t.With) > shown {
			twice[i].With = append(slices.Clone(t.With[:shown]), "…")
		}
	}
	if s.phase == judged {
		verdict = inLetters(s.cells[len(s.cells)-1])
	}
	return event{"person": p.name, "colour": p.colour, "instance": schedule.ClientName(p.at), "phase": s.phase,
		"round": event{"number": s.number + 1, "of": len(s.Rounds), "title": cut(r.Title, title),
			"question": cut(r.Question, question), "rung": r.Rung},
		"voted": p.votes[asked] != nil, "vote": p.votes[asked], "votes": s.class.voters(asked), "here": s.class.here(),
		"buyers": r.names("all"), "buying": s.phase == buying && len(p.taps) < maxTaps, "orders": orders,
		"twice": twice, "turn": s.takesTurns(), "myturn": p.turn,
		"points": p.points, "of": p.of, "verdict": verdict, "right": p.right, "said": p.votes[0]}
}

// cut shortens a text to most bytes and an ellipsis.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// streamPhone sends a phone its state whenever it has changed. A phone that reads slowly skips states.
func (s *Stage) streamPhone(w http.ResponseWriter, r *http.Request) error {
	s.mu.Lock()
	p, err := s.class.find(r.URL.Query().Get("id"))
	if err == nil {
		err = p.sent.check()
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	mine := p.streams.open(maxStreams)
	s.tellClass()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.streams.remove(mine)
		p.left = time.Now()
		s.tellClass()
	}()
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
		if !send(w, state) {
			return nil
		}
		time.Sleep(phoneGap)
	}
}
