// Package scenario holds the one table of what is done to which rung and what must come of it, and runs single
// cells of it. The table drives the runner, the matrix, the tests and the documentation; whoever adds a rung or
// a fault adds it there.
//
// Reading order: table.go (scenarios × rungs → expected verdicts, with reasons), select.go (a part of it),
// runner.go (one cell, from full shelf to verdicts), probe.go (does a fresh request get through?), assess.go
// (found against expected).
package scenario
