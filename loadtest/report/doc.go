// Package report says what a run found, to people: a matrix, the story of each broken cell, and one line that
// says whether all was as expected. It decides nothing.
//
// Reading order: header.go, matrix.go (contention), grid.go (faults), words.go (stories and the last line), progress.go (while it runs).
package report
