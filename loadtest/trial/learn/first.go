package learn

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
	"stockapi/loadtest/wire"
)

// A firstOrder is a plain order to a shop that the trial knows nothing of yet.
type firstOrder struct {
	bench *record.Bench
	order *shop.Order
	wrote bool // it wrote the stock
	later bool // and did so after its answer
	other bool // the other instance wrote the stock since it was sent
	late  bool // it wrote it when the trial no longer expected that
}

// hints are the remedies for a first order that is not a visible sale. The first that applies is printed.
var hints = []struct {
	applies func(*firstOrder) bool
	says    func(*firstOrder) string
}{
	{func(f *firstOrder) bool {
		return f.order.Page || f.has(http.StatusNotFound, http.StatusMethodNotAllowed)
	},
		func(f *firstOrder) string {
			return f.said() + ": is the path right? --order 'POST /buy {\"sku\":\"{product}\"}'"
		}},
	{func(f *firstOrder) bool { return f.has(http.StatusUnauthorized, http.StatusForbidden) },
		func(f *firstOrder) string {
			return f.said() + f.whichHeader()
		}},
	{func(f *firstOrder) bool { return f.has(http.StatusTooManyRequests) },
		func(f *firstOrder) string {
			return f.said() + ": it limits the rate of orders: start it with a higher limit"
		}},
	{func(f *firstOrder) bool {
		return f.other && !f.wrote && f.order.Op.Outcome != history.Busy || f.misses() && f.otherAsks()
	},
		func(f *firstOrder) string { return f.said() + "; " + f.bench.JobOfOther(f.order) }},
	{func(f *firstOrder) bool { return f.has(http.StatusAccepted) && (f.later || !f.wrote) },
		func(f *firstOrder) string {
			return f.said() + ": 202 means accepted, not sold, and it came before the sale: answer after the sale for a trial"
		}},
	{func(f *firstOrder) bool { return len(f.end().Wires[0].Refused()) > 0 },
		func(f *firstOrder) string { return strings.Join(f.end().Wires[0].Refused(), "; ") }},
	{func(f *firstOrder) bool { return f.bench.Pair.IsDown(f.order.At) || f.order.Op.Status >= 500 },
		func(f *firstOrder) string { return f.said() + "; " + shop.LastWords(f.end().In.Tail()) }},
	{func(f *firstOrder) bool {
		return f.misses() || !f.end().Wires[0].Spoken() && !f.bench.Pair.Shop.IsElsewhere()
	},
		func(f *firstOrder) string { return f.whatItMisses() + "; " + f.said() }},
	{func(f *firstOrder) bool { return f.order.Op.Outcome == history.Sold && !f.wrote && f.late },
		func(f *firstOrder) string {
			return f.said() + ", and a job sold only later: answer after the sale for a trial"
		}},
	{func(f *firstOrder) bool { return f.order.Op.Outcome == history.Sold && !f.wrote },
		func(f *firstOrder) string {
			return fmt.Sprintf("it sold without writing %s: %s; %s", f.bench.Pair.Shop.Shelf().Key, f.said(),
				f.whereTheStockIs())
		}},
}

// jobWithin bounds how long after its answer a plain order may be carried out by a job.
const jobWithin = 3 * time.Second

// awaitJob waits until a job has written the stock for an order that was answered like a sale, and has not written it.
// The writes of that job are seen, but it is too late for a trial.
func (f *firstOrder) awaitJob() {
	expected := f.order.Op.Outcome == history.Sold && !f.wrote && !f.other
	for begun := time.Now(); expected && time.Since(begun) < jobWithin; time.Sleep(shop.SettledAfter) {
		writes, _, err := f.bench.Writes()
		if f.late, f.other = record.WhoWrote(f.order, writes); err != nil || f.late || f.other {
			return
		}
	}
}

// see records which instances wrote the stock. A redirect with a write is a sale, and any other redirect may be one.
func (f *firstOrder) see(writes []record.Written) {
	_, f.other = record.WhoWrote(f.order, writes)
	for _, w := range writes {
		if w.Instance == f.order.At && !w.At.Before(f.order.Sent) {
			f.wrote, f.later = true, f.later || w.At.After(f.order.Over)
		}
	}
	if f.wrote && !f.bench.Pair.Shop.IsElsewhere() && f.bench.Pair.Shop.Sold == nil && f.order.Op.Status/100 == 3 {
		f.bench.Pair.Shop.Sold, f.bench.Passport.ByWrites, f.order.Op.Outcome = regexp.MustCompile(""), true, history.Sold
	}
}

