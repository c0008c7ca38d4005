package main

import (
	"io"

	"stockapi/loadtest/cluster"
)

// guardianCmd is the command that a run starts for itself: see package cluster.
type guardianCmd struct{}

func (guardianCmd) run(stdin io.Reader) int {
	cluster.Guard(stdin)
	return asExpected
}
