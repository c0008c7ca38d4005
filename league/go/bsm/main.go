// Bsm sells under a lock of bsm/redislock, whose waiters ask every 100 ms for as long as a lease, as in its README.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

var (
	client *redis.Client
	locks  *redislock.Client
)

func sell(ctx context.Context) (status int, err error) {
	again := redislock.LinearBackoff(100 * time.Millisecond)
	lock, err := locks.Obtain(ctx, "lock:product_10000", 2*time.Second, &redislock.Options{RetryStrategy: again})
	if errors.Is(err, redislock.ErrNotObtained) {
		return http.StatusLocked, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Release(context.Background())) }()
	left, err := client.Get(ctx, "ProductStock_10000").Int()
	if err != nil {
		return 0, err
	}
	if left < 1 {
		return http.StatusConflict, nil
	}
	return http.StatusOK, client.Set(ctx, "ProductStock_10000", left-1, 0).Err()
}

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	client = redis.NewClient(options)
	locks = redislock.New(client)
	http.HandleFunc("POST /decrease", func(w http.ResponseWriter, r *http.Request) {
		status, err := sell(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(status)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
