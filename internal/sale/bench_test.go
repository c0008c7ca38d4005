package sale

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"stockapi/internal/backend/backendtest"
	"stockapi/internal/lock"
)

// eachRungOn runs a benchmark for each rung on each kind of server. Compare rungs within one kind only: the embedded
// Redis runs Lua about ten times slower than Redis does.
func eachRungOn(b *testing.B, bench func(b *testing.B, r lock.Rung, s *Shop, backends lock.Backends)) {
	starts := map[string]func(testing.TB) *backendtest.Server{backendtest.Embedded: backendtest.StartEmbedded}
	if _, err := exec.LookPath(backendtest.RedisServer); err == nil {
		starts[backendtest.RedisServer] = backendtest.StartRedis
	}
	for kind, start := range starts {
		for _, r := range lock.Ladder() {
			b.Run(kind+"/"+r.Number, func(b *testing.B) {
				s, backends := newShopFor(b, start(b), r)
				if err := s.shelf.Put(context.Background(), product, 1_000_000_000); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				bench(b, r, s, backends)
			})
		}
	}
}

// BenchmarkLock is an uncontended acquire and release.
func BenchmarkLock(b *testing.B) {
	eachRungOn(b, func(b *testing.B, r lock.Rung, _ *Shop, backends lock.Backends) {
		tryLock, _ := r.Build(backends)
		for b.Loop() {
			lease, err := tryLock(context.Background(), "k", lock.Options{TTL: time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			if lease.Sold != nil {
				lease.Sold()
			}
			if err := lease.Unlock(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecrease is a whole sale: lock, read, write, release.
func BenchmarkDecrease(b *testing.B) {
	eachRungOn(b, func(b *testing.B, r lock.Rung, s *Shop, _ lock.Backends) {
		for b.Loop() {
			if _, err := s.Decrease(context.Background(), r.Number, order()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
