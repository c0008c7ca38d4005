package lock

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// busyFor is [ErrBusy] with the time after which the lock expires unless it is renewed. A negative time: it does not
// expire.
type busyFor struct{ left time.Duration }

func (b busyFor) Error() string        { return ErrBusy.Error() }
func (b busyFor) Is(target error) bool { return target == ErrBusy }

// expiry returns when the lock of another holder expires, or unknown if err has no time.
func expiry(err error, unknown time.Time) time.Time {
	var busy busyFor
	if errors.As(err, &busy) && busy.left >= 0 {
		return time.Now().Add(busy.left + time.Millisecond) // Redis counts in whole milliseconds
	}
	return unknown
}

// notified returns a [Waiting] that does not poll. A waiter that finds the lock taken subscribes to the messages of its
// releases. It tries once more, since a release may have come before the subscription (pitfall 12). Then it waits for a
// message, but not beyond the expiry of the lease that it saw: a holder that dies publishes nothing, and messages get
// lost.
//
// The waiters of a process share one subscription to a lock, and a message lets one of them try. If all of them tried,
// each release would cost a command per waiter. A waiter that was woken and could not try passes the message on. Once
// per tickTime one waiter tries without a message: the lock may have ended without one, or earlier than the lease that
// the waiters saw.
func (rt runtime) notified(channel func(key string) string) Waiting {
	return rt.subscribed(channel, rt.waitForMessages)
}

func (rt runtime) waitForMessages(ctx context.Context, w waiter) (*Lease, error) {
	for message := false; ; {
		lease, err := w.attempt(ctx)
		if !errors.Is(err, ErrBusy) {
			if err != nil && message {
				w.subscription.notify("")
			}
			return lease, err
		}
		if !time.Now().Before(w.deadline) {
			return nil, err
		}
		until := earlier(expiry(err, w.deadline), w.deadline)
		if !w.subscription.isConfirmed() { // no message can come
			until = earlier(until, time.Now().Add(heartbeat))
		}
		message, err = rt.awaitMessage(ctx, w.subscription, w.subscription.messages, until)
		if err != nil {
			return nil, err
		}
	}
}

// A waiter has found a lock taken, and has a subscription to its releases.
type waiter struct {
	key          string
	attempt      Attempt
	deadline     time.Time
	subscription *subscription
}

// subscribed returns a [Waiting] that makes the first attempt, and if the lock is taken subscribes to the channel of
// its releases and goes on with wait. If the server does not confirm the subscription within a heartbeat, the waiter
// goes on without it and tries again by itself.
func (rt runtime) subscribed(
	channel func(key string) string, wait func(ctx context.Context, w waiter) (*Lease, error),
) Waiting {
	all := &subscriptions{runtime: rt, byChannel: map[string]*subscription{}}
	return func(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
		deadline := time.Now().Add(maxWait)
		lease, err := attempt(ctx)
		if maxWait <= 0 || !errors.Is(err, ErrBusy) {
			return lease, err
		}
		sub := all.join(channel(key))
		defer all.leave(sub)
		if err := sub.awaitConfirmed(ctx, earlier(time.Now().Add(heartbeat), deadline)); err != nil {
			return nil, err
		}
		return wait(ctx, waiter{key, attempt, deadline, sub})
	}
}

// subscriptions are the subscriptions of a process, one for each lock with a waiter.
type subscriptions struct {
	runtime
	mu        sync.Mutex
	byChannel map[string]*subscription
}

// A subscription delivers the messages of one lock's releases to the waiters that share it.
type subscription struct {
	channel  string
	waiters  int
	stop     context.CancelFunc
	messages chan struct{} // holds one message, for one waiter
	retries  chan struct{} // lets one waiter try without a message

	mu        sync.Mutex
	personal  map[string]chan struct{} // by waiter: holds one message for that waiter alone
	confirmed chan struct{}            // closed while the server has confirmed the subscription
}

func newSubscription(channel string, stop context.CancelFunc) *subscription {
	return &subscription{channel: channel, stop: stop,
		messages: make(chan struct{}, 1), retries: make(chan struct{}, 1),
		personal: map[string]chan struct{}{}, confirmed: make(chan struct{})}
}

// join returns the subscription to a channel, and subscribes if this is the first waiter.
func (all *subscriptions) join(channel string) *subscription {
	all.mu.Lock()
	defer all.mu.Unlock()
	sub := all.byChannel[channel]
	if sub == nil {
		life, stop := context.WithCancel(all.Life)
		sub = newSubscription(channel, stop)
		all.byChannel[channel] = sub
		all.Background.Go(func() { all.listen(life, sub) })
		all.Background.Go(func() { sub.tick(life) })
	}
	sub.waiters++
	return sub
}

// leave ends the subscription with its last waiter.
func (all *subscriptions) leave(sub *subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if sub.waiters--; sub.waiters == 0 {
		delete(all.byChannel, sub.channel)
		sub.stop()
	}
}

// resubscribeDelay is the time between the end of a broken subscription and the next one.
const resubscribeDelay = 50 * time.Millisecond

