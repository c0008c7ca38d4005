package lock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// more exceeds the number of connections of a test's client (32).
const more = 40

// Neither a holder at work nor a waiter keeps a connection of the pool: with more of them than there are connections, a
// command still gets one.
func TestPoolServesManyHoldersAndWaiters(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	s := newShop(t, backendtest.StartEmbedded, 1)
	for _, r := range s.rungs(t) {
		if !slices.Contains(r.Needs, NeedRedis) && !slices.Contains(r.Needs, NeedRedlock) {
			continue
		}
		t.Run(r.Number, func(t *testing.T) {
			holders, waiters := s.instance(t, r), s.instance(t, r)
			ctx, leave := context.WithCancel(context.Background())
			var waiting sync.WaitGroup
			for i := range more {
				key := fmt.Sprint(r.Number, i)
				lease := holders.lock(t, key, time.Minute)
				defer func() {
					if lease.Sold != nil {
						lease.Sold()
					}
					unlock(t, lease)
				}()
				waiting.Go(func() {
					err := ErrBusy
					for err != nil && ctx.Err() == nil { // on a busy machine a command may get no answer, which ends a wait
						_, err = waiters.acquire(ctx, key, time.Minute, minute)
					}
				})
			}
			require.NoError(t, holders.Redis.Ping(ctx).Err())
			if r.wait != nil && slices.Contains(r.Needs, NeedRedis) {
				assert.Eventually(t, func() bool { // all waiters that are notified have subscribed
					return waiters.Redis.PoolStats().PubSubStats.Active >= more || r.Number == "v10"
				}, time.Minute, time.Millisecond)
			}
			require.NoError(t, waiters.Redis.Ping(ctx).Err())
			leave()
			waiting.Wait()
		})
	}
}
