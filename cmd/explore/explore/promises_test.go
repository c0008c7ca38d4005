package explore

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// Without a fault, each situation breaks what the table predicts.
func TestEverySituationWithoutAFault(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, s := range Situations {
		for _, rung := range s.Rungs {
			cell := mustExplore(t, rung, DefaultBounds().In(s))
			assert.True(t, cell.Exhausted, "%s %s", rung, s.Name)
			_, _, expected := catalog.ExpectSchedules(rung, s.Name, "none")
			assert.True(t, expected, "%s %s", rung, s.Name)
			assert.Empty(t, cell.Surprise(), "%s %s: %v", rung, s.Name, cell.Found)
		}
	}
}

// The shortest counterexamples of situations, and of a command that arrives late.
func TestTheShortestCounterexamplesOfSituations(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	for _, c := range []struct {
		rung, situation, fault string
		verdict                history.Verdict
		trace                  string
	}{
		{"v7-cached", again, "", history.Exclusion, "v7-cached/again:aaaaabba"},
		{"v9-naive", twoProducts, "", history.Liveness, "v9-naive/two-products:abba"},
		{"v1", "", "late", history.Liveness, "v1:late-a.time.arrive-a.b"},
		{"v2", "", "late", history.OwnRelease, "v2:aaa.late-a.time.time.b.arrive-a"},
		{"v4", "", "late", history.Exclusion, "v4:aa.late-a.time.abb.arrive-a"},
	} {
		b := DefaultBounds()
		b.Situation = c.situation
		for _, kind := range FaultKinds {
			if kind.Name == c.fault {
				b = b.With(1, kind)
			}
		}
		cell := mustExplore(t, c.rung, b)
		at := slices.IndexFunc(cell.Found, func(one Counterexample) bool { return one.Verdict == c.verdict })
		require.GreaterOrEqual(t, at, 0, "%s %s %s", c.rung, c.fault, c.verdict)
		found := cell.Found[at]
		assert.Equal(t, c.trace, found.Trace.String())
		assert.Positive(t, found.FoundAfter)
		story, err := Replay(t, found.Trace, DefaultBounds())
		require.NoError(t, err)
		assert.Contains(t, story.Broken, found.Violation, c.trace)
	}
}

// A transaction that arrives late is compared with the stock on its own connection, which watches the stock.
func TestALateTransactionIsCompared(t *testing.T) {
	trace, err := schedule.ParseTrace("v16:aaa.late-a.bbbb.arrive-a")
	require.NoError(t, err)
	story, err := Replay(t, trace, DefaultBounds())
	require.NoError(t, err)
	assert.Empty(t, story.Broken)
	assert.Equal(t, "sold unit 1", story.Told[1])
}

// The judge objects to what a faulty rung would do. The rungs are correct, so commands are forged: each changes a
// server directly, and is attributed to a client.
func TestTheJudgeObjects(t *testing.T) {
	ttl := time.Minute
	for name, c := range map[string]struct {
		rung    string
		forge   func(f forger)
		verdict history.Verdict
	}{
		"another's lock is removed": {"v5.5", func(f forger) {
			f.store.hold(f.key, "", "token", ttl)
			f.did(0, "set")
			f.store.redis.Del(f.key)
			f.did(1, "eval:release")
		}, history.OwnRelease},
		"another's lock is prolonged": {"v5.5", func(f forger) {
			f.store.hold(f.key, "", "token", ttl)
			f.did(0, "set")
			f.did(1, "eval:renew")
		}, history.OwnRelease},
		"a renewal makes the lock": {"v5.5", func(f forger) {
			f.store.hold(f.key, "", "token", ttl)
			f.did(0, "eval:renew")
		}, history.LostLease},
		"the queue is passed": {"v8", func(f forger) {
			_, _ = f.store.redis.Push("{"+f.key+"}:queue", "place")
			_, _ = f.store.redis.ZAdd("{"+f.key+"}:deadlines", float64(time.Now().Add(ttl).UnixMilli()), "place")
			f.did(0, "eval:acquire-fair")
			f.store.hold(f.key, "hash", "token", ttl)
			f.did(1, "eval:acquire-fair")
		}, history.InOrder},
		"two have a lock at once": {"v11", func(f forger) {
			f.store.hold(f.key, "zset", "one", ttl)
			f.did(0, "eval:acquire-permit")
			f.reads(0)
			f.store.hold(f.key, "zset", "two", ttl)
			f.did(1, "eval:acquire-permit")
			f.reads(1)
			f.reads(0)
		}, history.Exclusion},
		"two have one fencing token": {"v15", func(f forger) {
			f.fencedRead(0, "7")
			f.fencedRead(1, "7")
		}, history.Fence},
		"an older fencing token is accepted": {"v15", func(f forger) {
			f.fencedRead(0, "7")
			f.fencedRead(1, "6")
		}, history.Fence},
	} {
		rung, err := lock.Find(c.rung)
		require.NoError(t, err)
		servers, err := newServers(rung)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(rung, DefaultBounds(), servers)
			defer w.end()
			c.forge(forger{w, w.nodes[0], w.keys[0]})
			assert.Len(t, w.judge.violated, 1, name)
			assert.Contains(t, w.judge.violated, c.verdict, name)
		})
	}
}

// A forger forges commands of clients.
type forger struct {
	*world
	store *store
	key   string
}

// did attributes the changes since the last step to a command of a client.
func (f forger) did(who int, name string) { f.sent(who, name, command{server: f.store, write: true}) }

// reads makes a client read the stock.
func (f forger) reads(who int) { f.sent(who, "get", command{server: f.stock}) }

// fencedRead makes a client read the stock with a fencing token.
func (f forger) fencedRead(who int, token string) {
	f.sent(who, "eval:read", command{server: f.stock, write: true, args: []any{"evalsha", "digest", 0, token}})
}

func (f forger) sent(who int, name string, cmd command) {
	f.steps++
	cmd.Name, cmd.client = name, f.clients[who]
	f.judge.check(&cmd, false)
}

// A late script is late even if its server does not know it yet. A replay begins with such servers.
func TestALateScriptIsLateOnAFreshServer(t *testing.T) {
	trace, err := schedule.ParseTrace("v15:aa.late-a")
	require.NoError(t, err)
	story, err := Replay(t, trace, DefaultBounds())
	require.NoError(t, err)
	assert.Contains(t, story.Lines[2].Holds, "stock: 1", "not arrived")
}
