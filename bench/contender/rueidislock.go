package contender

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"stockapi/internal/stock"
)

var rueidislockContender = Contender{Name: "rueidislock", Kind: Peer, open: openRueidislock,
	About: "rueidislock on one key (KeyMajority 1, NoLoopTracking): WithContext; Redis' client tracking wakes waiters"}

// answerWithin is the longest that Redis may take to answer a try. The default is 20 ms, after which rueidislock tries
// the next of its keys; here there is only one. On a busy machine 20 ms pass. Then the process removes its own key, and
// with NoLoopTracking it gets no message about that: all its workers wait for ever.
const answerWithin = 5 * time.Second

// openRueidislock opens a locker as its documentation advises for one Redis of version 7.0.5 or later. The stock has a
// client of its own: the locker's asks Redis to track every key that it reads.
func openRueidislock(s Settings) (*Client, error) {
	option, err := rueidis.ParseURL(s.URL)
	if err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil, err
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		KeyPrefix: s.Prefix + "rueidislock", KeyMajority: 1, NoLoopTracking: true, ClientOption: option,
		TryNextAfter: answerWithin,
	})
	if err != nil {
		client.Close()
		return nil, err
	}
	acquire := func(ctx context.Context, key string) (Held, error) {
		held, release, err := locker.WithContext(ctx, key)
		if err != nil {
			return Held{}, err
		}
		return Held{Context: held, Release: func(context.Context) error { release(); return nil }}, nil
	}
	return &Client{Lock: acquire, Sell: sellOnRueidis(client, stock.Key(s.Product())), Close: func() {
		locker.Close()
		client.Close()
	}}, nil
}

func sellOnRueidis(client rueidis.Client, key string) func(context.Context, Held) (int64, error) {
	return func(ctx context.Context, _ Held) (int64, error) {
		unit, err := client.Do(ctx, client.B().Get().Key(key).Build()).AsInt64()
		if err != nil {
			return 0, err
		}
		if unit < 1 {
			return 0, errSoldOut
		}
		left := strconv.FormatInt(unit-1, 10)
		return unit, client.Do(ctx, client.B().Set().Key(key).Value(left).Keepttl().Build()).Error()
	}
}
