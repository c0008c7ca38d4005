// Package terminal prints the results of a run: a matrix, the stories of what broke, and one line that says whether all
// is as expected. It decides nothing.
//
// Reading order: printer.go, header.go, results.go (in full or in short); in full matrix.go (contention), coverage.go,
// faults.go with grid.go and entry.go, stories.go, recovery.go; in short
// brief_crowds.go, grid_narrow.go, sentences.go; words.go (the last line); during the run progress.go, pace.go,
// live.go, screen.go, terminal.go (what the output can do); plain.go (words of others).
package terminal
