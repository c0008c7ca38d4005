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

// An entry is one holder of a lock in the data of a server.
type entry struct {
	token string
	until time.Time // when it ends; zero: it does not
}

// keys returns the keys of a lock server, without those of fencing tokens, which outlast every replay.
func (s *store) keys(ctx context.Context) ([]string, error) {
	keys, err := s.rdb.Keys(ctx, "*").Result()
	slices.Sort(keys)
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, ":fence") }), err
}

// entries returns what a key holds, in any of the layouts that rungs have: a string, a hash of owners, or a sorted set
// of deadlines.
func (s *store) entries(ctx context.Context, key string) (held []entry, err error) {
	kind, err := s.rdb.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	ttl, err := s.rdb.PTTL(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	var until time.Time
	if ttl > 0 {
		until = time.Now().Add(ttl)
	}
	switch kind {
	case "string":
		token, err := s.rdb.Get(ctx, key).Result()
		return []entry{{token, until}}, err
	case "hash":
		fields, err := s.rdb.HKeys(ctx, key).Result()
		for _, field := range fields {
			held = append(held, entry{field, until})
		}
		return held, err
	case "zset":
		members, err := s.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, m := range members {
			if end := time.UnixMilli(int64(m.Score)); end.After(time.Now()) {
				held = append(held, entry{fmt.Sprint(m.Member), end})
			}
		}
		return held, err
	case "none": // it has just expired
		return nil, nil
	default:
		return []entry{{kind, until}}, nil
	}
}

// expiries returns when the keys of a lock server, and the members with a deadline, end that have not ended.
func (s *store) expiries(ctx context.Context) (ends []time.Time, err error) {
	keys, err := s.keys(ctx)
	for _, key := range keys {
		held, err := s.entries(ctx, key)
		if err != nil {
			return ends, err
		}
		for _, one := range held {
			if one.until.After(time.Now()) {
				ends = append(ends, one.until)
			}
		}
	}
	return ends, err
}

// look notes which client each token belongs to: one that is new was made by the step that was just taken.
func (s *store) look(ctx context.Context, by string) (held []entry, err error) {
	keys, err := s.keys(ctx)
	for _, key := range keys {
		if strings.HasPrefix(key, "{") { // a part of a lock that holds nothing: a queue, or its deadlines
			continue
		}
		of, err := s.entries(ctx, key)
		if err != nil {
			return held, err
		}
		held = append(held, of...)
	}
	owners := map[string]string{}
	for _, one := range held {
		owners[one.token] = cmp.Or(s.owners[one.token], by, "?")
	}
	s.owners = owners
	return held, err
}

// text lists the holders of a server's locks. By is the client whose step was the last one.
func (s *store) text(ctx context.Context, by string) string {
	held, err := s.look(ctx, by)
	var parts []string
	for _, one := range held {
		text := s.owners[one.token]
		if !one.until.IsZero() {
			text += fmt.Sprintf(" %.2f s", time.Until(one.until).Seconds())
		}
		parts = append(parts, text)
	}
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
