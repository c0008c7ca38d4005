// Package trace wraps each command that an instance sends to a backend: it counts the command, records it if the order
// asks for a trace, passes it to the order's watcher, and injects the order's faults. No lock and no shelf contains
// code for that.
//
// Read [Observer] for the wrapping, trace.go for what is recorded, fault.go and inject.go for faults.
package trace

import (
	"context"
	"slices"
	"sync"
	"time"
)

// An Event is one command as the client saw it.
type Event struct {
	Node  string    `json:"node"`            // host:port of the server
	Cmd   string    `json:"cmd"`             // in lower case; of a script its name: "eval:release"
	Key   string    `json:"key,omitempty"`   // the first key
	At    time.Time `json:"at"`              // before it was sent
	End   time.Time `json:"end"`             // after its reply or its failure
	Reply string    `json:"reply,omitempty"` // "nil" for none, shortened
	Err   string    `json:"err,omitempty"`   // why there is no reply
}

// maxEvents bounds the events of one recorder. The oldest ones are dropped: the end of a sale matters most.
const maxEvents = 512

// A Recorder collects the events of one request. The methods of a nil Recorder do nothing.
type Recorder struct {
	watch func(Event) // or nil

	mu     sync.Mutex
	keep   bool
	events []Event
}

type recorderKey struct{}

// Record returns a context whose commands are recorded, and the recorder. Contexts derived from it are recorded too,
// even after it has ended. A watched context already has a recorder, which then also keeps the events.
func Record(ctx context.Context) (context.Context, *Recorder) {
	r := From(ctx)
	if r == nil {
		r = new(Recorder)
		ctx = context.WithValue(ctx, recorderKey{}, r)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep = true
	return ctx, r
}

// Watch returns a context whose events are passed to watch as they happen. Several goroutines may call watch at once.
func Watch(ctx context.Context, watch func(Event)) context.Context {
	return context.WithValue(ctx, recorderKey{}, &Recorder{watch: watch})
}

// From returns the recorder of a context, or nil.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// Mark returns a position to which the recording can be rewound.
func (r *Recorder) Mark() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Rewind removes the events recorded since Mark returned that position. It keeps commands without a reply, since they
// may have been executed, and created nodes: a place in a queue outlasts the attempt that took it.
func (r *Recorder) Rewind(mark int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	mark = min(mark, len(r.events))
	r.events = append(r.events[:mark], slices.DeleteFunc(r.events[mark:], func(e Event) bool {
		return e.Err == "" && (e.Cmd != "zk:create" || e.Reply != created)
	})...)
}

// Events returns a copy of the events, in the order of the replies.
func (r *Recorder) Events() []Event {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

func (r *Recorder) add(e Event) {
	if r == nil {
		return
	}
	if r.watch != nil {
		r.watch(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.keep {
		return
	}
	if len(r.events) == maxEvents {
		r.events = append(r.events[:0], r.events[1:]...)
	}
	r.events = append(r.events, e)
}

// begin passes the watcher an event that has begun and has no End yet. It records nothing.
func (r *Recorder) begin(e Event) {
	if r != nil && r.watch != nil {
		r.watch(e)
	}
}

// Woken notes that a waiting order was woken by a message on the channel, or a watch of the node, of that name.
func Woken(ctx context.Context, on string) {
	now := time.Now()
	From(ctx).add(Event{Cmd: "woken", Key: on, At: now, End: now})
}
