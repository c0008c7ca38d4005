package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/schedule"
)

// A Line is one step as it was taken.
type Line struct {
	Step  schedule.Step
	Who   int    // the client whose column it stands in; -1: nobody's
	What  string // what was done
	Holds string // what the servers held afterwards
	After time.Duration
}

// holds lists the holders of the locks on each server after a step, and the stock.
func (p *player) holds(ctx context.Context, s schedule.Step) string {
	by := ""
	if s.ByClient() {
		by = p.clients[s.Who].Name
	}
	var parts []string
	for _, node := range p.nodes {
		parts = append(parts, node.text(ctx, by))
	}
	left, err := p.stock.rdb.Get(ctx, "ProductStock_"+product).Result()
	if err != nil {
		left = "?"
	}
	return strings.Join(append(parts, "stock: "+left), "  ")
}

// A store is a server as the replay itself sees it: not over a wire.
type store struct {
	*schedule.Server
	rdb    *redis.Client
	owners map[string]string // by token: the client whose step made it
}

func newStore(index int, name, url string) (*store, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.DialTimeout = -1, 2*time.Second
	return &store{Server: &schedule.Server{Index: index, Name: name, Host: o.Addr}, rdb: redis.NewClient(o),
		owners: map[string]string{}}, nil
}

// An entry is one holder of a lock in the data of a server, or something else that ends.
type entry struct {
	key, token string
	until      time.Time // when it ends; zero: it does not
}

// entries returns what a lock server holds, in any of the layouts that rungs have: a string, a hash of owners, or a
// sorted set of deadlines. Fencing tokens are left out: they outlast every replay.
func (s *store) entries(ctx context.Context) (all []entry, err error) {
	keys, err := s.rdb.Keys(ctx, "*").Result()
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasSuffix(key, ":fence") {
			continue
		}
		ttl := s.rdb.PTTL(ctx, key).Val()
		var until time.Time
		if ttl > 0 {
			until = time.Now().Add(ttl)
		}
		var tokens []string
		kind, err := s.rdb.Type(ctx, key).Result()
		if err != nil {
			return all, err
		}
		switch kind {
		case "string":
			tokens = []string{s.rdb.Get(ctx, key).Val()}
		case "hash":
			tokens = s.rdb.HKeys(ctx, key).Val()
		case "zset":
			for _, m := range s.rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
				if end := time.UnixMilli(int64(m.Score)); end.After(time.Now()) {
					all = append(all, entry{key, fmt.Sprint(m.Member), end})
				}
			}
		case "none": // it has just expired
		default:
			tokens = []string{kind}
		}
		for _, token := range tokens {
			all = append(all, entry{key, token, until})
		}
	}
	return all, err
}

// expiries returns when the keys of a lock server, and the members with a deadline, end that have not ended.
func (s *store) expiries(ctx context.Context) (ends []time.Time, err error) {
	all, err := s.entries(ctx)
	for _, one := range all {
		if one.until.After(time.Now()) {
			ends = append(ends, one.until)
		}
	}
	return ends, err
}

// text lists the holders of a server's locks. By is the client whose step was the last one: what is new is its own.
func (s *store) text(ctx context.Context, by string) string {
	all, err := s.entries(ctx)
	owners := map[string]string{}
	var parts []string
	for _, one := range all {
		if strings.HasPrefix(one.key, "{") { // a part of a lock that holds nothing: a queue, or its deadlines
			continue
		}
		text := cmp.Or(s.owners[one.token], by, "?")
		owners[one.token] = text
		if !one.until.IsZero() {
			text += fmt.Sprintf(" %.2f s", time.Until(one.until).Seconds())
		}
		parts = append(parts, text)
	}
	s.owners = owners
	switch {
	case s.Down:
		return s.Name + ": down"
	case err != nil:
		return s.Name + ": ?"
	case len(parts) == 0:
		return s.Name + ": free"
	}
	return s.Name + ": " + strings.Join(parts, ", ")
}