// listen subscribes, and subscribes again when the subscription breaks, until ctx ends.
func (all *subscriptions) listen(ctx context.Context, sub *subscription) {
	for again := true; again; again = sleepUntil(ctx, time.Now().Add(resubscribeDelay)) {
		_ = all.receive(ctx, sub)
		sub.setBroken()
	}
}

// receive subscribes, and delivers messages until the subscription breaks. A message that was published before the
// server confirmed the subscription is lost, so one waiter tries then. If a connection is silent for a heartbeat,
// receive sends a ping; after three more silent heartbeats it gives the connection up.
func (all *subscriptions) receive(ctx context.Context, sub *subscription) error {
	conn := subscribe(ctx, all.Redis, sub.channel)
	defer func() { _ = conn.Close() }()
	// A read does not look at its context. Closing the connection ends it.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for silent := 0; silent < 4; {
		message, err := conn.ReceiveTimeout(ctx, heartbeat)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			silent++
			err = conn.Ping(ctx)
		default:
			silent = 0
		}
		if err != nil {
			return err
		}
		switch message := message.(type) {
		case *redis.Subscription:
			sub.setConfirmed()
			sub.letOneRetry()
		case *redis.Message:
			sub.notify(message.Payload)
		}
	}
	return os.ErrDeadlineExceeded
}

// subscribe subscribes to a channel: on a cluster to one within a slot, as [publishOn] publishes.
func subscribe(ctx context.Context, rdb redis.UniversalClient, channel string) *redis.PubSub {
	if _, cluster := rdb.(*redis.ClusterClient); cluster {
		return rdb.SSubscribe(ctx, channel)
	}
	return rdb.Subscribe(ctx, channel)
}

// subscribeTime bounds how long MutedRungs waits for a Redis that does not answer.
const subscribeTime = 3 * time.Second

// MutedRungs returns the numbers of the rungs whose releases cannot notify the waiters for a product, because the user
// of this Redis may not use their channels. It subscribes to them, which has no effect on others. It returns none if
// the Redis does not answer.
func (b Backends) MutedRungs(ctx context.Context, product string) (numbers []string) {
	for _, r := range Ladder() {
		if !r.Promised(Notifies) || !slices.Contains(r.Needs, NeedRedis) {
			continue
		}
		channel := channelOf(r.Key(product))
		if r.Promised(InOrder) { // v8's queue, which v18 and v19 have too
			channel = fairChannelOf(r.Key(product))
		}
		conn := subscribe(ctx, b.Redis, channel)
		_, err := conn.ReceiveTimeout(ctx, subscribeTime)
		_ = conn.Close()
		switch {
		case redis.HasErrorPrefix(err, "NOPERM"):
			numbers = append(numbers, r.Number)
		case err != nil:
			return numbers
		}
	}
	return numbers
}

// notify wakes the waiter with that id. If there is none, it wakes any waiter, now or as soon as one waits.
func (s *subscription) notify(id string) {
	s.mu.Lock()
	messages, ok := s.personal[id]
	s.mu.Unlock()
	if !ok {
		messages = s.messages
	}
	put(messages)
}

// letOneRetry lets one waiter try without a message.
func (s *subscription) letOneRetry() { put(s.retries) }

// tickTime is longer than a heartbeat. A waiter of v8 tries every heartbeat by itself, and would try twice if both came
// at one instant.
const tickTime = heartbeat + heartbeat/8

// tick lets one waiter try every tickTime.
func (s *subscription) tick(ctx context.Context) {
	for sleepUntil(ctx, time.Now().Add(tickTime)) {
		s.letOneRetry()
	}
}

// put fills a channel that has room for one, unless it is full.
func put(one chan<- struct{}) {
	select {
	case one <- struct{}{}:
	default:
	}
}

// setConfirmed records that the server has confirmed the subscription.
func (s *subscription) setConfirmed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isClosed(s.confirmed) {
		close(s.confirmed)
	}
}

// setBroken records that messages no longer arrive.
func (s *subscription) setBroken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(s.confirmed) {
		s.confirmed = make(chan struct{})
	}
}

func (s *subscription) isConfirmed() bool { return isClosed(s.whileConfirmed()) }

// whileConfirmed returns a channel that is closed while the subscription is confirmed.
func (s *subscription) whileConfirmed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitConfirmed waits until the subscription is confirmed, at the latest until that time. If ctx ends first, it
// returns the cause.
func (s *subscription) awaitConfirmed(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-s.whileConfirmed():
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// register returns a channel for the messages to that id: the same one each time.
func (s *subscription) register(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.personal[id] == nil {
		s.personal[id] = make(chan struct{}, 1)
	}
	return s.personal[id]
}

func (s *subscription) unregister(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.personal, id)
}

// awaitMessage returns when it is time for another try, at the latest at until, and whether a message came. If ctx
// ends first, it returns the cause.
func (rt runtime) awaitMessage(
	ctx context.Context, sub *subscription, messages <-chan struct{}, until time.Time,
) (message bool, err error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-messages:
		rt.reportWake(ctx, Message, sub.channel)
		return true, nil
	case <-sub.retries:
	case <-timer.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return false, nil
}
