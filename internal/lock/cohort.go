package lock

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/batch"
)

var (
	//go:embed handoff_acquire.lua
	handoffAcquireSource string
	//go:embed handoff_release.lua
	handoffReleaseSource string

	handoffAcquire = newScript("acquire-handoff", handoffAcquireSource)
	handoffRelease = newScript("release-handoff", handoffReleaseSource)
)

// A turn is the time for which one instance keeps the lock of v18 or v19. It ends after the lease was passed on
// maxPasses times, or with the first release after turnTime.
const (
	maxPasses = 128
	turnTime  = 100 * time.Millisecond
)

// acquireHandoff acquires the lock and draws a fencing token for each time that it may be passed on. It returns the
// first token, or 0 and the time after which to try again.
func acquireHandoff(
	ctx context.Context, rdb redis.Scripter, key, token, place string, ttl time.Duration,
) (fence int64, left time.Duration, err error) {
	keys := []string{key, queueOf(key), deadlinesOf(key), fenceOf(key)}
	n, err := handoffAcquire.Run(ctx, rdb, keys,
		token, ttl.Milliseconds(), place, placeTTL.Milliseconds(), maxPasses+1).Int64()
	if err != nil || n > 0 {
		return n, 0, err
	}
	return 0, max(time.Duration(-1-n), 1) * time.Millisecond, nil
}

// releaseHandoff removes the lock if token still owns it, and otherwise returns ErrLost.
func releaseHandoff(ctx context.Context, rdb redis.UniversalClient, key, token string) error {
	keys := []string{key, queueOf(key), fairChannelOf(key)}
	return releaseResult(handoffRelease.Run(ctx, rdb, keys, token, publishOn(rdb)).Int64())
}

// cohorts are the cohorts of a process, one for each lock with a holder or a waiter.
type cohorts struct {
	runtime
	most  int // how many may hold a lease at once
	mu    sync.Mutex
	byKey map[string]*cohort
}

func newCohorts(rt runtime, most int) *cohorts {
	return &cohorts{runtime: rt, most: most, byKey: map[string]*cohort{}}
}

// A cohort consists of the orders of one process that hold or want one lock. At a time one of them, or on v19 a batch,
// holds the lease, or one asks Redis for it. The others wait in the memory of the process.
type cohort struct {
	busy    bool         // one holds the lease, asks Redis for it, or releases it
	lease   *passedLease // nil: none of them holds it
	heirs   []*member    // were passed the lease, and have not taken it yet
	waiting []*member    // in order of arrival
	queued  bool         // the cohort has a place in Redis' queue
}

// A passedLease is a lease that a cohort passes on from batch to batch.
type passedLease struct {
	work    *leaseContext // ends with the lease
	token   string
	fence   int64     // the fencing token of the batch
	holders int       // members of the batch that have not left yet
	wanted  Options   // of the order that acquired it
	passes  int       // how often it may still be passed on
	turn    time.Time // the end of the turn
	release func(ctx context.Context) error
}

// A member is an order that waits in a cohort.
type member struct {
	of    *cohorts // nil: it has not entered one yet
	key   string
	wants Options
	turn  chan struct{} // holds one notice to try again
	lease *passedLease  // that was passed to it
	seat  *batch.Seat   // in the batch that holds the lease
}

func newMember() *member { return &member{turn: make(chan struct{}, 1)} }

type memberKey struct{}

// memberOf returns the member for which a context's attempts are made, or nil if they do not wait.
func memberOf(ctx context.Context) *member {
	m, _ := ctx.Value(memberKey{}).(*member)
	return m
}

// busyHere is [ErrBusy] for a lock that others of the same process await first. Redis was not asked.
type busyHere struct{}

func (busyHere) Error() string        { return ErrBusy.Error() }
func (busyHere) Is(target error) bool { return target == ErrBusy }

// enter begins an attempt. It returns the lease that was passed to the caller, or busyHere if others of the process are
// before it. With neither, the caller asks Redis, and then calls acquired or refused.
func (all *cohorts) enter(ctx context.Context, key string, o Options) (*Lease, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byKey[key]
	if c == nil {
		c = new(cohort)
		all.byKey[key] = c
	}
	me := memberOf(ctx)
	if me != nil && me.lease != nil {
		if lease := me.lease; lease.work.Err() == nil {
			c.takes(me)
			return all.hold(ctx, key, lease, me.seat), nil
		}
		all.end(key) // it was lost on its way
	}
	if me != nil && me.of == nil {
		me.of, me.key, me.wants = all, key, o
		c.waiting = append(c.waiting, me)
	}
	if c.busy || len(c.waiting) > 0 && c.waiting[0] != me {
		return nil, busyHere{}
	}
	c.busy = true
	return nil, nil
}

