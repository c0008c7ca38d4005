package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// A Recording replays the events of an earlier class at their original pace.
type Recording struct {
	Stage
	lines []recorded
	skip  chan struct{}
}

type recorded struct {
	N    int     `json:"n"`
	At   float64 `json:"at"`
	Kind string  `json:"kind"`
	text json.RawMessage
}

// ReadRecording reads the log of a class. A truncated log is replayed as far as it goes.
func ReadRecording(from io.Reader, language string) (*Recording, error) {
	r := &Recording{skip: make(chan struct{})}
	r.record, r.Language, r.words = newRecord(nil), language, wordsOf(language)
	r.ctx = context.Background() // a stream ends with its request
	for lines := json.NewDecoder(from); ; {
		var one recorded
		if lines.Decode(&one.text) != nil || json.Unmarshal(one.text, &one) != nil || one.N == 0 {
			break
		}
		one.text = bytes.Replace(one.text, []byte(`"round":{`), []byte(`"round":{"replay":true,`), 1)
		r.lines = append(r.lines, one)
	}
	if len(r.lines) == 0 {
		return nil, errors.New("this is not the log of a class, such as stage.jsonl")
	}
	return r, nil
}

// longest bounds the pauses of a replay.
const longest = 3 * time.Second

// Play replays the events, and returns when ctx ends.
func (r *Recording) Play(ctx context.Context) {
	skipping := false
	for i, one := range r.lines {
		if i > 0 && !skipping {
			gap := time.Duration((one.At - r.lines[i-1].At) * float64(time.Millisecond))
			select {
			case <-time.After(min(max(gap, 0), longest)):
			case <-r.skip:
				skipping = true
			case <-ctx.Done():
				return
			}
		}
		r.record.show(one)
		if one.Kind == "phase" {
			skipping = false
		}
	}
	<-ctx.Done()
}

// show appends an event of the earlier class, and sets the log's clock to its time.
func (r *record) show(one recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = time.Now().Add(-time.Duration(one.At * float64(time.Millisecond)))
	r.keep(one.Kind, one.text)
}

// Wall returns the handler of the wall, whose only control jumps ahead to the next phase.
func (r *Recording) Wall() http.Handler {
	mux := http.NewServeMux()
	r.wall(mux)
	r.controls(mux, func(ctx context.Context, a action) error {
		if a.Do != "next" {
			return refusal{http.StatusBadRequest, "error.action"}
		}
		select {
		case r.skip <- struct{}{}:
		case <-time.After(longest):
		case <-ctx.Done():
		}
		return nil
	})
	return guard(mux)
}
