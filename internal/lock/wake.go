package lock

import (
	"context"
	"errors"
	"os"
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
// each release cost as many commands as there are waiters. One who was woken and could not try passes it on. And every
// heartbeat one of them tries without a message: the lock may have ended without one, or sooner than the lease that they
// saw.
func (b Backends) woken(channel func(key string) string) Waiting {
	return b.called(channel, b.untilWoken)
}

func (b Backends) untilWoken(ctx context.Context, w waiter) (*Lease, error) {
	for message := false; ; {
		lease, err := w.attempt(ctx)
		if !errors.Is(err, ErrBusy) {
			if err != nil && message {
				w.bell.ring("")
			}
			return lease, err
		}
		if !time.Now().Before(w.deadline) {
			return nil, err
		}
		until := earlier(ending(err, w.deadline), w.deadline)
		if !w.bell.stands() { // nothing can be heard
			until = earlier(until, time.Now().Add(heartbeat))
		}
		message, err = b.await(ctx, w.bell, w.bell.rung, until)
		if err != nil {
			return nil, err
		}
	}
}

// A waiter found a lock taken, and listens to its bell.
type waiter struct {
	key      string
	attempt  Attempt
	deadline time.Time
	bell     *bell
}

// called is a [Waiting] of those who do not poll: wait goes on where the first attempt found the lock taken, with a
// subscription to the channel of its releases. A subscription that is not confirmed within a heartbeat is not waited
// for: the waiter then comes again by itself.
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
		bell := bells.enter(channel(key))
		defer bells.leave(bell)
		if err := bell.awaitStanding(ctx, earlier(time.Now().Add(heartbeat), deadline)); err != nil {
			return nil, err
		}
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

// A bell is the subscription to one lock, shared by those who wait for it.
type bell struct {
	channel string
	waiters int
	stop    context.CancelFunc
	rung    chan struct{} // holds one message, for one waiter
	due     chan struct{} // holds one turn to try without a message, for one waiter

	mu       sync.Mutex
	named    map[string]chan struct{} // and here each holds one message that is meant for it
	standing chan struct{}            // closed while the subscription stands
}

func newBell(channel string, stop context.CancelFunc) *bell {
	return &bell{channel: channel, stop: stop, rung: make(chan struct{}, 1), due: make(chan struct{}, 1),
		named: map[string]chan struct{}{}, standing: make(chan struct{})}
}

// enter returns the bell of a channel, and subscribes to it for the first who waits for it.
func (b *bells) enter(channel string) *bell {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byChannel[channel]
	if one == nil {
		life, stop := context.WithCancel(b.Life)
		one = newBell(channel, stop)
		b.byChannel[channel] = one
		b.Background.Go(func() { b.listen(life, one) })
		b.Background.Go(func() { one.tick(life) })
	}
	one.waiters++
	return one
}

// leave ends the subscription with the last waiter.
func (b *bells) leave(one *bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.waiters--; one.waiters == 0 {
		delete(b.byChannel, one.channel)
		one.stop()
	}
}

// resubscribeDelay is between a subscription that broke and the next.
const resubscribeDelay = 50 * time.Millisecond

// listen subscribes, and when the subscription breaks subscribes again, until ctx ends.
func (b *bells) listen(ctx context.Context, one *bell) {
	for again := true; again; again = sleepUntil(ctx, time.Now().Add(resubscribeDelay)) {
		_ = b.hear(ctx, one)
		one.falls()
	}
}

// hear rings the bell for each message of one subscription, until that breaks. What was published before it stood was
// not heard, so somebody tries then. A connection on which nothing has come for a heartbeat is asked for a sign of life,
// and given up after three more.
func (b *bells) hear(ctx context.Context, one *bell) error {
	subscribe := b.Redis.Subscribe
	if _, cluster := b.Redis.(*redis.ClusterClient); cluster {
		subscribe = b.Redis.SSubscribe
	}
	sub := subscribe(ctx, one.channel)
	defer func() { _ = sub.Close() }()
	// A read does not look at its context. Closing the connection ends it.
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	for silent := 0; silent < 4; {
		message, err := sub.ReceiveTimeout(ctx, heartbeat)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			silent++
			err = sub.Ping(ctx)
		default:
			silent = 0
		}
		if err != nil {
			return err
		}
		switch message := message.(type) {
		case *redis.Subscription:
			one.rises()
			one.nudge()
		case *redis.Message:
			one.ring(message.Payload)
		}
	}
	return os.ErrDeadlineExceeded
}

// ring wakes the waiter of that name, or if none has it any, now or when next one waits.
func (b *bell) ring(name string) {
	b.mu.Lock()
	rung, ok := b.named[name]
	b.mu.Unlock()
	if !ok {
		rung = b.rung
	}
	put(rung)
}

// nudge lets one waiter try without a message.
func (b *bell) nudge() { put(b.due) }

// tick lets one waiter try every heartbeat.
func (b *bell) tick(ctx context.Context) {
	for sleepUntil(ctx, time.Now().Add(heartbeat)) {
		b.nudge()
	}
}

// put puts one into a channel that holds one, unless it does already.
func put(one chan<- struct{}) {
	select {
	case one <- struct{}{}:
	default:
	}
}

// rises and falls say that the subscription stands from now on, or does not any more.
func (b *bell) rises() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !isClosed(b.standing) {
		close(b.standing)
	}
}

func (b *bell) falls() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if isClosed(b.standing) {
		b.standing = make(chan struct{})
	}
}

func (b *bell) stands() bool { return isClosed(b.whileStanding()) }

// whileStanding returns a channel that is closed while the subscription stands.
func (b *bell) whileStanding() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.standing
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitStanding waits until the subscription stands, or until that time. It returns the cause with which ctx ended.
func (b *bell) awaitStanding(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-b.whileStanding():
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
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

// await returns when it is worth another try, at that time at the latest, and whether a message said so. It returns the
// cause with which ctx ended.
func (b Backends) await(ctx context.Context, bell *bell, rung <-chan struct{}, until time.Time) (message bool, err error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-rung:
		b.woke(ctx, Message, bell.channel)
		return true, nil
	case <-bell.due:
	case <-timer.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}
