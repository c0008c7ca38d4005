// Package terminal prints the results of a run: stories of the violations, a matrix, and one line that sums up whether
// all cells are as expected. It does not judge them.
//
// Reading order: printer.go, header.go, results.go (the parts of the output and their order), stories.go, crowds.go and
// coverage.go (figures), matrix.go with entry.go, lesson.go, words.go (the last line); progress.go (during the run);
// terminal.go (capabilities of the output); list.go (expectations); trial.go (the trial of a stranger's shop).
// Untrusted texts have been made plain by then: see [history.MakePlain].
package terminal
