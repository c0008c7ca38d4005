// Package terminal prints the results of a run: stories of the violations, a matrix, and one line that says whether all
// cells are as expected. It decides nothing.
//
// Reading order: printer.go, header.go, results.go (the parts of the output and their order), stories.go, crowds.go and
// coverage.go (figures), matrix.go with entry.go, lesson.go, words.go (the last line); progress.go (during the run);
// terminal.go (what the output can do); list.go (expectations); trial.go (the trial of a stranger's shop). Untrusted
// texts are made plain before they get here: see [history.MakePlain].
package terminal