// whichHeader asks for a header, or names those that were sent. Their values may be secrets.
func (f *firstOrder) whichHeader() string {
	if len(f.bench.Pair.Shop.Headers) == 0 {
		return ": does it need a header? --header 'Authorization: Bearer …'"
	}
	sent, numbered := make([]string, len(f.bench.Pair.Shop.Headers)), false
	for i, h := range f.bench.Pair.Shop.Headers {
		sent[i], numbered = h.Name, numbered || strings.Contains(h.Value, "{i}")
	}
	return fmt.Sprintf(": it was sent with %s%s: is the value right?", strings.Join(sent, ", "),
		sale.Either(numbered, fmt.Sprintf(" ({i} was %d)", f.bench.Pair.Shop.Sent.Load()), ""))
}

// misses reports whether the order sold, and sent nothing to the proxied database.
func (f *firstOrder) misses() bool {
	return f.order.Op.Outcome == history.Sold && f.end().Database != nil && !f.end().Database.Passed()
}

// otherAsks reports whether the other instance has sent something to the database since the order was sent.
func (f *firstOrder) otherAsks() bool {
	other := f.bench.Pair.Rig.Ends[1-f.order.At].Database
	return other != nil && len(other.Since(f.order.Sent)) > 0
}

// whatItMisses returns which server the shop does not reach, and the remedy.
func (f *firstOrder) whatItMisses() string {
	if f.misses() {
		return "nothing arrived for the database at {db_host}:{db_port}: the shop bypasses the trial; put both into the " +
			"command line, as in env PGHOST={db_host} PGPORT={db_port} (to MySQL, localhost is its socket)"
	}
	return "it sent nothing to the Redis at $REDIS_URL ({redis})" + redisOfEnvironment()
}

// end returns the instance that received the order.
func (f *firstOrder) end() *rig.End { return f.bench.Pair.Rig.Ends[f.order.At] }

func (f *firstOrder) has(status ...int) bool { return slices.Contains(status, f.order.Op.Status) }

// said returns the request and its answer.
func (f *firstOrder) said() string {
	text := f.bench.Pair.Shop.Order.String()
	switch {
	case f.bench.Pair.Shop.Order.IsProgram():
		return text + " ended with " + f.order.Op.Detail
	case f.order.Op.Status == 0:
		return text + " got " + f.order.Op.Detail
	case f.order.Page:
		return fmt.Sprintf("%s was answered %d with an HTML page", text, f.order.Op.Status)
	}
	op := &f.order.Op
	return strings.TrimSpace(fmt.Sprintf("%s was answered %d %s", text, op.Status, history.Clip(op.Detail)))
}

// tell prints the order, and what it sent to the Redis and to the database.
func (f *firstOrder) tell() {
	var verbs []string
	for _, c := range f.bench.SentBy(f.order.At) {
		verbs = append(verbs, strings.ToUpper(c.Name))
	}
	text := "the first order: " + f.said() + "; to the Redis: " + cmp.Or(strings.Join(verbs, ", "), "nothing")
	if d := f.end().Database; d != nil {
		text += fmt.Sprintf("; to the database: %d requests", len(requestsOf(d.Since(f.order.Sent))))
	}
	f.bench.Pair.Shop.Say(text)
	if f.bench.Pair.Shop.IsElsewhere() && !f.end().Wires[0].Spoken() {
		f.bench.Pair.Shop.Say("nothing arrived at the Redis at {redis}: if the shop's lock is in a Redis, it is another one" +
			redisOfEnvironment())
	}
}

// whereTheStockIs returns a hint at where the stock may be: at a number that decreased, or not in this Redis.
func (f *firstOrder) whereTheStockIs() string {
	now, err := wire.Snapshot(f.bench.Pair.Context, f.bench.Pair.Rig.Stores[0].Redis)
	var found []string
	for key, state := range now {
		before := f.bench.AtFirst[key]
		for field, text := range state.Parts {
			n, isNumber := strconv.ParseInt(text, 10, 64)
			was, wasNumber := strconv.ParseInt(before.Parts[field], 10, 64)
			if err != nil || isNumber != nil || wasNumber != nil || n >= was || was-n > int64(len(f.bench.Orders)) {
				continue
			}
			command := "SET " + key.Name + " {n}"
			if state.Kind == "hash" {
				command = "HSET " + key.Name + " " + field + " {n}"
			}
			found = append(found, strings.ReplaceAll(command, f.bench.Pair.Shop.Product, "{product}"))
		}
	}
	if len(found) == 1 {
		return fmt.Sprintf("only one number decreased: try --stock '%s'", found[0])
	}
	if touched := f.whatItTouched(); touched != "" {
		return touched
	}
	text := "the stock did not change in this Redis: give its key by --stock, or, if it is in a database, --set and --left"
	noSale := f.bench.Pair.Shop.Sold == nil
	return text + sale.Either(noSale, "; if this was no sale, give what the body of a sale matches: --sold", "")
}

