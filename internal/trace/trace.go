// Package trace counts the Redis commands of an instance, and records those of a request that asks for a trace, or
// passes them to a watcher. It is a hook of the clients: no lock and no shelf contains tracing code.
package trace

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Event is one command as the client saw it.
type Event struct {
	Node  string    `json:"node"`            // host:port of the server
	Cmd   string    `json:"cmd"`             // in lower case; a script by its name: "eval:release"
	Key   string    `json:"key,omitempty"`   // the first key
	At    time.Time `json:"at"`              // before it was sent
	End   time.Time `json:"end"`             // after its reply or its failure
	Reply string    `json:"reply,omitempty"` // "nil" for none, shortened
	Err   string    `json:"err,omitempty"`   // why there is no reply
}

// maxEvents bounds the events of one recorder. It drops the oldest ones: the end of a sale matters most.
const maxEvents = 512

// A Recorder collects the events of one request. The methods of a nil Recorder do nothing.
type Recorder struct {
	watch func(Event) // nil: nobody watches

	mu     sync.Mutex
	keep   bool
	events []Event
}

type recorderKey struct{}

// Record returns a context whose commands are recorded, and the recorder. Contexts derived from it are recorded too,
// even after it has ended. A watched context has a recorder already, which then also keeps the events.
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
// may have been executed, and nodes that were created: a place in a queue outlasts the attempt that took it.
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

// Note adds an event that is not a Redis command.
func (r *Recorder) Note(e Event) {
	if r != nil {
		r.add(e)
	}
}

// Begin tells the watcher of an event that has begun and has no End yet. It records nothing.
func (r *Recorder) Begin(e Event) {
	if r != nil && r.watch != nil {
		r.watch(e)
	}
}

// Woken notes that a waiting order was woken by a message on the channel, or a watch of the node, of that name.
func Woken(ctx context.Context, on string) {
	now := time.Now()
	From(ctx).Note(Event{Cmd: "woken", Key: on, At: now, End: now})
}

// Names maps the digests of scripts to their names.
type Names map[string]string

// Hook returns the hook for the client of one node. It calls count once for every command.
func Hook(node string, names Names, count func()) redis.Hook {
	return &hook{node: node, names: names, count: count}
}

type hook struct {
	node  string
	names Names
	count func()
}

func (h *hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.count()
		r := From(ctx)
		if r == nil {
			return next(ctx, cmd)
		}
		at := time.Now()
		err := next(ctx, cmd)
		r.add(h.event(cmd, at, err))
		return err
	}
}

func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		at := time.Now()
		err := next(ctx, cmds)
		r := From(ctx)
		for _, cmd := range cmds {
			if isSetup(cmd) {
				continue
			}
			h.count()
			if r != nil {
				r.add(h.event(cmd, at, cmd.Err()))
			}
		}
		return err
	}
}

// isSetup reports whether a command sets up a new connection, and so is no part of a sale.
func isSetup(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client":
		return true
	}
	return false
}

func (h *hook) event(cmd redis.Cmder, at time.Time, err error) Event {
	name, key := h.names.Describe(cmd.Args())
	e := Event{Node: h.node, Cmd: name, Key: key, At: at, End: time.Now()}
	switch {
	case err == redis.Nil: //nolint:errorlint // go-redis returns it bare, and this is a hot path
		e.Reply = "nil"
	case err != nil:
		e.Err = short(err.Error())
	default:
		e.Reply = short(Reply(cmd))
	}
	return e
}

// Describe returns the name of a command, in lower case and with the name of its script, and its first key.
func (n Names) Describe(args []any) (name, key string) {
	arg := func(i int) string {
		if i < len(args) {
			return fmt.Sprint(args[i])
		}
		return ""
	}
	name = strings.ToLower(arg(0))
	switch name {
	case "evalsha", "eval":
		digest := arg(1)
		if name == "eval" {
			digest = redis.NewScript(digest).Hash()
		}
		name = "eval"
		if script := n[digest]; script != "" {
			name = "eval:" + script
		}
		return name, arg(3)
	default:
		return name, arg(1)
	}
}

// Reply returns the value of a command as text, empty for one of several values.
func Reply(cmd redis.Cmder) string {
	switch c := cmd.(type) {
	case *redis.StringCmd:
		return c.Val()
	case *redis.StatusCmd:
		return c.Val()
	case *redis.IntCmd:
		return fmt.Sprint(c.Val())
	case *redis.BoolCmd:
		return strconv.FormatBool(c.Val())
	case *redis.Cmd:
		return fmt.Sprint(c.Val())
	}
	return ""
}

func short(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
