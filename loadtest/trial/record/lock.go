package record

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/loadtest/history"
	"stockapi/loadtest/wire"
)

// Remove removes the lock: it puts its keys into their states at rest.
func (b *Bench) Remove() error { return b.putLocks(nil) }

// CanExpire reports whether the server can expire the lock at any time as if its lease were over: the lease is the TTL
// of its keys alone, and nobody renews it, nor has in this cell.
func (b *Bench) CanExpire() bool {
	p := b.Passport
	if p.TTL == 0 || p.InValue > 0 || p.Every > 0 {
		return false
	}
	for at := range b.Pair.Rig.Ends {
		if !p.TTLLater && len(b.Shown().When(at, (*history.Command).Prolongs)) > 0 {
			return false
		}
	}
	return true
}

// Expire has the server expire the keys of the lock that have a TTL.
func (b *Bench) Expire() error {
	return b.Pair.Alone(func(to *redis.Client) (err error) {
		for _, lock := range b.Passport.Keys {
			err = errors.Join(err, lock.Expire(b.Pair.Context, to))
		}
		return err
	})
}

// putLocks puts the keys of the lock into those states, and the others into their states at rest.
func (b *Bench) putLocks(held map[wire.Key]wire.KeyState) error {
	return b.Pair.Alone(func(to *redis.Client) (err error) {
		for _, lock := range b.Passport.Keys {
			state, is := held[lock.Key]
			if !is {
				state = lock.Rest
			}
			err = errors.Join(err, lock.Put(b.Pair.Context, to, state))
		}
		return err
	})
}

// leastKept is the least TTL of a lock that the trial keeps: it has to renew it in time, on a busy machine too.
const leastKept = 2 * time.Second

// KeepLocks puts the keys of the lock into those states, and keeps them there until stop is called: it renews their
// TTLs, since a lock without one may be taken for a lost one, and removed.
func (b *Bench) KeepLocks(held map[wire.Key]wire.KeyState) (stop func(), err error) {
	kept, least := map[wire.Key]wire.KeyState{}, time.Duration(0)
	for key, state := range held {
		if ttl := state.TTL(); ttl > 0 {
			ttl = max(ttl, leastKept)
			state.Ends = state.At.Add(ttl)
			least = min(cmp.Or(least, ttl), ttl)
		}
		kept[key] = state
	}
	if err := b.putLocks(kept); err != nil || least == 0 {
		return func() {}, err
	}
	ctx, cancel := context.WithCancel(b.Pair.Context)
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for every := time.NewTicker(least / 4); ; {
			select {
			case <-every.C:
				_ = b.Pair.Alone(func(to *redis.Client) (err error) {
					for _, lock := range b.Passport.Keys {
						err = errors.Join(err, lock.Prolong(ctx, to, kept[lock.Key]))
					}
					return err
				})
			case <-ctx.Done():
				every.Stop()
				return
			}
		}
	})
	return func() {
		cancel()
		renewer.Wait()
	}, nil
}
