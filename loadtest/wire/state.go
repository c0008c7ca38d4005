package wire

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Key is a key in one of a server's databases.
type Key struct {
	DB   int
	Name string
}

// String returns its name, and its database if that is not 0.
func (k Key) String() string {
	if k.DB == 0 {
		return k.Name
	}
	return fmt.Sprintf("%s of database %d", k.Name, k.DB)
}

// A KeyState is a key at a point in time.
type KeyState struct {
	At   time.Time // by the server's clock
	Kind string    // none: the key does not exist
	Ends time.Time // when it expires, by the server's clock; zero: never
	// Parts are its parts by name: the value of a string, named ""; the fields of a hash; the members of a set, or of a
	// sorted set with their scores; the elements of a list by index.
	Parts map[string]string
	// Opaque means that the parts are unknown: the key has more than 64 KB, or is a stream.
	Opaque bool
}

// Exists reports whether the key exists.
func (s *KeyState) Exists() bool { return s.Kind != "none" }

// TTL returns how long the key had to live, 0 if it had no TTL.
func (s *KeyState) TTL() time.Duration {
	if s.Ends.IsZero() {
		return 0
	}
	return max(0, s.Ends.Sub(s.At))
}

// A Lock is a key, or a part of one, that is at rest or held.
type Lock struct {
	Key
	// Parts are the names of the parts that make up the lock. Nil: any part that is absent at rest, as each holder has a
	// name of its own.
	Parts []string
	// Rest is the key's state while the lock is free: at rest.
	Rest KeyState
	// Steps is the difference of a counter from its value at rest while the lock is held; 0: unknown. A difference in the
	// other direction is not a hold.
	Steps int64
	// Companions are other keys, or other parts of the key, in which an order names itself under the lock, and which it
	// compares before it releases the lock. They keep no order out.
	Companions []Lock
}

// String returns the key, and the part if the key has others at rest.
func (l *Lock) String() string {
	if len(l.Parts) == 1 && l.Parts[0] != "" && len(l.Rest.Parts) > 0 && l.Rest.Kind != "list" {
		return fmt.Sprintf("%s[%s]", l.Key, l.Parts[0])
	}
	return l.Key.String()
}

// holders returns the parts that differ from the lock at rest, by name. Elements of a list are named by their values if
// each holder has its own: a removal renumbers the others.
func (l *Lock) holders(s *KeyState) map[string]part {
	held := map[string]part{}
	for _, name := range l.heldParts(s) {
		if as := s.part(name); l.Parts == nil && s.Kind == "list" {
			held[as.value] = as
		} else {
			held[name] = as
		}
	}
	return held
}

// heldParts returns the names of the parts that differ from the lock at rest.
func (l *Lock) heldParts(s *KeyState) (names []string) {
	if l.Parts == nil {
		for name := range s.Parts {
			if !l.Rest.part(name).there {
				names = append(names, name)
			}
		}
		return names
	}
	for _, name := range l.Parts {
		if !s.Same(&l.Rest, name) && (l.Steps == 0 || l.Steps > 0 == (l.Step(s, name) > 0)) {
			names = append(names, name)
		}
	}
	return names
}

// Step returns the difference of a counter from its value at rest, 0 if the part is not a counter.
func (l *Lock) Step(s *KeyState, name string) int64 {
	now, err := strconv.ParseInt(cmp.Or(s.Parts[name], "0"), 10, 64)
	rest, err2 := strconv.ParseInt(cmp.Or(l.Rest.Parts[name], "0"), 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return now - rest
}

// IsLike reports whether the names of two keys differ only in their numbers, like the keys of a majority lock.
func (l *Lock) IsLike(other Lock) bool {
	return numbers.ReplaceAllString(l.Name, "") == numbers.ReplaceAllString(other.Name, "")
}

var numbers = regexp.MustCompile(`\d+`)

// instants finds numbers in a value that may be times.
var instants = regexp.MustCompile(`\d{10,}(\.\d+)?`)

// Deadline returns the expiry that the lock's own value or score names: a time within the next hour, in seconds, ms or
// µs since 1970; zero if there is none.
func (l *Lock) Deadline(s *KeyState) (ends time.Time) { return l.instant(s, 1, time.Hour) }

// Start returns the start of the lease that the lock's own value or score names: a time within the last minute; zero if
// there is none.
func (l *Lock) Start(s *KeyState) (began time.Time) { return l.instant(s, -time.Minute, 1) }

// instant returns the latest time that the lock's value or score names, of those that are at least from and less than
// to after that state; zero if there is none.
func (l *Lock) instant(s *KeyState, from, to time.Duration) (latest time.Time) {
	for _, part := range l.holders(s) {
		for _, text := range instants.FindAllString(part.value, -1) {
			n, _ := strconv.ParseFloat(text, 64)
			for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
				ahead := n*float64(unit) - float64(s.At.UnixNano())
				left := time.Duration(max(min(ahead, float64(2*time.Hour)), -float64(2*time.Hour)))
				if at := s.At.Add(left); left >= from && left < to && at.After(latest) {
					latest = at
				}
			}
		}
	}
	return latest
}

