package stage

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// A record is the log of a class: numbered events, each a line of JSON, also written to a file. It keeps those of the
// current round in memory, so that a page that is opened late gets them all.
type record struct {
	start time.Time

	mu      sync.Mutex
	file    io.Writer
	err     error
	last    int
	drawing json.RawMessage // the newest of the round; readers need no older one
	drawn   int             // counts all drawings
	round   int             // counts the rounds, so that a reader detects a new one
	events  []json.RawMessage
	changed chan struct{} // closed by the next event
}

func newRecord(file io.Writer) *record {
	return &record{start: time.Now(), file: file, changed: make(chan struct{})}
}

// since returns a time in the log's unit: milliseconds since the class began.
func (r *record) since(t time.Time) float64 { return float64(t.Sub(r.start).Microseconds()) / 1000 }

// now returns the current time in the log's unit.
func (r *record) now() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since(time.Now())
}

// add appends an event. data is a struct or a map with the fields of its kind.
func (r *record) add(kind string, data any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, _ := json.Marshal(struct {
		N    int     `json:"n"`
		At   float64 `json:"at"`
		Kind string  `json:"kind"`
	}{r.last + 1, r.since(time.Now()), kind})
	fields, err := json.Marshal(data)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.keep(kind, slices.Concat(head[:len(head)-1], []byte(","), fields[1:]))
}

// keep appends an event that already has its number.
func (r *record) keep(kind string, line json.RawMessage) {
	r.last++
	if kind == "round" {
		r.round++
		r.events, r.drawing = nil, nil
	}
	if kind == "drawing" {
		r.drawing = line
		r.drawn++
	} else {
		r.events = append(r.events, line)
	}
	if r.file != nil && r.err == nil {
		_, r.err = r.file.Write(slices.Concat(line, []byte("\n")))
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// A reader is the position of a page in the log.
type reader struct {
	round, seen, drawn int
	told               time.Time // when it last got a message
}

// next returns the events that a reader has not seen. If a new round has begun, fresh is true and events has all of
// that round. Of the drawings only the newest is returned, last. changed is closed when there are more.
func (r *record) next(at *reader) (events []json.RawMessage, fresh bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.round != r.round {
		at.round, at.seen, fresh = r.round, 0, true
	}
	events = r.events[at.seen:]
	at.seen = len(r.events)
	if at.drawn != r.drawn && r.drawing != nil {
		events = append(slices.Clip(events), r.drawing)
	}
	at.drawn = r.drawn
	return events, fresh, r.changed
}

// Err returns the error of writing the log, if there was one.
func (r *record) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
