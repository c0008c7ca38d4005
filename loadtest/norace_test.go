//go:build !race

package main

// parallel is the number of parallel tests for each processor.
const parallel = 2.0
