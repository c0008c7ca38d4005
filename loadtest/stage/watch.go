package stage

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A watch is what the stage has seen at Redis in a round.
type watch struct {
	takes  []take            // the last successful acquires
	owners map[string]string // orders by token, as their receipts told it
	writes []write
	failed [2]time.Time // when an acquire of an instance was last shown that failed
}

// A take is a successful acquire of an instance.
type take struct {
	at    int
	order string // the only one under way there then; "" if there were several
	key   string
	args  []string
}

// A write is one of the stock that was sent on.
type write struct {
	at   int
	sent time.Time
}

// wrote reports whether an order may have written: its instance has, since the order was sent.
func (w *watch) wrote(o *order) bool {
	for _, one := range w.writes {
		if one.at == o.at && one.sent.After(o.sent) {
			return true
		}
	}
	return false
}

// failedGap is the least time between two acquires of an instance that failed and are shown.
const failedGap = 400 * time.Millisecond

// A commandEvent is what the wall is told of a command.
type commandEvent struct {
	ID       int     `json:"id"`
	Instance string  `json:"instance"`
	Server   string  `json:"server"`
	Text     string  `json:"text"`
	Role     string  `json:"role"`
	State    string  `json:"state"`
	Came     float64 `json:"came"`
	Sent     float64 `json:"sent,omitempty"`
	Done     float64 `json:"done,omitempty"`
	Reply    string  `json:"reply,omitempty"`
	OK       bool    `json:"ok,omitempty"`
	Refused  bool    `json:"refused,omitempty"`
}

// saw is told of each command that comes to a wire, is sent on, and is answered.
func (s *shop) saw(cmd wire.Seen) {
	select {
	case <-s.open:
	default:
		return // the instances start
	}
	traced := history.Command{Cmd: cmd.Name, Key: cmd.On(), Reply: cmd.Reply}
	if cmd.Failed {
		traced.Reply, traced.Err = "", cmd.Reply
	}
	e := commandEvent{ID: cmd.ID, Instance: cmd.Client.Name, Server: cmd.Server.Name, Text: shown(cmd), State: "done",
		Role: role(&traced), Came: s.record.since(cmd.Came), Sent: s.record.since(cmd.Sent),
		Done: s.record.since(cmd.Answered), Reply: short(cmd.Reply), OK: !cmd.Failed, Refused: traced.RefusedByStock()}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case cmd.Sent.IsZero():
		e.State, e.Sent, e.Done, e.OK = "waiting", 0, 0, false
		if !s.held.Load() {
			return
		}
	case cmd.Answered.IsZero():
		if e.Role == "write" {
			s.watch.writes = append(s.watch.writes, write{cmd.Client.Index, cmd.Sent})
		}
		e.State, e.Done, e.OK = "sent", 0, false
		if !s.held.Load() {
			return
		}
	case e.Role == "acquire":
		e.OK = traced.Succeeded()
		if e.OK {
			s.took(cmd)
		} else if last := &s.watch.failed[cmd.Client.Index]; time.Since(*last) < failedGap && !s.held.Load() {
			return
		} else {
			*last = time.Now()
		}
	}
	s.record.add("cmd", e)
}

// took keeps an acquire that succeeded. The caller has the lock.
func (s *shop) took(cmd wire.Seen) {
	one := take{at: cmd.Client.Index, key: cmd.On(), args: cmd.Args}
	if here := s.underWay(s.sites[one.at]); len(here) == 1 {
		one.order = here[0].id
	}
	const kept = 100
	s.watch.takes = append(s.watch.takes, one)
	s.watch.takes = s.watch.takes[max(0, len(s.watch.takes)-kept):]
}

// role says what a command is to the sale.
func role(c *history.Command) string {
	switch {
	case c.WritesStock(), c.Cmd == "exec":
		return "write"
	case c.ReadsStock():
		return "read"
	case c.Acquires():
		return "acquire"
	case c.Prolongs():
		return "renew"
	case c.Releases():
		return "release"
	}
	return "other"
}

