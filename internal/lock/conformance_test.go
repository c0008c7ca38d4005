package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// An answer of a rung to a question: it holds, it breaks, or the question does not arise.
type answer string

const (
	holds  answer = "holds"
	breaks answer = "breaks"
	none   answer = "does not arise"
)

// A question is asked of a rung with leases of a certain length.
type question struct {
	name string
	ask  func(t *testing.T, s attempt, r Rung) answer
}

// The questions, in the order of the columns of the table.
var questions = []question{
	{"excludes in one process", excludesInOne},
	{"excludes across two", excludesAcrossTwo},
	{"survives the holder's crash", survivesCrash},
	{"survives a crash after its first command", survivesCrashInGap},
	{"survives work longer than the TTL", survivesSlowWork},
	{"releases only its own", releasesOnlyItsOwn},
	{"has no gap before the delete", hasNoGap},
	{"nested: lets its own holder in again", letsHolderIn},
	{"nested: is out once it has released", isOutAfterRelease},
	{"is free after a cancel in mid-acquire", survivesCancel},
	{"unlock says that the lease was lost", unlockSaysLost},
	{"loss cancels the work", lossCancelsWork},
	{"ends for the holder no later than on the server", endsForHolderFirst},
}

// conformance lists for each rung the properties that it must hold, and those that it must visibly break.
var conformance = map[string][]answer{
	//               one     two     crash   in gap  slow    own     gap     again   out     cancel  says    cancels ends
	"v0":             {breaks, breaks, holds, holds, breaks, none, none, none, none, holds, none, none, none},
	"v0.5":           {holds, breaks, holds, holds, breaks, none, none, breaks, holds, holds, none, none, none},
	"v1":             {holds, holds, breaks, breaks, holds, breaks, breaks, breaks, holds, breaks, breaks, breaks, none},
	"v1.5":           {holds, holds, holds, breaks, breaks, breaks, breaks, breaks, holds, breaks, breaks, breaks, none},
	"v2":             {holds, holds, holds, holds, breaks, breaks, breaks, breaks, holds, breaks, breaks, breaks, none},
	"v3":             {holds, holds, holds, holds, breaks, holds, breaks, breaks, holds, breaks, holds, breaks, none},
	"v4":             {holds, holds, holds, holds, breaks, holds, holds, breaks, holds, breaks, holds, breaks, none},
	"v4.5":           {holds, holds, holds, holds, breaks, holds, holds, breaks, holds, breaks, holds, breaks, none},
	"v5":             {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, breaks, none},
	"v5-as-printed":  {holds, holds, holds, holds, holds, holds, holds, breaks, holds, breaks, holds, breaks, none},
	"v5.5":           {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v5.7":           {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v6":             {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v7":             {holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds},
	"v7-cached":      {holds, holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds},
	"v8":             {holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds},
	"v9":             {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v9-naive":       {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v9-nodes":       {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v10":            {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v11":            {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v11-two":        {breaks, breaks, holds, holds, breaks, holds, holds, breaks, breaks, holds, holds, holds, holds},
	"v12":            {holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds, holds},
	"v12-naive":      {holds, holds, breaks, breaks, holds, breaks, breaks, breaks, holds, breaks, breaks, breaks, none},
	"v12-session":    {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, none},
	"v13":            {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, none},
	"v14":            {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, none},
	"v14-hasty":      {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, none},
	"v15":            {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v15-write-only": {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	// These have no lock. Package stock tests their shelves.
	"v16": {breaks, breaks, holds, holds, breaks, none, none, none, none, holds, none, none, none},
	"v17": {breaks, breaks, holds, holds, breaks, none, none, none, none, holds, none, none, none},

	"v18": {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
	"v19": {holds, holds, holds, holds, holds, holds, holds, breaks, holds, holds, holds, holds, holds},
}

// On the embedded Redis, time is virtual for the rungs that need nothing else: each question has a shop of its own
// there, in a bubble of testing/synctest.
func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Each(t, func(t *testing.T, start func(testing.TB) *backendtest.Server) {
		s := newShop(t, start, 5)
		conforms(t, s.rungs(t), func(t *testing.T, r Rung, q question, expected answer) (got answer) {
			if s.redis.Kind != backendtest.Embedded || !onRedisAlone(r) {
				backendtest.Long(t)
				return s.askAgain(t, r, q, expected)
			}
			onEmbedded(t, r.Number, 5, func(t *testing.T, s *shop, r Rung) { got = q.ask(t, s.attempt(t, 1), r) })
			return got
		})
	})
}

// On the SQL servers of this machine, only the rungs that need one are asked.
func TestConformanceOnSQLServers(t *testing.T) {
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		s := newShop(t, backendtest.StartEmbedded, 1)
		s.sql = server.DSN
		needsSQL := func(r Rung) bool {
			return slices.Contains(r.Needs, NeedSQL) || slices.Contains(r.Needs, NeedSQLServer)
		}
		rungs := slices.DeleteFunc(s.rungs(t), func(r Rung) bool { return !needsSQL(r) })
		conforms(t, rungs, s.askAgain)
	})
}

// conforms asks the rungs all questions.
func conforms(t *testing.T, rungs []Rung, ask func(t *testing.T, r Rung, q question, expected answer) answer) {
	t.Helper()
	t.Run("rungs", func(t *testing.T) {
		for _, r := range rungs {
			expected, ok := conformance[r.Number]
			require.True(t, ok, "%s has no line in the table", r.Number)
			require.Len(t, expected, len(questions))
			for i, q := range questions {
				t.Run(r.Number+"/"+q.name, func(t *testing.T) {
					t.Parallel()
					assert.Equal(t, expected[i], ask(t, r, q, expected[i]))
				})
			}
		}
	})
}

// An attempt asks a question, with leases of that length and a key of its own.
type attempt struct {
	*shop
	key          string
	ttl, slowTTL time.Duration
}

func (s *shop) attempt(t *testing.T, longer time.Duration) attempt {
	t.Helper()
	return attempt{shop: s, key: fmt.Sprintf("%s-%d", key(t), longer), ttl: longer * ttl, slowTTL: longer * slowTTL}
}

func (s *shop) askAgain(t *testing.T, r Rung, q question, expected answer) answer {
	t.Helper()
	return askAgain(t, expected, func(longer time.Duration) answer { return q.ask(t, s.attempt(t, longer), r) })
}

// askedAgain counts the questions that were asked a second time. TestMain prints it.
var askedAgain atomic.Int64

// askAgain asks once, and again with longer leases if the answer is not the expected one. On a machine that stalls for
// longer than a lease any lock looks broken. A broken one is broken under any lease.
func askAgain[T comparable](t *testing.T, expected T, ask func(longer time.Duration) T) T {
	t.Helper()
	got := ask(1)
	if got != expected && !t.Failed() {
		t.Logf("%v: again, with longer leases", got)
		askedAgain.Add(1)
		got = ask(5)
	}
	return got
}

const (
	ttl = 300 * time.Millisecond
	// margin is the delay beyond a TTL that a busy machine may need to free a lock. A test waits for all of it only where
	// a rung breaks.
	margin = 3 * time.Second
	// slowTTL is long enough for a renewal to come in time on a busy machine.
	slowTTL = 2 * time.Second
)

// key names a lock that only this test uses.
func key(t *testing.T) string { return "lock:" + t.Name() }

func answerIf(ok bool) answer {
	if ok {
		return holds
	}
	return breaks
}

func excludesInOne(t *testing.T, s attempt, r Rung) answer {
	a := s.instance(t, r)
	defer a.lock(t, s.key, time.Minute).Unlock(context.Background())
	return answerIf(!a.tryOnce(t, s.key))
}

func excludesAcrossTwo(t *testing.T, s attempt, r Rung) answer {
	a, b := s.instance(t, r), s.instance(t, r)
	lease := a.lock(t, s.key, time.Minute)
	excluded := !b.tryOnce(t, s.key)
	if lease.Sold != nil {
		lease.Sold()
	}
	unlock(t, lease)
	require.True(t, b.freeWithin(t, s.key, margin), "it must be free again")
	return answerIf(excluded)
}

func survivesCrash(t *testing.T, s attempt, r Rung) answer {
	a, b := s.instance(t, r), s.instance(t, r)
	a.lock(t, s.key, s.ttl)
	a.crash()
	return answerIf(b.freeWithin(t, s.key, s.ttl+margin))
}

// survivesCrashInGap crashes the holder after the first command of its acquire, on each node.
func survivesCrashInGap(t *testing.T, s attempt, r Rung) answer {
	crashed := errors.New("crashed")
	left := commandsOfOneRound(s.shop, r)
	a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
		if left.Add(-1) < 0 {
			return crashed
		}
		return next(ctx)
	}))
	_, _ = a.tryLock(context.Background(), s.key, Options{TTL: s.ttl})
	a.crash()
	return answerIf(s.instance(t, r).freeWithin(t, s.key, s.ttl+margin))
}

// commandsOfOneRound returns how many commands a rung sends at once: one, or one to each node.
func commandsOfOneRound(s *shop, r Rung) *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(1)
	if slices.Contains(r.Needs, NeedRedlock) {
		n.Store(int64(len(s.redlock)))
	}
	return n
}

