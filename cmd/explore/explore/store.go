package explore

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"stockapi/loadtest/schedule"
)

// A store is one Redis server in memory. Its TTLs and its TIME follow the clock of the schedule. Schedules share it one
// after the other, because a new one costs as much as half a schedule.
type store struct {
	schedule.Server
	redis *miniredis.Miniredis

	mu sync.Mutex // held while a command, or a whole script, is carried out
}

func newStore(name string, index int) (*store, error) {
	s := &store{redis: miniredis.NewMiniRedis(), Server: schedule.Server{Name: name, Index: index}}
	unused, err := s.redis.Dial() // starts it, without a port
	if err != nil {
		return nil, fmt.Errorf("start the Redis in memory: %w", err)
	}
	return s, unused.Close()
}

// carryOut carries out a command, or a whole script, and sends the reply.
func (s *store) carryOut(c *server.Peer, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redis.Server().Dispatch(c, args)
	c.Flush()
}

// knows reports whether the server knows the script with this digest.
func (s *store) knows(digest string) bool {
	var reply bytes.Buffer
	s.carryOut(server.NewPeer(bufio.NewWriter(&reply)), []string{"SCRIPT", "EXISTS", digest})
	return reply.String() == "*1\r\n:1\r\n"
}

// begin empties the server, and sets its clock to that of the schedule. It keeps the scripts that it knows.
func (s *store) begin() {
	s.Down = false
	s.redis.FlushAll()
	s.redis.ClockTTL(true)
}

// An entry is one holder of a lock in the data of a server: a key, a field of a hash, or a member of a sorted set.
type entry struct {
	id    string    // the token
	until time.Time // its expiry; zero: never
	count string    // the hold count, on rungs that count
}

// entries returns the holders of a lock, in any layout of the rungs: a string, a hash of owners, or a sorted set of
// deadlines.
func (s *store) entries(key string) []entry {
	switch s.redis.Type(key) {
	case "string":
		token, _ := s.redis.Get(key)
		return []entry{{id: token, until: s.until(key)}}
	case "hash":
		fields, _ := s.redis.HKeys(key)
		held := make([]entry, len(fields))
		for i, field := range fields {
			held[i] = entry{field, s.until(key), s.redis.HGet(key, field)}
		}
		return held
	case "zset":
		var held []entry
		members, _ := s.redis.ZMembers(key)
		for _, member := range members {
			if until := s.deadline(key, member); until.After(time.Now()) {
				held = append(held, entry{id: member, until: until})
			}
		}
		return held
	}
	return nil
}

func (s *store) until(key string) time.Time {
	if ttl := s.redis.TTL(key); ttl > 0 {
		return time.Now().Add(ttl)
	}
	return time.Time{}
}

func (s *store) deadline(key, member string) time.Time {
	score, _ := s.redis.ZScore(key, member)
	return time.UnixMilli(int64(score))
}

// isFence reports whether a key keeps a fencing token. Such a key outlasts every schedule.
func isFence(key string) bool { return strings.HasSuffix(key, ":fence") }

// expiry returns when the next key, or the next member with a deadline, expires; zero if none does.
func (s *store) expiry() time.Time {
	var first time.Time
	consider := func(t time.Time) {
		if t.After(time.Now()) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, key := range s.redis.Keys() {
		if isFence(key) {
			continue
		}
		consider(s.until(key))
		if s.redis.Type(key) == "zset" {
			members, _ := s.redis.ZMembers(key)
			for _, member := range members {
				consider(s.deadline(key, member))
			}
		}
	}
	return first
}

// isFree reports whether the server keeps nothing that belongs to a lock.
func (s *store) isFree() bool {
	for _, key := range s.redis.Keys() {
		if !isFence(key) {
			return false
		}
	}
	return true
}
