// Command shop is a small shop on go-redis: PORT=8001 REDIS_URL=redis://127.0.0.1:6379 go run shop.go [-renew]
//
// POST /decrease sells one unit under a leased lock with a token. It answers 200 sold, 409 sold out, 423 busy or lost,
// or 500 after an error.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	stock, lock, lease = "ProductStock_10000", "{product:10000}:lock", 2 * time.Second
	ifMine             = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
)

var (
	release = redis.NewScript(ifMine + "return redis.call('DEL', KEYS[1])")
	extend  = redis.NewScript(ifMine + "return redis.call('PEXPIRE', KEYS[1], ARGV[2])")
	renews  = flag.Bool("renew", false, "renew the lease until the release, and write nothing once it has ended")
)

func order(ctx context.Context, client *redis.Client) (status int, err error) {
	token, end := rand.Text(), time.Now()
	for begun := end; ; time.Sleep(50 * time.Millisecond) {
		end = time.Now().Add(lease)
		if taken, err := client.SetNX(ctx, lock, token, lease).Result(); taken {
			break
		} else if err != nil || time.Since(begun) > 3*time.Second {
			return http.StatusLocked, err
		}
	}
	defer release.Run(ctx, client, []string{lock}, token) // if it fails, the lease ends
	ends, over := make(chan time.Time), make(chan struct{})
	go func() { // renews the lease, and hands out its end
		for {
			select {
			case <-time.After(600 * time.Millisecond):
				if !*renews {
					continue
				}
				asked := time.Now()
				switch kept, err := extend.Run(ctx, client, []string{lock}, token, lease.Milliseconds()).Bool(); {
				case kept:
					end = asked.Add(lease)
				case err == nil:
					end = time.Time{} // lost; after an error it asks again
				}
			case ends <- end:
			case <-over:
				return
			}
		}
	}()
	defer func() { over <- struct{}{} }() // when no renewal is under way
	left, err := client.Get(ctx, stock).Int()
	if err != nil || left < 1 {
		return http.StatusConflict, err
	}
	if *renews && time.Now().After(<-ends) {
		return http.StatusLocked, nil
	}
	return http.StatusOK, client.Set(ctx, stock, left-1, 0).Err()
}

func main() {
	flag.Parse()
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	options.MaxRetries = -1 // a command whose reply was lost is not sent again
	client := redis.NewClient(options)
	http.HandleFunc("POST /decrease", func(w http.ResponseWriter, _ *http.Request) {
		status, err := order(context.Background(), client)
		if err != nil {
			log.Print(err)
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
