package stage

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	go_qr "github.com/piglig/go-qr"

	"stockapi/loadtest/report/drawing"
)

//go:embed web
var web embed.FS

const (
	maxBody = 4 << 10
	// batch is how long events for the wall are collected; beat is the longest time without a message to a page.
	batch = 50 * time.Millisecond
	beat  = 5 * time.Second
	// phoneGap is the shortest time between two states of a phone.
	phoneGap = 250 * time.Millisecond
	// writeTime bounds a write to a page that does not read.
	writeTime = 5 * time.Second
	// maxStreams bounds the streams of a person, and maxWalls those of the wall.
	maxStreams = 4
	maxWalls   = 20
)

// policy lets a page load only from its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A refusal is an error with a status and the key of its text in the page's words.
type refusal struct {
	status int
	key    string
}

// Error returns the key: the handler replaces it by the text.
func (r refusal) Error() string { return r.key }

// refuse returns the refusal of an action that is not possible now.
func refuse(key string) error { return refusal{http.StatusConflict, key} }

// wordsOf returns the words of a language: the texts of the pages, by key.
func wordsOf(language string) (words map[string]string) {
	if text, err := web.ReadFile("web/words." + language + ".json"); err == nil {
		_ = json.Unmarshal(text, &words) // tested for both languages
	}
	return words
}

// handler returns a handler that answers the errors of do.
func (s *Stage) handler(do func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := do(w, r)
		if err == nil {
			return
		}
		status, text := http.StatusConflict, err.Error()
		if refused, is := errors.AsType[refusal](err); is {
			status, text = refused.status, cmp.Or(s.words[refused.key], text)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
	})
}

// read decodes the body of a request, within writeTime.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(writeTime))
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		return refusal{http.StatusBadRequest, "error.json"}
	}
	return nil
}

// files serves the files of a page: script is its own, the others are shared.
func (s *Stage) files(mux *http.ServeMux, script string) {
	for _, name := range []string{"stage.css", "page.js", script, "favicon.svg"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, web, "web/"+name)
		})
	}
	mux.HandleFunc("GET /palette.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = fmt.Fprint(w, drawing.Style())
	})
	mux.HandleFunc("GET /words.json", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/words."+s.Language+".json")
	})
}

// guard protects the pages: against DNS rebinding by serving only IP addresses and localhost, and against requests from
// pages of other sites.
func guard(mux http.Handler) http.Handler {
	mux = http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "this page is served by IP address only, not by name", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// wall serves the wall without its controls.
func (s *Stage) wall(mux *http.ServeMux) {
	s.files(mux, "wall.js")
	mux.HandleFunc("GET /timeline.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = fmt.Fprint(w, drawing.Script())
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/stage.html")
	})
	mux.HandleFunc("GET /qr.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		s.mu.Lock()
		address := s.room()
		s.mu.Unlock()
		code, err := go_qr.EncodeText("http://"+address, go_qr.Medium)
		if err == nil {
			err = code.WriteAsSVG(go_qr.NewQrCodeImgConfig(8, 2), w)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /events", s.streamWall)
}

// Teacher returns the handler of the wall with its controls.
func (s *Stage) Teacher() http.Handler {
	mux := http.NewServeMux()
	s.wall(mux)
	s.controls(mux, s.act)
	return guard(mux)
}

// controls serves the controls of a wall.
func (s *Stage) controls(mux *http.ServeMux, act func(context.Context, action) error) {
	mux.Handle("POST /do", s.handler(func(w http.ResponseWriter, r *http.Request) error {
		var a action
		if err := read(w, r, &a); err != nil {
			return err
		}
		if err := act(r.Context(), a); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
}

// Phones returns the handler of the phones' page.
func (s *Stage) Phones() http.Handler {
	mux := http.NewServeMux()
	s.files(mux, "phone.js")
	page := func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, web, "web/phone.html") }
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("GET /{code}", page)
	mux.Handle("POST /join", s.handler(s.join))
	mux.Handle("GET /me", s.handler(s.streamPhone))
	for _, one := range []struct {
		path   string
		do     func(*person, message) error
		status int
	}{
		{"/vote", s.takeVote, http.StatusNoContent}, {"/turn", s.takeTurn, http.StatusNoContent},
		{"/buy", s.takeTap, http.StatusAccepted}, // the outcome follows later
	} {
		mux.Handle("POST "+one.path, s.handler(func(w http.ResponseWriter, r *http.Request) error {
			var m message
			if err := read(w, r, &m); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			p, err := s.class.find(m.ID)
			if err == nil {
				err = p.sent.check()
			}
			if err == nil {
				err = one.do(p, m)
			}
			if err == nil {
				s.tellClass()
				w.WriteHeader(one.status)
			}
			return err
		}))
	}
	return guard(mux)
}

// A message is one from a phone: a join, a vote, an order, or a turn.
type message struct {
	ID      string `json:"id"` // of a present or former person
	Code    string `json:"code"`
	Letters string `json:"letters"`
	Twice   string `json:"twice"`
	Tap     string `json:"tap"`
	At      string `json:"at"`
}

// takeVote sets or changes the vote of a person. The caller holds s.mu.
func (s *Stage) takeVote(p *person, m message) error {
	switch {
	case !lettersOnly(m.Letters) || !slices.Contains(counts, m.Twice):
		return refusal{http.StatusBadRequest, "error.ballot"}
	case s.phase != voting && s.phase != asking:
		return refuse("error.now")
	}
	p.votes[s.voteNumber()] = &vote{m.Letters, m.Twice}
	return nil
}

// takeTap takes an order of a person. It is idempotent by Tap. The caller holds s.mu.
func (s *Stage) takeTap(p *person, m message) error {
	const longest = 64
	switch {
	case m.Tap == "" || len(m.Tap) > longest:
		return refusal{http.StatusBadRequest, "error.json"}
	case p.heard[m.Tap]:
		return nil
	case s.phase != buying:
		return refuse("error.now")
	case len(p.taps) >= maxTaps || time.Since(p.tapped) < tapGap:
		return refusal{http.StatusTooManyRequests, "error.often"}
	}
	p.heard[m.Tap] = true
	s.order(p)
	return nil
}

// takeTurn records a person's vote for the instance of the next command. The caller holds s.mu.
func (s *Stage) takeTurn(p *person, m message) error {
	switch {
	case m.At != "a" && m.At != "b":
		return refusal{http.StatusBadRequest, "error.json"}
	case !s.takesTurns():
		return refuse("error.now")
	}
	p.turn = m.At
	return nil
}

// takesTurns reports whether the class votes on the next command. The caller holds s.mu.
func (s *Stage) takesTurns() bool {
	return s.phase == buying && s.shop.held.Load() && len(s.shop.round.steps) == 0
}

func (s *Stage) join(w http.ResponseWriter, r *http.Request) error {
	var m message
	if err := read(w, r, &m); err != nil {
		return err
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.class.guess(from, strings.EqualFold(m.Code, s.Code)); err != nil {
		return err
	}
	p, err := s.class.join(m.ID, !fromHere(r))
	if err != nil {
		return err
	}
	s.tellClass()
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]string{"id": p.id})
}

// fromHere reports whether a request comes from this machine.
func fromHere(r *http.Request) bool {
	remote, _, _ := net.SplitHostPort(r.RemoteAddr)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	ip := net.ParseIP(remote)
	return ip == nil || ip.IsLoopback() || local != nil && strings.HasPrefix(local.String(), remote+":")
}