func survivesSlowWork(t *testing.T, s attempt, r Rung) answer {
	a, b := s.instance(t, r), s.instance(t, r)
	lease := a.lock(t, s.key, s.slowTTL)
	gotIn := b.freeWithin(t, s.key, 2*s.slowTTL)
	_ = lease.Unlock(context.Background())
	return answerIf(!gotIn)
}

// handOver ends the lease on key without its holder, and lets b take the lock: once, or every permit of a semaphore.
func handOver(t *testing.T, s *shop, key string, b *instance) {
	t.Helper()
	// A database needs a moment to end a session, and v5-as-printed may just have created its key again.
	takeOver := func(ctx context.Context) (*Lease, error) {
		s.remove(t, key)
		return b.tryLock(ctx, key, minute)
	}
	_, err := poll(context.Background(), 10*time.Second, constantDelay(time.Millisecond), takeOver)
	require.NoError(t, err)
	for {
		if _, err := b.try(context.Background(), key, minute); err != nil {
			assert.ErrorIs(t, err, ErrBusy)
			return
		}
	}
}

// releasesOnlyItsOwn: a's lease ended and b holds the lock; then a releases.
func releasesOnlyItsOwn(t *testing.T, s attempt, r Rung) answer {
	if len(r.Needs) == 0 {
		return none // there is no lease that could end
	}
	a, b := s.instance(t, r), s.instance(t, r)
	lease := a.lock(t, s.key, time.Minute)
	handOver(t, s.shop, s.key, b)
	_ = lease.Unlock(context.Background())
	return answerIf(!b.tryOnce(t, s.key))
}

