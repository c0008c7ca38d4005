// Package terminal prints the results of a run: stories of what broke, a matrix, and one line that says whether all is
// as expected. It decides nothing.
//
// Reading order: printer.go, header.go, results.go (what is printed, and in which order), stories.go, crowds.go and
// coverage.go (figures), matrix.go with entry.go, lesson.go, words.go (the last line); during the run
// progress.go; terminal.go (what the output can do); list.go (what is expected); trial.go (what is said of somebody's
// own shop). Texts of others are plain before they come here: see [history.MakePlain].
package terminal
