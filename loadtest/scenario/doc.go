// Package scenario holds the one table of what is done to which rung and what must come of it, and runs single
// cells of it. The table drives the runner, the matrix, the tests and the documentation; whoever adds a rung or
// a fault adds it there.
//
// Reading order: table.go (scenarios × rungs → expected verdicts, with reasons), faults.go (the part
// of it in which something goes wrong), select.go (a selection), runner.go (one cell, from full shelf to verdicts),
// acts.go (what happens in each fault scenario, step by step), play.go (the steps), probe.go (does a fresh request get
// through?), assess.go (found against expected).
package scenario