// hasNoGap: a's lease ends, and b takes the lock, just before the n-th command of a's release is sent, for every n.
func hasNoGap(t *testing.T, s attempt, r Rung) answer {
	if len(r.Needs) == 0 {
		return none
	}
	for n := int64(1); ; n++ {
		key := fmt.Sprintf("%s-%d", s.key, n)
		b := s.instance(t, r)
		var releasing atomic.Bool
		var sent atomic.Int64
		a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
			if releasing.Load() && sent.Add(1) == n {
				handOver(t, s.shop, key, b)
			}
			return next(ctx)
		}))
		lease := a.lock(t, key, time.Minute)
		releasing.Store(true)
		_ = lease.Unlock(context.Background())
		if sent.Load() < n {
			return holds
		}
		if b.tryOnce(t, key) {
			return breaks
		}
	}
}

// letsHolderIn: the holder takes its lock again and releases it once. It gets in, and no other order does until it
// has released the lock as often as it acquired it.
func letsHolderIn(t *testing.T, s attempt, r Rung) answer {
	a, b := s.instance(t, r), s.instance(t, r)
	o := minuteFor("1")
	lease := a.lockAs(t, s.key, o)
	if lease.Token == "" {
		return none // there is no lock
	}
	defer lease.Unlock(context.Background())
	again, err := a.try(lease.Context, s.key, o)
	if err != nil {
		require.ErrorIs(t, err, ErrBusy)
		return breaks
	}
	unlock(t, again)
	return answerIf(!b.tryOnce(t, s.key))
}

// isOutAfterRelease: a caller has released the lock, another order holds it, and the caller tries again.
func isOutAfterRelease(t *testing.T, s attempt, r Rung) answer {
	a := s.instance(t, r)
	one, other := minuteFor("1"), minuteFor("2")
	lease := a.lockAs(t, s.key, one)
	if lease.Token == "" {
		return none
	}
	unlock(t, lease) // it may have failed: then the lock is swept
	lease = a.lockAs(t, s.key, other)
	defer lease.Unlock(context.Background())
	_, err := a.try(context.Background(), s.key, one)
	return answerIf(errors.Is(err, ErrBusy))
}

