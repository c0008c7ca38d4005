//go:build race

package main

// parallel is lower under the race detector: then loadtest computes for so long that leases would expire.
const parallel = 0.5
