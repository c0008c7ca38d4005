// Package report says what a run found, to people: a matrix, the story of each broken cell, and one line that
// says whether all was as expected. It decides nothing.
//
// Reading order: header.go, matrix.go (contention), parties.go (of several load generators), faults.go with grid.go and
// entry.go, stories.go, recovery.go, words.go (the last line); while it runs progress.go, live.go, screen.go.
package report
