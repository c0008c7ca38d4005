package stage

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// A watch has the observations of Redis in a round.
type watch struct {
	takes  []take
	failed [2]time.Time // when a failed acquire of an instance was last shown
	fences []string     // the fencing tokens, in the order in which they were first seen
}

// A take is a successful acquire of an instance.
type take struct {
	at    int
	done  time.Time
	order string // "" while unknown, as several were in flight
	key   string
	args  []string
}

// owns records the owner of a token, from a receipt. A token that all locks share identifies no owner.
func (w *watch) owns(token, order string) {
	for i := range w.takes {
		if one := &w.takes[i]; len(token) > 1 && slices.Contains(one.args, token) {
			one.order = order
		}
	}
}

// fenceDigits is the number of digits that a fencing token has: it begins with the time.
const fenceDigits = 16

// ordinal returns the number of a fencing token, #1 for the first; other texts are unchanged.
func (w *watch) ordinal(text string) string {
	if _, err := strconv.ParseUint(text, 10, 64); err != nil || len(text) != fenceDigits {
		return text
	}
	if !slices.Contains(w.fences, text) {
		w.fences = append(w.fences, text)
	}
	return "#" + strconv.Itoa(slices.Index(w.fences, text)+1)
}

// numberOf returns the number of a fencing token, 0 for other texts.
func (w *watch) numberOf(text string) int {
	ordinal, is := strings.CutPrefix(w.ordinal(strings.Trim(text, `"`)), "#")
	number, err := strconv.Atoi(ordinal)
	if !is || err != nil {
		return 0
	}
	return number
}

// failedGap is the shortest time between two failed acquires of an instance that are shown.
const failedGap = 400 * time.Millisecond

// observe sends a command to the wall when it has arrived at a wire, been forwarded or been answered.
func (s *shop) observe(cmd wire.Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open || cmd.Message { // the instances are starting
		return
	}
	e, at, held := s.describe(&cmd), cmd.Client.Index, s.held.Load()
	switch {
	case cmd.State != wire.Done:
	case e["role"] != "acquire":
		s.judge.due = true
	case e["ok"] == true:
		s.recordTake(at, &cmd)
	case !held && time.Since(s.watch.failed[at]) < failedGap:
		return
	default:
		s.watch.failed[at] = time.Now()
	}
	if held || cmd.State == wire.Done { // otherwise the answer follows soon
		s.record.add("cmd", e)
	}
}

// describe returns the event of a command.
func (s *shop) describe(cmd *wire.Seen) event {
	of := cmd.Traced()
	e := event{"id": cmd.ID, "instance": cmd.Client.Name, "server": cmd.Server.Name, "text": s.watch.format(cmd),
		"role": role(cmd, &of), "state": "waiting"}
	if !cmd.Sent.IsZero() {
		e["state"], e["sent"] = "sent", s.record.since(cmd.Sent)
	}
	here := s.ordersInFlight(s.sites[cmd.Client.Index])
	if len(here) == 1 {
		e["order"] = here[0].id
	}
	if cmd.State == wire.Done {
		e["state"], e["done"], e["reply"] = "done", s.record.since(time.Now()), short(s.watch.ordinal(cmd.Reply))
		answered := !cmd.Answered.IsZero() && !cmd.Failed
		e["ok"], e["refused"] = answered && (!of.Acquires() || of.Succeeded()), of.RefusedByStock()
		if e["refused"] == true && len(here) == 1 {
			s.tellRefused(here[0], cmd)
		}
		if answered {
			of.At, of.End = history.At(s.cell.Start, cmd.Sent), history.At(s.cell.Start, cmd.Answered)
			s.recordAnswer(here, cmd.ID, of)
		}
	}
	return e
}

// recordAnswer records an answered command, in the trace of its order if that is the only one in flight at its
// instance. The caller holds s.mu.
func (s *shop) recordAnswer(here []*order, id int, cmd history.Command) {
	s.redraw = true
	switch {
	case len(here) == 1:
		here[0].trace = append(here[0].trace, cmd)
		if cmd.Acquires() && cmd.Succeeded() {
			here[0].fence = s.watch.numberOf(cmd.Reply)
		}
	case len(here) > 1 && !s.known[id]:
		s.strays[id] = cmd
	}
}

// tellRefused reports on the wall that the stock refused a write with a stale token. The caller holds s.mu.
func (s *shop) tellRefused(o *order, cmd *wire.Seen) {
	for _, arg := range cmd.Args {
		if own, is := strings.CutPrefix(s.watch.ordinal(arg), "#"); is && len(arg) == fenceDigits {
			s.record.add("refused", event{"order": o.id, "own": own, "newest": strconv.Itoa(len(s.watch.fences))})
		}
	}
}

// recordTake records a successful acquire. The caller holds s.mu.
func (s *shop) recordTake(at int, cmd *wire.Seen) {
	one := take{at: at, done: time.Now(), key: cmd.On(), args: cmd.Args}
	if here := s.ordersInFlight(s.sites[at]); len(here) == 1 {
		one.order = here[0].id
	}
	s.watch.takes = append(s.watch.takes, one)
}

