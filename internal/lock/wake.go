package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// busyFor is ErrBusy, with the time after which the lock ends if nobody renews it; negative: it does not end.
type busyFor struct{ left time.Duration }

func (b busyFor) Error() string        { return ErrBusy.Error() }
func (b busyFor) Is(target error) bool { return target == ErrBusy }

// woken is a [Waiting] in which nobody polls: who finds the lock taken subscribes to the messages of its releases, tries
// again, since a release may have come before the subscription (pitfall 12), and then waits for a message; for no
// longer than the lease that it saw still has to go, since a holder that dies says nothing, and messages get lost.
//
// The waiters of a process share one subscription to a lock, and a message lets one of them try: all of them would make
// each release cost as many commands as there are waiters. One who was woken and could not try passes it on.
func (b Backends) woken(channel func(key string) string) Waiting {
	return b.called(channel, func(ctx context.Context, w waiter) (*Lease, error) {
		for {
			lease, err := w.attempt(ctx)
			if !errors.Is(err, ErrBusy) {
				if err != nil {
					w.bell.ring("")
				}
				return lease, err
			}
			if !time.Now().Before(w.deadline) {
				return nil, err
			}
			if !b.await(ctx, w.bell, w.bell.rung, earlier(ending(err, w.deadline), w.deadline)) {
				return nil, context.Cause(ctx)
			}
		}
	})
}

// waiter is who found a lock taken, and hears its bell by now.
type waiter struct {
	key      string
	attempt  Attempt
	deadline time.Time
	bell     *bell
}

// called is a [Waiting] of those who do not poll: wait goes on where the first attempt found the lock taken, with a
// subscription to the channel of its releases.
func (b Backends) called(
	channel func(key string) string, wait func(ctx context.Context, w waiter) (*Lease, error),
) Waiting {
	bells := &bells{Backends: b, byChannel: map[string]*bell{}}
	return func(ctx context.Context, key string, patience time.Duration, attempt Attempt) (*Lease, error) {
		deadline := time.Now().Add(patience)
		lease, err := attempt(ctx)
		if patience <= 0 || !errors.Is(err, ErrBusy) {
			return lease, err
		}
		bell, err := bells.enter(ctx, channel(key))
		if err != nil {
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		defer bells.leave(bell)
		return wait(ctx, waiter{key, attempt, deadline, bell})
	}
}

// ending is when the lock ends that somebody else holds, as far as it is known.
func ending(err error, unknown time.Time) time.Time {
	var busy busyFor
	if errors.As(err, &busy) && busy.left >= 0 {
		return time.Now().Add(busy.left + time.Millisecond) // Redis counts in whole ones
	}
	return unknown
}

// bells are the subscriptions of a process.
type bells struct {
	Backends
	mu        sync.Mutex
	byChannel map[string]*bell
}

// bell is the subscription to one lock, shared by those who wait for it.
type bell struct {
	channel string
	waiters int
	rung    chan struct{} // holds one message, for one waiter
	mu      sync.Mutex
	named   map[string]chan struct{} // and here each holds one that is meant for it
	ready   chan struct{}            // closed when the subscription stands, or could not be had
	err     error
	close   func()
}

// enter returns the bell of a channel once it can be heard. Leave it, also after an error of ctx.
func (b *bells) enter(ctx context.Context, channel string) (*bell, error) {
	b.mu.Lock()
	one := b.byChannel[channel]
	if one == nil {
		one = &bell{channel: channel, rung: make(chan struct{}, 1), ready: make(chan struct{}),
			named: map[string]chan struct{}{}}
		b.byChannel[channel] = one
		b.Background.Add(1)
		go b.listen(one)
	}
	one.waiters++
	b.mu.Unlock()
	select {
	case <-one.ready:
	case <-ctx.Done():
		b.leave(one)
		return nil, context.Cause(ctx)
	}
	if one.err != nil {
		b.leave(one)
		return nil, one.err
	}
	return one, nil
}

// leave ends the subscription with the last waiter.
func (b *bells) leave(one *bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.waiters--; one.waiters > 0 {
		return
	}
	if b.byChannel[one.channel] == one {
		delete(b.byChannel, one.channel)
	}
	go func() {
		<-one.ready
		if one.close != nil {
			one.close()
		}
	}()
}

// listen subscribes and rings the bell for each message, until the subscription is closed or the process ends. The
// client subscribes again by itself when its connection is lost; what was published meanwhile is not heard.
func (b *bells) listen(one *bell) {
	defer b.Background.Done()
	subscribe := b.Redis.Subscribe
	if _, cluster := b.Redis.(*redis.ClusterClient); cluster {
		subscribe = b.Redis.SSubscribe
	}
	sub := subscribe(b.Life, one.channel)
	one.close = func() { _ = sub.Close() }
	_, one.err = sub.Receive(b.Life) // the confirmation
	if one.err != nil {
		b.mu.Lock()
		if b.byChannel[one.channel] == one {
			delete(b.byChannel, one.channel) // who comes next tries anew
		}
		b.mu.Unlock()
		close(one.ready)
		return
	}
	messages := sub.Channel()
	close(one.ready)
	for {
		select {
		case message, open := <-messages:
			if !open {
				return
			}
			one.ring(message.Payload)
		case <-b.Life.Done():
			return
		}
	}
}

// ring wakes the waiter of that name, or if none has it any, now or when next one waits.
func (b *bell) ring(name string) {
	b.mu.Lock()
	rung, ok := b.named[name]
	b.mu.Unlock()
	if !ok {
		rung = b.rung
	}
	select {
	case rung <- struct{}{}:
	default:
	}
}

// name returns what rings for a waiter of that name alone.
func (b *bell) name(name string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.named[name] = make(chan struct{}, 1)
	return b.named[name]
}

func (b *bell) unname(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.named, name)
}

// await returns true when it has rung or at that time, or false when ctx ended.
func (b Backends) await(ctx context.Context, bell *bell, rung <-chan struct{}, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-rung:
		b.woke(ctx, Message, bell.channel)
		return true
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