// acquired makes the caller the first holder of a lease, together with those behind it that may share it.
func (all *cohorts) acquired(ctx context.Context, key string, lease *passedLease) *Lease {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byKey[key]
	c.lease = lease
	lease.passes, lease.turn = maxPasses, time.Now().Add(turnTime)
	if me := memberOf(ctx); me != nil { // the first of those that wait
		c.waiting, c.queued = c.waiting[1:], false
	}
	seat := c.seat(c.inherit(all.most-1), 1)
	context.AfterFunc(lease.work, func() { all.lost(key, lease) })
	return all.hold(ctx, key, lease, seat)
}

// refused ends an attempt that did not get the lock.
func (all *cohorts) refused(ctx context.Context, key string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	me, c := memberOf(ctx), all.byKey[key]
	c.queued = c.queued || me != nil
	all.next(key, me)
}

// next lets the first waiter ask Redis, unless it has just done so. The caller holds the mutex.
func (all *cohorts) next(key string, asked *member) {
	c := all.byKey[key]
	c.busy = false
	switch {
	case len(c.waiting) == 0:
		delete(all.byKey, key)
	case c.waiting[0] != asked:
		put(c.waiting[0].turn)
	}
}

// hold returns the lease for one of its holders, with a context of its own. The caller holds the mutex.
func (all *cohorts) hold(ctx context.Context, key string, lease *passedLease, seat *batch.Seat) *Lease {
	work, leave := lease.work.share(ctx)
	unlock := func(ctx context.Context) error {
		leave()
		seat.Leave()
		return all.unlock(ctx, key, lease)
	}
	return &Lease{Context: work, Token: lease.token, Fence: lease.fence, Seat: seat,
		unlock: unlock, forget: func(ctx context.Context) error {
			forgetFence(ctx, all.Redis, key, lease.token)
			return unlock(ctx)
		}}
}

// unlock ends a holder's part in a lease. The last of a batch passes the lease on, or releases it if no order waits for
// it, or the turn is over.
func (all *cohorts) unlock(ctx context.Context, key string, lease *passedLease) error {
	all.mu.Lock()
	c := all.byKey[key]
	ours := c != nil && c.lease == lease
	lease.holders--
	if lease.holders > 0 || ours && c.pass(all.most) {
		all.mu.Unlock()
		return lease.lost()
	}
	if ours {
		c.lease = nil
	}
	all.mu.Unlock()
	err := lease.release(ctx)
	if ours {
		all.mu.Lock()
		all.next(key, nil)
		all.mu.Unlock()
	}
	return err
}

// lost returns ErrLost if the lease was found lost.
func (lease *passedLease) lost() error {
	if errors.Is(context.Cause(lease.work), ErrLost) {
		return ErrLost
	}
	return nil
}

// pass passes the lease to the first waiting members, and reports whether there are any.
func (c *cohort) pass(most int) bool {
	lease := c.lease
	if lease.passes == 0 || time.Now().After(lease.turn) || lease.work.Err() != nil {
		return false
	}
	heirs := c.inherit(most)
	if len(heirs) == 0 {
		return false
	}
	lease.passes--
	lease.fence++
	c.seat(heirs, 0)
	return true
}

// inherit takes the first members out of the queue, at most most of them. It stops at one that wants another TTL, or a
// lease that is not renewed: that one needs a lease of its own.
func (c *cohort) inherit(most int) []*member {
	if c.lease.wanted.NoRenew {
		return nil
	}
	n := 0
	for n < min(most, len(c.waiting)) && !c.waiting[n].wants.NoRenew && c.waiting[n].wants.TTL == c.lease.wanted.TTL {
		n++
	}
	c.heirs = slices.Clone(c.waiting[:n])
	c.waiting = c.waiting[n:]
	return c.heirs
}

// seat makes these members, and more that hold the lease already, the batch of the lease. It returns the seat of the
// first.
func (c *cohort) seat(heirs []*member, more int) *batch.Seat {
	c.lease.holders = len(heirs) + more
	seats := batch.New(c.lease.work, c.lease.holders)
	for i, heir := range heirs {
		heir.lease, heir.seat = c.lease, seats[more+i]
		put(heir.turn)
	}
	return seats[0]
}

// takes makes an heir a holder, or one that has given up.
func (c *cohort) takes(heir *member) {
	heir.lease = nil
	c.heirs = slices.DeleteFunc(c.heirs, func(other *member) bool { return other == heir })
}

