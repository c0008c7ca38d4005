package contender

import (
	"context"
	"sync"
)

// The limits sell with the same two commands, and ask no server for a lock. No lock whose holder reads and then writes
// sells faster than the better of them: that one has no waiting at all, or no gap between two holders.
var (
	mutexContender = Contender{Name: "mutex", Kind: Limit, Shape: OneProcess, open: openMutex,
		About: "the same workers in one process, around a sync.Mutex; no lock server"}
	aloneContender = Contender{Name: "alone", Kind: Limit, Shape: OneWorker, open: openAlone,
		About: "one worker, no lock"}
)

func openMutex(s Settings) (*Client, error) {
	var mu sync.Mutex
	return openLocal(s, mu.Lock, mu.Unlock)
}

func openAlone(s Settings) (*Client, error) { return openLocal(s, func() {}, func() {}) }

func openLocal(s Settings, enter, leave func()) (*Client, error) {
	rdb, err := openGoRedis(s.URL)
	if err != nil {
		return nil, err
	}
	acquire := func(ctx context.Context, _ string) (Held, error) {
		enter()
		return Held{Context: ctx, Release: func(context.Context) error { leave(); return nil }}, nil
	}
	return &Client{Lock: acquire, Sell: sellOn(rdb, s.Keys), Close: func() { _ = rdb.Close() }}, nil
}