// survivesCancel: the acquire reaches Redis, its reply is lost, and the caller gives up. A clean-up under the ended
// context would leave the key for its whole TTL, and the caller would be blocked by itself.
func survivesCancel(t *testing.T, s attempt, r Rung) answer {
	ctx, cancel := context.WithCancel(context.Background())
	lost := commandsOfOneRound(s.shop, r)
	a := s.instance(t, r, hook(func(ctx context.Context, _ redis.Cmder, next send) error {
		if err := next(ctx); err != nil || lost.Add(-1) < 0 {
			return err
		}
		cancel()
		return os.ErrDeadlineExceeded
	}))
	lease, err := a.tryLock(ctx, s.key, minute)
	cancel()
	if err == nil {
		unlock(t, lease) // under a context of its own, not the cancelled one
	}
	return answerIf(s.instance(t, r).freeWithin(t, s.key, margin))
}

func unlockSaysLost(t *testing.T, s attempt, r Rung) answer {
	if len(r.Needs) == 0 {
		return none
	}
	a, b := s.instance(t, r), s.instance(t, r)
	lease := a.lock(t, s.key, time.Minute)
	handOver(t, s.shop, s.key, b)
	return answerIf(errors.Is(lease.Unlock(context.Background()), ErrLost))
}

func lossCancelsWork(t *testing.T, s attempt, r Rung) answer {
	if len(r.Needs) == 0 {
		return none
	}
	a, b := s.instance(t, r), s.instance(t, r)
	a.MaxRenewals = 1000 // a busy machine may take long to hand the lock over
	a.rebuild()
	lease := a.lock(t, s.key, s.ttl)
	defer lease.Unlock(context.Background())
	handOver(t, s.shop, s.key, b)
	select {
	case <-lease.Context.Done():
		return answerIf(errors.Is(context.Cause(lease.Context), ErrLost))
	case <-time.After(s.ttl + margin):
		return breaks
	}
}

// endsForHolderFirst: a holder never counts its lease as alive for longer than the server keeps it, neither after the
// acquire nor after a renewal.
func endsForHolderFirst(t *testing.T, s attempt, r Rung) answer {
	lease := s.instance(t, r).lock(t, s.key, s.slowTTL)
	defer lease.Unlock(context.Background())
	acquired, known := lease.ValidUntil()
	if !known || slices.Contains(r.Needs, NeedZooKeeper) { // ZooKeeper does not show when a session will expire
		return none
	}
	renewed := false
	for begun := time.Now(); time.Since(begun) < s.slowTTL*5/4; time.Sleep(s.slowTTL / 20) {
		// The server is asked second: a renewal in between only makes its lease longer.
		until, _ := lease.ValidUntil()
		if left := s.left(t, r, s.key); time.Now().Add(left).Before(until) {
			t.Logf("it has %s left, and the holder believes in %s", left, time.Until(until))
			return breaks
		}
		renewed = renewed || until.After(acquired)
	}
	return answerIf(renewed)
}

// left returns how long a lock still excludes others unless it is renewed: on several nodes, by their majority.
func (s *shop) left(t *testing.T, r Rung, key string) time.Duration {
	t.Helper()
	if slices.Contains(r.Needs, NeedSQL) {
		db := s.database(t)
		defer db.Close()
		var ms int64
		query := dialect(db.Kind, "SELECT expires - NOW FROM stockapi_locks WHERE name = ?1")
		require.NoError(t, db.QueryRow(query, key).Scan(&ms))
		return time.Duration(ms) * time.Millisecond
	}
	clients := s.bare()
	if nodes := clients[:len(s.redlock)]; slices.Contains(r.Needs, NeedRedlock) {
		clients = nodes
	} else {
		clients = clients[len(nodes):]
	}
	var left []time.Duration
	for _, client := range clients {
		left = append(left, leftOn(t, client, r, key))
	}
	slices.Sort(left)
	return left[(len(left)-1)/2]
}

// leftOn is left on one Redis. In a sorted set each lease has its own deadline, and the key lasts as long as the last.
func leftOn(t *testing.T, client redis.UniversalClient, r Rung, key string) time.Duration {
	t.Helper()
	ctx := context.Background()
	left, err := client.PTTL(ctx, key).Result()
	require.NoError(t, err)
	if r.Layout == "zset" {
		for _, one := range client.ZRangeWithScores(ctx, key, -1, -1).Val() {
			left = min(left, time.UnixMilli(int64(one.Score)).Sub(client.Time(ctx).Val()))
		}
	}
	return left
}
