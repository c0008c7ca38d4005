package wire

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/schedule"
)

// A Store is a server that the load test reaches directly, not over a wire.
type Store struct {
	*schedule.Server
	Redis *redis.Client
}

// NewStore returns the server at a URL. Its client connects on first use; close it.
func NewStore(index int, name, url string) (*Store, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.MaxRetries, o.DialTimeout = -1, 2*time.Second
	return &Store{&schedule.Server{Index: index, Name: name, Host: o.Addr}, redis.NewClient(o)}, nil
}

// A Holder is a holder of a lock in a server's data, or anything else there that expires.
type Holder struct {
	Key, Token string
	Until      time.Time // its expiry; zero: never
}

// Holders returns the holders in a lock server's data, in any layout of the rungs: a string, a hash of owners, or a
// sorted set of deadlines. It omits the stock and the counters of fencing tokens.
func (s *Store) Holders(ctx context.Context) (all []Holder, err error) {
	keys, err := s.Redis.Keys(ctx, "*").Result()
	slices.Sort(keys)
	for _, key := range keys {
		if strings.HasSuffix(key, ":fence") || strings.HasPrefix(key, "ProductStock_") {
			continue
		}
		ttl := s.Redis.PTTL(ctx, key).Val()
		var until time.Time
		if ttl > 0 {
			until = time.Now().Add(ttl)
		}
		var tokens []string
		kind, err := s.Redis.Type(ctx, key).Result()
		if err != nil {
			return all, err
		}
		switch kind {
		case "string":
			tokens = []string{s.Redis.Get(ctx, key).Val()}
		case "hash":
			tokens = s.Redis.HKeys(ctx, key).Val()
		case "zset":
			for _, m := range s.Redis.ZRangeWithScores(ctx, key, 0, -1).Val() {
				if end := time.UnixMilli(int64(m.Score)); end.After(time.Now()) {
					all = append(all, Holder{key, fmt.Sprint(m.Member), end})
				}
			}
		case "none": // it has just expired
		default:
			tokens = []string{kind}
		}
		for _, token := range tokens {
			all = append(all, Holder{key, token, until})
		}
	}
	return all, err
}
