package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// readyKey is the key that the question whether a Redis can serve an order writes, and removes in the same breath.
const readyKey = "stockapi:ready"

//go:embed ready.lua
var readySource string

var readyScript = redis.NewScript(readySource)

// ready returns nil when the stock's Redis and the locks' can do what an order needs: a ping answers also where a Redis
// is full, only a replica, or allows this user no scripts.
func (s *servers) ready(ctx context.Context) error {
	err := tryScript(ctx, s.stock)
	if err != nil {
		err = fmt.Errorf("the stock's Redis does not let a script write, read and remove the key %s: %w", readyKey, err)
	}
	if s.locks == s.stock {
		return err
	}
	if lockErr := tryScript(ctx, s.locks); lockErr != nil {
		err = errors.Join(err, fmt.Errorf("the locks' Redis does not let a script write, read and remove the key %s: %w", readyKey, lockErr))
	}
	return err
}

func tryScript(ctx context.Context, rdb redis.UniversalClient) error {
	return readyScript.Run(ctx, rdb, []string{readyKey}).Err()
}