// shown is a command as the wall shows it: a script by its name, and tokens by their beginning.
func shown(cmd wire.Seen) string {
	args := cmd.Args[min(1, len(cmd.Args)):]
	name := strings.ToUpper(cmd.Name)
	if script, ok := strings.CutPrefix(cmd.Name, "eval:"); ok && len(args) > 2 {
		name, args = "EVAL "+script, args[2:]
	}
	words := []string{name}
	for _, arg := range args {
		words = append(words, short(arg))
	}
	const most = 7
	if len(words) > most {
		words = append(words[:most], "…")
	}
	return strings.Join(words, " ")
}

// short returns the beginning of what is too long for the wall: a token, say.
func short(text string) string {
	text = history.Plain(text)
	if r := []rune(text); len(r) == 26 && strings.ToUpper(text) == text || len(r) > 60 {
		return string(r[:4]) + "…"
	}
	return text
}

// A holding is a key of the locks with who has it.
type holding struct {
	Server   string  `json:"server"`
	Key      string  `json:"key"`
	Token    string  `json:"token"`
	Order    string  `json:"order"`
	Instance string  `json:"instance"`
	TTL      float64 `json:"ttl"` // in milliseconds; -1: it has none

	until time.Time
}

// A lockEvent is what the servers hold.
type lockEvent struct {
	Keys  []holding `json:"keys"`
	Queue int64     `json:"queue"`
	Fence int64     `json:"fence"`
	Left  int64     `json:"left"`
}

const (
	// pollGap is the time between two looks at the servers; while a lease drains, every third of them is told.
	pollGap  = 80 * time.Millisecond
	toldEach = 3
)

// poll looks at what the servers hold, and tells what has changed.
func (s *shop) poll(ctx context.Context) {
	ticker := time.NewTicker(pollGap)
	defer ticker.Stop()
	var told lockEvent
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, err := s.look(ctx)
		if err != nil {
			continue
		}
		s.lookForStops()
		drains := false
		for _, key := range now.Keys {
			drains = drains || key.TTL >= 0
		}
		if !same(&told, now) || drains && n%toldEach == 0 {
			told = *now
			s.record.add("lock", now)
		}
	}
}

// same reports whether two looks differ in no more than how long leases still last.
func same(a, b *lockEvent) bool {
	plain := func(e *lockEvent) lockEvent {
		bare := *e
		bare.Keys = nil
		for _, key := range e.Keys {
			key.TTL, key.until = 0, time.Time{}
			bare.Keys = append(bare.Keys, key)
		}
		return bare
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func (s *shop) look(ctx context.Context) (*lockEvent, error) {
	e := &lockEvent{Keys: []holding{}}
	for i, store := range s.stores {
		entries, err := store.Entries(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range entries {
			if !strings.HasPrefix(one.Key, "{") { // a queue, or its deadlines
				e.Keys = append(e.Keys, s.holding(store.Name, one))
			}
		}
		if i == 0 {
			e.count(ctx, store.Redis)
		}
	}
	return e, nil
}

// count counts what is not held: the units that are left, the fence, and who waits in line.
func (e *lockEvent) count(ctx context.Context, rdb *redis.Client) {
	e.Left, _ = rdb.Get(ctx, "ProductStock_"+product).Int64()
	keys, _ := rdb.Keys(ctx, "*").Result()
	for _, key := range keys {
		switch {
		case strings.HasSuffix(key, ":fence"):
			e.Fence, _ = rdb.Get(ctx, key).Int64()
		case rdb.Type(ctx, key).Val() == "list":
			e.Queue += rdb.LLen(ctx, key).Val()
		}
	}
}

// holding says who has a key: who made it, as far as that is known.
func (s *shop) holding(server string, one wire.Entry) holding {
	h := holding{Server: server, Key: one.Key, Token: short(one.Token), TTL: -1, until: one.Until}
	if !one.Until.IsZero() {
		h.TTL = float64(time.Until(one.Until).Milliseconds())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, take := range s.watch.takes { // the last one counts
		for _, arg := range take.args {
			if take.key == one.Key && arg == one.Token {
				h.Instance, h.Order = s.sites[take.at].Name, take.order
			}
		}
	}
	if order := s.watch.owners[one.Token]; order != "" && len(one.Token) > 1 {
		h.Order = order
	}
	return h
}

// lookForStops notices an instance that a fault of the round has stopped.
func (s *shop) lookForStops() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.sites {
		if at.state != "up" {
			continue
		}
		if stopped, err := at.in.Stopped(); err == nil && stopped {
			s.set(at, "stopped")
		}
	}
}