// whatItTouched returns a hint from what the order touched in the Redis, if that was not the stock: a number that it
// read, or only keys that are gone again. It is "" if there is none.
func (f *firstOrder) whatItTouched() string {
	commands := f.bench.SentBy(f.order.At)
	shelf := f.bench.Pair.Shop.Shelf().Key
	if slices.ContainsFunc(commands, func(c record.Observation) bool { return slices.Contains(c.Args, shelf) }) {
		return ""
	}
	if found := f.stocksRead(commands); len(found) > 0 {
		return fmt.Sprintf("it read another key: try --stock '%s'", strings.Join(found, "', or '"))
	}
	_, written, err := f.bench.Pair.Ledger.Writes(f.bench.Pair.Context)
	now, err2 := wire.Snapshot(f.bench.Pair.Context, f.bench.Pair.Rig.Stores[0].Redis)
	var gone []string
	for key := range written {
		if _, is := now[key]; is && key.Name != f.bench.Pair.Shop.Shelf().Key || err != nil || err2 != nil {
			return ""
		}
		if key.Name != f.bench.Pair.Shop.Shelf().Key {
			gone = append(gone, key.String())
		}
	}
	if slices.Sort(gone); len(gone) == 0 {
		return ""
	}
	return fmt.Sprintf("it touched only %s, which is gone again: if that is the lock, and the stock is in a database, "+
		"give --db, --set and --left", sale.Quoted(gone))
}

// stocksRead returns the values of --stock for the numbers that these commands read or counted: those that name the
// product if any do.
func (f *firstOrder) stocksRead(commands []record.Observation) (found []string) {
	for _, c := range commands {
		for _, args := range append(slices.Clone(c.Queued), c.Args) {
			text, n := strings.Trim(c.Reply, `"`), len(args)
			if _, err := strconv.ParseInt(text, 10, 64); err != nil && text != "(nil)" && len(c.Queued) == 0 || n < 2 {
				continue
			}
			command := ""
			switch strings.ToLower(args[0]) {
			case "get", "decr", "decrby", "incrby":
				command = "SET " + args[1] + " {n}"
			case "hget", "hincrby":
				command = "HSET " + args[1] + " " + args[min(2, n-1)] + " {n}"
			}
			if command != "" && !f.isCreated(commands, args[1]) && !slices.Contains(found, command) {
				found = append(found, command)
			}
		}
	}
	isOther := func(one string) bool { return !strings.Contains(one, f.bench.Pair.Shop.Product) }
	named := slices.DeleteFunc(slices.Clone(found), isOther)
	if len(named) > 0 {
		found = named
	}
	for i := range found {
		found[i] = strings.ReplaceAll(found[i], f.bench.Pair.Shop.Product, "{product}")
	}
	return found
}

// isCreated reports whether one of these commands sets or removes a key, as a lock.
func (f *firstOrder) isCreated(commands []record.Observation, key string) bool {
	return slices.ContainsFunc(commands, func(c record.Observation) bool {
		reads := []string{"get", "hget", "decr", "decrby", "incrby", "hincrby", "watch"}
		return !slices.Contains(reads, strings.ToLower(c.Args[0])) && slices.Contains(c.Args[1:], key)
	})
}

// hindrance returns what may have kept a plain order from selling, such as a lock left by the order before.
func (f *firstOrder) hindrance() (text string) {
	if f.bench.Pair.Shop.IsElsewhere() {
		text = sale.Either(f.bench.Pair.Shop.Set == "", "; no units were put: give --set", "")
	} else {
		text = fmt.Sprintf("; the stock is in %s of database %d", f.bench.Pair.Shop.Shelf().Key, f.bench.Pair.Shop.DB)
	}
	var left []string
	_ = f.bench.Pair.Alone(func(to *redis.Client) (err error) {
		left, err = to.Keys(f.bench.Pair.Context, "*").Result()
		return err
	})
	left = slices.DeleteFunc(left, func(key string) bool { return key == f.bench.Pair.Shop.Shelf().Key })
	if len(f.bench.Orders) > 1 && len(left) > 0 && len(left) <= 3 {
		slices.Sort(left)
		text += "; the order before it left " + sale.Quoted(left)
	}
	return text
}

// redisOfEnvironment returns a hint if a variable of the environment leads the shop to another Redis, "" if none does.
func redisOfEnvironment() string {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		scheme, _, isURL := strings.Cut(value, "://")
		if isURL && name != "REDIS_URL" && (scheme == "redis" || scheme == "rediss") {
			return fmt.Sprintf("; your environment has %s=%s://…: put env %s={redis} before the command line", name, scheme,
				name)
		}
	}
	return ""
}