// lost ends the turn when the lease is lost. The others do not wait for its holder, which may still work for long.
func (all *cohorts) lost(key string, lease *passedLease) {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byKey[key]
	if c == nil || c.lease != lease {
		return // it was released
	}
	all.end(key)
}

// end ends the turn of a lost lease. Members to which it was passed queue before the others. The caller holds the
// mutex.
func (all *cohorts) end(key string) {
	c := all.byKey[key]
	for _, heir := range c.heirs {
		heir.lease = nil
		heir.seat.Leave()
		c.lease.holders--
	}
	c.waiting, c.heirs, c.lease = slices.Insert(c.waiting, 0, c.heirs...), nil, nil
	all.next(key, nil)
}

// leave gives up waiting. A lease that was passed to the member meanwhile goes to the next one.
func (m *member) leave(ctx context.Context) {
	all := m.of
	if all == nil {
		return
	}
	all.mu.Lock()
	c := all.byKey[m.key]
	if lease := m.lease; lease != nil {
		c.takes(m)
		m.seat.Leave()
		all.mu.Unlock()
		_ = all.unlock(ctx, m.key, lease)
		return
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(other *member) bool { return other == m })
	last := c.queued && len(c.waiting) == 0
	if last {
		c.queued = false
	}
	if !c.busy {
		all.next(m.key, nil)
	}
	all.mu.Unlock()
	if last {
		leaveQueue(ctx, all.Redis, m.key, all.id)
	}
}

// undo undoes an acquire that failed with err; see [runtime.undo]. An acquire from a place in the queue may be carried
// out late, and then take the place again. If an order of this process waits, it can use the place.
func (all *cohorts) undo(ctx context.Context, err error, key, place string, free func(context.Context) error) {
	all.runtime.undo(ctx, err, func(ctx context.Context) error {
		if place != "" && !all.waits(key) {
			leaveQueue(ctx, all.Redis, key, place)
		}
		return free(ctx)
	})
}

// waits reports whether an order of this process waits for the lock.
func (all *cohorts) waits(key string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byKey[key]
	return c != nil && len(c.waiting) > 0
}

// inCohorts returns the [Waiting] of v18 and v19. The first member of a cohort waits as in v8's queue, in the name of
// the whole instance. The others wait until they are the first, or the lease is passed to them.
func (rt runtime) inCohorts() Waiting {
	all := &subscriptions{runtime: rt, byChannel: map[string]*subscription{}}
	return func(ctx context.Context, key string, maxWait time.Duration, attempt Attempt) (*Lease, error) {
		if maxWait <= 0 {
			return attempt(ctx)
		}
		me := newMember()
		deadline := time.Now().Add(maxWait)
		lease, err := attempt(me.within(ctx, rt.id))
		if errors.Is(err, ErrBusy) {
			sub := all.join(fairChannelOf(key))
			defer all.leave(sub)
			lease, err = rt.awaitLease(ctx, waiter{key, attempt, deadline, sub}, me, err)
		}
		if err != nil {
			me.leave(ctx)
		}
		return lease, err
	}
}

func (m *member) within(ctx context.Context, place string) context.Context {
	return context.WithValue(context.WithValue(ctx, memberKey{}, m), placeKey{}, place)
}

// awaitLease repeats the attempt of a member until it gets an answer other than busy, or the deadline has passed. The
// first attempt was answered by busy.
func (rt runtime) awaitLease(ctx context.Context, w waiter, me *member, busy error) (*Lease, error) {
	messages := w.subscription.register(rt.id)
	for listens := false; ; {
		soon := earlier(time.Now().Add(heartbeat), w.deadline)
		var ended error
		switch {
		case errors.Is(busy, busyHere{}):
			ended = me.awaitTurn(ctx, w.deadline)
		case !listens: // a release may have come before the subscription
			listens = true
			ended = w.subscription.awaitConfirmed(ctx, soon)
		default:
			_, ended = rt.awaitMessage(ctx, w.subscription, messages, earlier(soon, expiry(busy, w.deadline)))
		}
		if ended != nil {
			return nil, ended
		}
		over := !time.Now().Before(w.deadline)
		lease, err := w.attempt(me.within(ctx, rt.id))
		if over || !errors.Is(err, ErrBusy) {
			return lease, err
		}
		busy = err
	}
}

// awaitTurn returns when the member may try again, at the latest at the deadline. If ctx ends first, it returns the
// cause.
func (m *member) awaitTurn(ctx context.Context, deadline time.Time) error {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-m.turn:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