// Held reports whether the lock is held in that state of its key.
func (l *Lock) Held(s KeyState) bool { return len(l.holders(&s)) > 0 }

// AtRest reports whether the lock is free in that state of its key, and no order has given back more than it took.
func (l *Lock) AtRest(s KeyState) bool { return !l.Held(s) && l.surplus(&s) == 0 }

// surplus returns how much more was given back than taken: the steps of a counter beyond its value at rest, or the
// elements of a list of tokens that are too many.
func (l *Lock) surplus(s *KeyState) int64 {
	if l.Parts != nil && l.Rest.Kind == "list" {
		return max(0, int64(len(s.Parts)-len(l.Rest.Parts)))
	}
	for _, name := range l.Parts {
		if step := l.Step(s, name); step < 0 && l.Steps > 0 || step > 0 && l.Steps < 0 {
			return max(step, -step)
		}
	}
	return 0
}

// Differences returns the names of the parts that differ between two states.
func (s *KeyState) Differences(other *KeyState) (names []string) {
	for name := range s.Parts {
		if !s.Same(other, name) {
			names = append(names, name)
		}
	}
	for name := range other.Parts {
		if _, known := s.Parts[name]; !known && !s.Same(other, name) {
			names = append(names, name)
		}
	}
	return names
}

// Same reports whether a part is the same in the two states. A counter of zero equals an absent one.
func (s *KeyState) Same(other *KeyState, name string) bool {
	x, y := s.part(name), other.part(name)
	return x == y || x.isZero() && y.isZero()
}

type part struct {
	value string
	there bool
}

func (s *KeyState) part(name string) part {
	value, there := s.Parts[name]
	return part{value, there}
}

// isZero reports whether the part counts no holder.
func (p part) isZero() bool { return !p.there || p.value == "0" }

// mostKeys bounds a snapshot.
const mostKeys = 10_000

//go:embed keys.lua
var keysScript string

var databaseLine = regexp.MustCompile(`(?m)^db(\d+):`)

// Snapshot returns the states of all keys of all databases.
func Snapshot(ctx context.Context, of *redis.Client) (map[Key]KeyState, error) {
	info, err := of.Info(ctx, "keyspace").Result()
	if err != nil {
		return nil, err
	}
	args := []any{mostKeys}
	for _, m := range databaseLine.FindAllStringSubmatch(info, -1) {
		args = append(args, m[1])
	}
	found, err := of.Eval(ctx, keysScript, nil, args...).StringSlice()
	if err != nil {
		return nil, err
	}
	if len(found) > 2*mostKeys {
		return nil, fmt.Errorf("this Redis has more than %d keys: start the shop with a small stock of its own", mostKeys)
	}
	var keys []Key
	for i := 0; i+1 < len(found); i += 2 {
		db, _ := strconv.Atoi(found[i])
		keys = append(keys, Key{db, found[i+1]})
	}
	return lookAt(ctx, of, keys)
}

// lookAt returns the states of these keys.
func lookAt(ctx context.Context, of *redis.Client, keys []Key) (map[Key]KeyState, error) {
	answer, err := of.Eval(ctx, lookScript, nil, argsOf(keys)...).Result()
	if err != nil {
		return nil, err
	}
	return readStates(keys, answer)
}

func argsOf(keys []Key) []any {
	args := make([]any, 0, 2*len(keys))
	for _, k := range keys {
		args = append(args, k.DB, k.Name)
	}
	return args
}

