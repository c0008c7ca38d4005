// Redsync sells under redsync's Mutex on one Redis.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var (
	client  *redis.Client
	mutexes *redsync.Redsync
)

func sell(ctx context.Context) (status int, err error) {
	mutex := mutexes.NewMutex("lock:product_10000", redsync.WithExpiry(2*time.Second))
	if err := mutex.LockContext(ctx); err != nil {
		return http.StatusLocked, nil
	}
	defer func() {
		_, failure := mutex.Unlock()
		err = errors.Join(err, failure)
	}()
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
	mutexes = redsync.New(goredis.NewPool(client))
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
