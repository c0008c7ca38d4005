package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// readyKey is the key that the readiness check writes and removes again.
const readyKey = "stockapi:ready"

//go:embed ready.lua
var readySource string

var readyScript = redis.NewScript(readySource)

// ready returns nil if the stock's Redis and the locks' Redis can serve an order. A ping is not enough: a Redis that is
// full, a replica, or refuses scripts to this user answers it, too.
func (s *servers) ready(ctx context.Context) error {
	err := tryScript(ctx, s.stock)
	if err != nil {
		err = fmt.Errorf("the stock's Redis does not let a script write, read and remove the key %s: %w", readyKey, err)
	}
	if s.locks == s.stock {
		return err
	}
	if lockErr := tryScript(ctx, s.locks); lockErr != nil {
		lockErr = fmt.Errorf("the locks' Redis does not let a script write, read and remove the key %s: %w",
			readyKey, lockErr)
		err = errors.Join(err, lockErr)
	}
	return err
}

func tryScript(ctx context.Context, rdb redis.UniversalClient) error {
	return readyScript.Run(ctx, rdb, []string{readyKey}).Err()
}
