// Rueidislock sells under a Locker of rueidislock: on three keys, its default, or (one-key) on one with NoLoopTracking.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func sell(ctx context.Context, client rueidis.Client, locker rueidislock.Locker) (int, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(5*time.Second, cancel) // a deadline would bound the lease too
	held, release, err := locker.WithContext(waiting, "product_10000")
	patience.Stop()
	if err != nil {
		return http.StatusLocked, nil
	}
	defer release()
	left, err := client.Do(held, client.B().Get().Key("ProductStock_10000").Build()).AsInt64()
	if err != nil || left < 1 {
		return http.StatusConflict, err
	}
	rest := strconv.FormatInt(left-1, 10)
	return http.StatusOK, client.Do(held, client.B().Set().Key("ProductStock_10000").Value(rest).Build()).Error()
}

func main() {
	option := rueidis.MustParseURL(os.Getenv("REDIS_URL"))
	client, err := rueidis.NewClient(option)
	if err != nil {
		log.Fatal(err)
	}
	locks := rueidislock.LockerOption{ClientOption: option, KeyValidity: 2 * time.Second}
	if len(os.Args) > 1 && os.Args[1] == "one-key" {
		locks.KeyMajority, locks.NoLoopTracking = 1, true
	}
	locker, err := rueidislock.NewLocker(locks)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /decrease", func(w http.ResponseWriter, r *http.Request) {
		status, err := sell(r.Context(), client, locker)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(status)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
