// Package terminal prints the results of a run: a matrix, the story of each broken cell, and one line that says whether
// all is as expected. It decides nothing.
//
// Reading order: header.go, matrix.go (contention), parties.go (of several load generators), faults.go with grid.go and
// entry.go, stories.go, recovery.go, words.go (the last line); during the run progress.go, live.go, screen.go,
// terminal.go (what the output can do).
package terminal
