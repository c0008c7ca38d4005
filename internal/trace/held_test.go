package trace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Clients may give two orders one name. Both are listed, and each can be released, the one held longest first. One that
// reaches the longest hold takes none of the others along.
func TestHeldOrdersOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := new(Injector)
		gone := make(chan int, 4)
		arrive := func(n int, name string) {
			faults, err := ParseFaults("hold@before:set")
			require.NoError(t, err)
			go func() {
				i.at(WithFaults(context.Background(), name, faults), false, "set", "k")
				gone <- n
			}()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		arrive(1, "twin")
		arrive(2, "other")
		arrive(3, "twin")
		arrive(4, "twin")

		held := i.Held()
		require.Len(t, held, 4)
		for n, name := range []string{"other", "twin", "twin", "twin"} {
			assert.Equal(t, name, held[n].Order)
		}
		assert.True(t, held[1].Since.Before(held[2].Since) && held[2].Since.Before(held[3].Since))

		next := func() int { // -1: none has gone on
			synctest.Wait()
			select {
			case n := <-gone:
				return n
			default:
				return -1
			}
		}
		release := func(name string) bool {
			defer synctest.Wait()
			return i.Release(name, 0)
		}
		assert.True(t, release("twin"))
		assert.Equal(t, 1, next(), "the one held longest")
		time.Sleep(maxHold - 2500*time.Millisecond) // the other order's time is up, and not its twin's
		synctest.Wait()
		assert.Equal(t, 2, next())
		assert.Equal(t, -1, next())
		require.Len(t, i.Held(), 2)
		assert.True(t, release("twin"))
		assert.Equal(t, 3, next())
		time.Sleep(maxHold)
		synctest.Wait()
		assert.Equal(t, 4, next())
		assert.Empty(t, i.Held())
		assert.False(t, release("twin"))
	})
}

// The context of an order, such as its lease, ends its work. It does not end a hold.
func TestWorkEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, gone := new(Injector), map[string]bool{}
		ctx, lose := context.WithCancel(t.Context())
		for _, action := range []string{"hold", "work"} {
			faults, err := ParseFaults(action + "@after:read")
			require.NoError(t, err)
			go func() {
				i.at(WithFaults(ctx, action, faults), true, "get", "ProductStock_1")
				gone[action] = true
			}()
			synctest.Wait()
		}
		require.Len(t, i.Held(), 2)
		lose()
		synctest.Wait()
		assert.Equal(t, map[string]bool{"work": true}, gone)
		require.Len(t, i.Held(), 1)
		assert.True(t, i.Release("hold", 0))
		assert.False(t, i.Release("work", 0))
	})
}

// An order that is released after a time is no longer listed, and goes on then, even if its lease is lost meanwhile.
func TestReleaseAfterATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, gone := new(Injector), make(chan struct{})
		ctx, lose := context.WithCancel(t.Context())
		faults, err := ParseFaults("work@after:get")
		require.NoError(t, err)
		go func() {
			i.at(WithFaults(ctx, "mine", faults), true, "get", "k")
			close(gone)
		}()
		synctest.Wait()
		assert.True(t, i.Release("mine", time.Minute))
		assert.Empty(t, i.Held())
		assert.False(t, i.Release("mine", 0))
		lose()
		begun := time.Now()
		<-gone
		assert.Equal(t, time.Minute, time.Since(begun))
	})
}
