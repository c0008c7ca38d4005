package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// The stock outlives the longest cell.
func TestStockTTL(t *testing.T) {
	for want, load := range map[time.Duration]history.Load{
		time.Hour + 3*31*time.Second: {Requests: 300, Concurrency: 100, Wait: 20 * time.Second, Work: time.Second},
		time.Hour + 111*time.Second:  {Requests: 101, Concurrency: 101, Rate: 1},
		mostStockTTL:                 {Requests: 10_000_000, Concurrency: 1, Wait: time.Hour},
	} {
		assert.Equal(t, want, stockTTL(load))
	}
}