// readStates parses the reply of look.lua.
func readStates(keys []Key, answer any) (map[Key]KeyState, error) {
	bad := fmt.Errorf("look.lua returned %v", answer)
	all, _ := answer.([]any)
	if len(all) != 2+len(keys) {
		return nil, bad
	}
	now, err := serverTime(fmt.Sprint(all[0]), fmt.Sprint(all[1]))
	if err != nil {
		return nil, err
	}
	states := map[Key]KeyState{}
	for i, key := range keys {
		one, _ := all[2+i].([]any)
		if len(one) != 3 {
			return nil, bad
		}
		s := KeyState{At: now, Kind: fmt.Sprint(one[0]), Parts: map[string]string{}}
		if ms, ok := one[1].(int64); ok && ms >= 0 {
			s.Ends = time.UnixMilli(ms)
		}
		parts, known := one[2].([]any)
		s.Opaque = !known
		for j := 0; j+1 < len(parts); j += 2 {
			s.Parts[fmt.Sprint(parts[j])] = fmt.Sprint(parts[j+1])
		}
		states[key] = s
	}
	return states, nil
}

// Put sets the parts that make up the lock to those in s, and leaves other parts alone. A key that has no other parts
// gets the TTL that it had in s.
func (l *Lock) Put(ctx context.Context, to *redis.Client, s KeyState) error {
	now, err := lookAt(ctx, to, []Key{l.Key})
	if err != nil {
		return err
	}
	was := now[l.Key]
	for _, name := range l.heldParts(&was) {
		delete(was.Parts, name)
	}
	if l.Parts != nil {
		for _, name := range l.Parts {
			delete(was.Parts, name)
		}
	}
	if len(was.Parts) == 0 {
		if was.Ends = (time.Time{}); s.TTL() > 0 {
			was.Ends = was.At.Add(s.TTL())
		}
	}
	held := l.heldParts(&s)
	for name := range s.Parts {
		if slices.Contains(held, name) || slices.Contains(l.Parts, name) {
			was.Parts[name] = s.Parts[name]
		}
	}
	if was.Kind = s.Kind; !s.Exists() {
		was.Kind = l.Rest.Kind
	}
	return PutState(ctx, to, l.Key, was)
}

// Prolong gives the lock's key the TTL that it had in s, if it has a TTL.
func (l *Lock) Prolong(ctx context.Context, to *redis.Client, s KeyState) error {
	now, err := lookAt(ctx, to, []Key{l.Key})
	if state := now[l.Key]; err != nil || state.TTL() == 0 || s.TTL() == 0 {
		return err
	}
	_, err = to.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "SELECT", l.DB)
		p.PExpire(ctx, l.Name, s.TTL())
		p.Do(ctx, "SELECT", 0)
		return nil
	})
	return err
}

// Expire has the server expire the lock's key now, if it has a TTL.
func (l *Lock) Expire(ctx context.Context, to *redis.Client) error {
	now, err := lookAt(ctx, to, []Key{l.Key})
	if state := now[l.Key]; err != nil || state.TTL() == 0 {
		return err
	}
	_, err = to.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "SELECT", l.DB)
		p.PExpire(ctx, l.Name, time.Millisecond) // a time in the past would be a removal
		p.Do(ctx, "SELECT", 0)
		return nil
	})
	time.Sleep(2 * time.Millisecond)
	return err
}

// PutState sets a key to a state.
func PutState(ctx context.Context, to *redis.Client, key Key, s KeyState) error {
	names := slices.Sorted(maps.Keys(s.Parts))
	_, err := to.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "SELECT", key.DB)
		p.Del(ctx, key.Name)
		if s.Kind == "list" {
			slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		}
		for _, name := range names {
			switch value := s.Parts[name]; s.Kind {
			case "string":
				p.Set(ctx, key.Name, value, 0)
			case "hash":
				p.HSet(ctx, key.Name, name, value)
			case "set":
				p.SAdd(ctx, key.Name, name)
			case "zset":
				p.Do(ctx, "ZADD", key.Name, value, name)
			case "list":
				p.RPush(ctx, key.Name, value)
			}
		}
		if !s.Ends.IsZero() {
			p.PExpireAt(ctx, key.Name, s.Ends)
		}
		p.Do(ctx, "SELECT", 0)
		return nil
	})
	return err
}
