//go:build unix && !race

package lock

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"stockapi/internal/backend/backendtest"
)

// A spent is the cost of one acquire and release.
type spent struct{ cpu, allocations float64 } // CPU time of this process in ns

// spend measures workers that each acquire and release a free lock of their own that often. It counts the time that
// this process spent on processors, with that of its garbage collector, and not the time that passed: a machine that is
// busy is busy with others.
func spend(b *testing.B, workers, each int, once func(ctx context.Context, key string) error) spent {
	b.Helper()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	began := cpuTime(b)
	var all sync.WaitGroup
	for n := range workers {
		all.Go(func() {
			key := fmt.Sprint("free", n)
			for range each {
				if err := once(context.Background(), key); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	took := cpuTime(b) - began
	goruntime.ReadMemStats(&after)
	ops := float64(workers * each)
	return spent{float64(took) / ops, float64(after.Mallocs-before.Mallocs) / ops}
}

// cpuTime returns the time that this process has spent on processors, in its own code and in the kernel's.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// raw returns what sends the two commands of a rung by go-redis alone, with a token, and does nothing else.
func raw(rdb redis.UniversalClient, fenced bool) func(ctx context.Context, key string) error {
	return func(ctx context.Context, key string) error {
		token := newToken()
		if fenced {
			if err := acquireFencedScript.Run(ctx, rdb, []string{key, fenceOf(key)}, token, 60_000).Err(); err != nil {
				return err
			}
		} else if err := rdb.SetNX(ctx, key, token, time.Minute).Err(); err != nil {
			return err
		}
		return releaseScript.Run(ctx, rdb, []string{key}, token).Err()
	}
}

// BenchmarkFreeBesideRaw compares the processor time of an uncontended acquire and release with that of the same two
// commands sent by go-redis alone, on a redis-server. The two take turns, and of-raw is the median of the rounds: 1
// means that the lock costs nothing beside its commands.
//
//	go test -run '^$' -bench FreeBesideRaw -benchtime 101x ./internal/lock
func BenchmarkFreeBesideRaw(b *testing.B) {
	backendtest.Require(b)
	for _, id := range []string{"v4", "v5", "v5.5", "v15"} {
		for _, workers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/workers=%d", id, workers), func(b *testing.B) { besideRaw(b, id, workers) })
		}
	}
}

func besideRaw(b *testing.B, id string, workers int) {
	theirs, ours := rawAndRung(b, id)
	each := 640 / workers
	spend(b, workers, each, theirs) // opens the connections, and loads the scripts
	spend(b, workers, each, ours)
	var ratios, cpu, allocations []float64
	for b.Loop() {
		raw, rung := spend(b, workers, each, theirs), spend(b, workers, each, ours)
		ratios = append(ratios, raw.cpu/rung.cpu)
		cpu = append(cpu, rung.cpu-raw.cpu)
		allocations = append(allocations, rung.allocations-raw.allocations)
	}
	b.ReportMetric(median(ratios), "of-raw")
	b.ReportMetric(median(cpu), "cpu-ns-more/op")
	b.ReportMetric(median(allocations), "allocs-more/op")
	b.ReportMetric(0, "ns/op")
}

// rawAndRung returns what acquires and releases the lock called key, by go-redis alone and by a rung.
func rawAndRung(t testing.TB, id string) (theirs, ours func(ctx context.Context, key string) error) {
	t.Helper()
	i := newShop(t, backendtest.StartRedis, 0).instance(t, rung(t, id))
	return raw(i.Redis, id == "v15"), func(ctx context.Context, key string) error {
		lease, err := i.tryLock(ctx, key, minute)
		if err != nil {
			return err
		}
		return lease.Unlock(ctx)
	}
}

// A lease allocates hardly more than its commands need. Those are measured beside it, because the allocations of
// go-redis change with its versions.
func TestAFreeLeaseAllocatesLittle(t *testing.T) {
	backendtest.Require(t)
	for id, most := range map[string]float64{"v4": 4, "v5": 9, "v5.5": 16, "v15": 15} {
		theirs, ours := rawAndRung(t, id)
		allocations := func(once func(ctx context.Context, key string) error) float64 {
			do := func() { require.NoError(t, once(context.Background(), "k")) }
			for range 100 { // until connections are open and buffers have grown
				do()
			}
			return testing.AllocsPerRun(500, do)
		}
		assert.LessOrEqual(t, allocations(ours)-allocations(theirs), most, "%s allocates so much more", id)
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
