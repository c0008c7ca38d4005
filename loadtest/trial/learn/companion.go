package learn

import (
	"errors"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/wire"
)

// findCompanions finds the keys, or parts of keys, that name the holder of the lock: each sale sets them before it
// writes the stock and looks at them again, and an order that finds another name there does not release the lock.
func findCompanions(b *record.Bench, sales []*plainSale, keys []wire.Lock) (found bool, err error) {
	p := b.Passport
	if len(p.Keys) != 1 || p.BeforeWrite() == nil {
		return false, nil
	}
	lock := p.Keys[0]
	for _, key := range keys {
		key.Parts = common(common(sales[0].names(&key), sales[1].names(&key)), sales[2].names(&key))
		if key.Key == lock.Key {
			key.Parts = slices.DeleteFunc(key.Parts, func(name string) bool {
				return lock.Parts == nil || slices.Contains(lock.Parts, name)
			})
		}
		if len(key.Parts) == 0 {
			continue
		}
		compares, err := comparesName(b, &key)
		if err != nil {
			return found, err
		}
		if compares {
			lock.Companions, found = append(lock.Companions, key), true
		}
	}
	if found {
		p.SetKeys([]wire.Lock{lock}) // a looker still uses the slice before
	}
	return found, nil
}

// names returns the parts of a key that a sale set before it wrote the stock, if it looked at the key after that.
func (s *plainSale) names(key *wire.Lock) (names []string) {
	wrote := false
	for _, c := range s.commands {
		for i := range c.Effects {
			e := &c.Effects[i]
			looks := e.Effect == history.EffectNothing || e.Wire != nil && e.Wire.Compared
			if looks && e.Key == key.Key.String() && len(names) > 0 {
				return names
			}
		}
		before, after, looked := s.looker.States(c.Cmd, key.Key)
		if wrote = wrote || record.WritesStock(c); looked && !wrote {
			for _, name := range before.Differences(&after) {
				if _, is := after.Parts[name]; is && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return nil
}

// comparesName reports whether an order keeps the lock if those parts of a key were given other values while it was at
// work: a release that compares them takes the lock for another order's.
func comparesName(b *record.Bench, key *wire.Lock) (compares bool, err error) {
	b.Begin("", "")
	if err := b.Pair.Put(b.Pair.Shop.UnitsFor(0)); err != nil {
		return false, err
	}
	anna, why, goOn := b.AnnaAtWork()
	if why != "" {
		goOn()
		<-anna.Done()
		return false, nil
	}
	undo, err := rename(b, key)
	goOn()
	<-anna.Done()
	b.Pair.Rig.Quiet(b.Pair.Context)
	lock := b.Passport.Keys[0]
	compares = err == nil && lock.Held(b.Pair.Looker.Load().Look()[lock.Key])
	return compares, errors.Join(err, undo(), b.Remove())
}

// rename gives parts of a key other values, and returns what undoes that: where an order has changed them meanwhile,
// they are at rest again.
func rename(b *record.Bench, key *wire.Lock) (undo func() error, err error) {
	var was, renamed wire.KeyState
	put := func(change func(*wire.KeyState)) error {
		return b.Pair.Alone(func(to *redis.Client) error {
			now, err := wire.Snapshot(b.Pair.Context, to)
			state, is := now[key.Key]
			if err != nil || !is {
				return err
			}
			change(&state)
			return wire.PutState(b.Pair.Context, to, key.Key, state)
		})
	}
	err = put(func(s *wire.KeyState) {
		was = *s
		s.Parts = maps.Clone(s.Parts)
		for _, name := range key.Parts {
			s.Parts[name] += "0" // a number stays a number
		}
		renamed = *s
	})
	return func() error {
		return put(func(s *wire.KeyState) {
			for _, name := range key.Parts {
				old, is := key.Rest.Parts[name]
				if key.Rest.Exists() && s.Parts[name] == renamed.Parts[name] {
					old, is = was.Parts[name], true
				}
				if s.Parts[name] = old; !is {
					delete(s.Parts, name)
				}
			}
		})
	}, err
}