// role returns the purpose of a command in a sale.
func role(cmd *wire.Seen, c *history.Command) string {
	switch {
	case cmd.WritesStock():
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

// format returns the text of a command for the wall: a script by its name and with its first key only, and tokens
// shortened.
func (w *watch) format(cmd *wire.Seen) string {
	const most = 7
	words := slices.Clone(cmd.Args)
	if len(words) > 0 {
		words[0] = strings.ToUpper(cmd.Name)
	}
	if script, ok := strings.CutPrefix(cmd.Name, "eval:"); ok && len(words) > 2 {
		words = append([]string{"EVAL", script}, words[3:]...)
	}
	noise := []string{"KEEPTTL", "XX"} // of a write of the stock
	words = slices.DeleteFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "{") || slices.Contains(noise, strings.ToUpper(word))
	})
	for i := range words {
		words[i] = short(w.ordinal(words[i]))
	}
	if len(words) > most {
		words = append(words[:most], "…")
	}
	return strings.Join(words, " ")
}

// short shortens a text that is too long for the wall, such as a token.
func short(text string) string {
	const token, long, begins = 26, 60, 4
	text = history.Plain(text)
	bare := strings.Trim(text, `"`) // a reply is quoted
	if len(bare) == token && strings.ToUpper(bare) == bare || len(bare) > long {
		return string([]rune(bare)[:begins]) + "…"
	}
	return text
}

// A holding is the key of a lock, with its holder.
type holding struct {
	Server   string  `json:"server"`
	Key      string  `json:"key"`
	Token    string  `json:"token"`
	Order    string  `json:"order"`
	Instance string  `json:"instance"`
	Since    float64 `json:"since,omitempty"` // when its order got the reply, which is before the poll
	TTL      float64 `json:"ttl"`             // in milliseconds; -1 if it has none
}

// holdings are the contents of the servers: the keys of the locks, and the stock.
type holdings struct {
	Keys  []holding `json:"keys"`
	Queue int64     `json:"queue"`
	Fence string    `json:"fence"` // the newest fencing token
	Left  int64     `json:"left"`
}

const (
	// pollGap is the time between two polls of the servers; while leases run down, every third one is sent to the wall.
	pollGap  = 80 * time.Millisecond
	tellEach = 3
)

// poll reads the contents of the servers, and sends changes to the wall.
func (s *shop) poll(ctx context.Context) {
	var told holdings
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollGap):
		}
		s.tellSoFar()
		now, drains, err := s.look(ctx)
		if err == nil && (drains && n%tellEach == 0 || !reflect.DeepEqual(told.bare(), now.bare())) {
			told = now
			s.record.add("lock", now)
		}
	}
}

// isOfQueue reports whether a key is that of a queue or of its deadlines.
func isOfQueue(key string) bool { return strings.HasPrefix(key, "{") }

// bare returns the holdings without TTLs.
func (h holdings) bare() holdings {
	h.Keys = slices.Clone(h.Keys)
	for i := range h.Keys {
		h.Keys[i].TTL = 0
	}
	return h
}

// look returns the contents of the servers, and whether any key has a TTL.
func (s *shop) look(ctx context.Context) (now holdings, drains bool, err error) {
	now.Keys = []holding{}
	for _, store := range s.rig.Stores {
		holders, err := store.Holders(ctx)
		if err != nil {
			return now, false, err
		}
		for _, one := range holders {
			if !isOfQueue(one.Key) {
				now.Keys = append(now.Keys, s.holding(store.Name, one))
				drains = drains || !one.Until.IsZero()
			}
		}
	}
	fence := now.count(ctx, s.rig.Stores[0].Redis)
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Fence = s.watch.ordinal(fence)
	return now, drains, nil
}

// count sets the units that are left and the length of the queue. It returns the newest fencing token.
func (h *holdings) count(ctx context.Context, rdb *redis.Client) (fence string) {
	h.Left, _ = left(ctx, rdb)
	keys, _ := rdb.Keys(ctx, "{*").Result()
	for _, key := range keys {
		if strings.HasSuffix(key, ":fence") {
			fence = max(fence, rdb.Get(ctx, key).Val())
		} else if rdb.Type(ctx, key).Val() == "list" {
			h.Queue += rdb.LLen(ctx, key).Val()
		}
	}
	return fence
}

func left(ctx context.Context, rdb *redis.Client) (int64, error) {
	return rdb.Get(ctx, "ProductStock_"+product).Int64()
}

// holding returns a key with its holder: the order whose acquire was the last to set the token.
func (s *shop) holding(server string, one wire.Holder) holding {
	h := holding{Server: server, Key: one.Key, Token: short(one.Token), TTL: -1}
	if !one.Until.IsZero() {
		h.TTL = float64(time.Until(one.Until).Milliseconds())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, take := range slices.Backward(s.watch.takes) {
		if take.key == one.Key && slices.Contains(take.args, one.Token) {
			h.Instance, h.Order, h.Since = s.sites[take.at].Name, take.order, s.record.since(take.done)
			break
		}
	}
	return h
}
