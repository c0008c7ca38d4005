package stage

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/piglig/go-qr"

	"stockapi/loadtest/report/html"
)

//go:embed web
var web embed.FS

const (
	maxBody = 4 << 10
	// batch is how long events are collected for the wall, and beat the longest time without a message to anybody.
	batch = 50 * time.Millisecond
	beat  = 5 * time.Second
	// phoneGap is the least time between two states of a phone.
	phoneGap = 250 * time.Millisecond
	// writeTime bounds a write to a page that does not read.
	writeTime = 5 * time.Second
	// maxStreams bounds the streams of a person, and of all walls.
	maxStreams = 4
	maxWalls   = 20
)

// policy lets a page load what its own server has, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A failure is an error with the status of its answer.
type failure struct {
	status int
	text   string
}

func (f failure) Error() string { return f.text }

// handler returns a handler that answers an error of do.
func handler(do func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err := do(w, r)
		if err == nil {
			return
		}
		f := failure{http.StatusConflict, err.Error()}
		_ = errors.As(err, &f)
		switch {
		case errors.Is(err, errFull), errors.Is(err, errOften):
			f.status = http.StatusTooManyRequests
		case errors.Is(err, errUnknown):
			f.status = http.StatusBadRequest
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": f.text})
	})
}

// read decodes the body of a request.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return failure{http.StatusBadRequest, "not the JSON that was expected: " + err.Error()}
	}
	return nil
}

// files serves the files of a page.
func (s *Stage) files(mux *http.ServeMux) {
	for _, name := range []string{"stage.css", "stage.js", "favicon.svg"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, web, "web/"+name)
		})
	}
	mux.HandleFunc("GET /palette.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = fmt.Fprint(w, html.Palette())
	})
	mux.HandleFunc("GET /words.json", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/words."+s.options.Language+".json")
	})
}

// guarded adds what holds of all answers. A name that is no address may be another site's that points here, so only
// addresses are served, and a page of another site cannot send anything.
func guarded(mux http.Handler) http.Handler {
	mux = http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "ask by the address, not by a name", http.StatusMisdirectedRequest)
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
	walls := new(atomic.Int32)
	s.files(mux)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/stage.html")
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		defer walls.Add(-1)
		if walls.Add(1) > maxWalls {
			http.Error(w, "too many walls", http.StatusTooManyRequests)
			return
		}
		s.streamWall(w, r)
	})
}

// Teacher returns the handler of the wall with its controls. A code, if there is one, has to be in the address that the
// teacher opens first.
func (s *Stage) Teacher(code string) http.Handler {
	mux := http.NewServeMux()
	s.wall(mux)
	mux.HandleFunc("GET /qr.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		code, err := go_qr.EncodeText("http://"+s.options.Phones, go_qr.Medium)
		if err == nil {
			err = code.WriteAsSVG(go_qr.NewQrCodeImgConfig(8, 2), w)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.Handle("POST /do", handler(func(w http.ResponseWriter, r *http.Request) error {
		var a action
		if err := read(r, &a); err != nil {
			return err
		}
		if err := s.act(r.Context(), a); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
	return guarded(behind(code, mux))
}

// behind lets in who has the code, which a cookie then remembers.
func behind(code string, mux http.Handler) http.Handler {
	if code == "" {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("code") == code {
			http.SetCookie(w, &http.Cookie{Name: "stage", Value: code, Path: "/", HttpOnly: true,
				SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie("stage"); err != nil || c.Value != code {
			http.Error(w, "open the address that loadtest has printed, with its code", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Phones returns the handler of the phones' page.
func (s *Stage) Phones() http.Handler {
	mux := http.NewServeMux()
	s.files(mux)
	page := func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, web, "web/phone.html") }
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("GET /{code}", page)
	mux.Handle("POST /join", handler(s.join))
	mux.Handle("GET /me", handler(s.streamPhone))
	mux.Handle("POST /vote", s.person(func(p *person, m message) (int, error) {
		v := vote{m.Letters, m.Twice}
		if err := v.check(); err != nil {
			return 0, failure{http.StatusBadRequest, err.Error()}
		}
		switch s.phase {
		case voting:
			p.votes[0] = &v
		case asking:
			p.votes[1] = &v
		default:
			return 0, errNow
		}
		s.class.tell() // how many have voted
		return http.StatusNoContent, nil
	}))
	mux.Handle("POST /buy", s.person(func(p *person, m message) (int, error) {
		switch {
		case m.Tap == "" || len(m.Tap) > 64:
			return 0, failure{http.StatusBadRequest, "a tap has an id of 1 to 64 characters"}
		case p.find(m.Tap) != nil: // it was heard
			return http.StatusAccepted, nil
		case s.phase != buying:
			return 0, errNow
		}
		if err := p.mayTap(); err != nil {
			return 0, err
		}
		s.order(p, m.Tap)
		return http.StatusAccepted, nil
	}))
	mux.Handle("POST /turn", s.person(func(p *person, m message) (int, error) {
		if m.At != "a" && m.At != "b" {
			return 0, failure{http.StatusBadRequest, "a turn is a's or b's"}
		}
		if !s.turning() {
			return 0, errNow
		}
		s.class.takeTurn(p, m.At)
		p.tell()
		return http.StatusNoContent, nil
	}))
	return guarded(mux)
}

// turning reports whether the class may say whose command is next. The caller has the lock.
func (s *Stage) turning() bool {
	return s.phase == buying && s.shop.held.Load() && len(s.shop.round.steps) == 0
}

// A message is what a phone sends.
type message struct {
	ID      string `json:"id"`
	Letters string `json:"letters"`
	Twice   string `json:"twice"`
	Tap     string `json:"tap"`
	At      string `json:"at"`
}

// person handles the message of a person. Do has the lock, and returns the status of the answer.
func (s *Stage) person(do func(*person, message) (int, error)) http.Handler {
	return handler(func(w http.ResponseWriter, r *http.Request) error {
		var m message
		if err := read(r, &m); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		p := s.class.byID[m.ID]
		if p == nil {
			return failure{http.StatusNotFound, "nobody has this id: join"}
		}
		status, err := do(p, m)
		if err != nil {
			return err
		}
		s.tellClass()
		w.WriteHeader(status)
		return nil
	})
}

func (s *Stage) join(w http.ResponseWriter, r *http.Request) error {
	var m struct {
		Code string `json:"code"`
	}
	if err := read(r, &m); err != nil {
		return err
	}
	if !strings.EqualFold(m.Code, s.options.Code) {
		return failure{http.StatusForbidden, "that is not the code on the wall"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.class.join(!fromHere(r))
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
