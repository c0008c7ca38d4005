// Stockapi serves a shop that sells one product behind a ladder of locks, one rung per endpoint. Run two of it.
//
// Read config.go for the settings, serve.go for the start of an instance, and drain.go for its shutdown.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(exitCode(os.Stderr, run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}
