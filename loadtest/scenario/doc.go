// Package scenario holds the table of scenarios and rungs with the verdicts expected of each cell, and runs single
// cells of it. The table drives the runner, the matrix, the tests and the documentation; a new rung or scenario is
// added there.
//
// Reading order: table.go (scenarios × rungs → expected verdicts, with reasons), faults.go (the part of the table with
// faults), select.go (a selection), runner.go (one cell, from filling the shelf to the verdicts), faultcell.go (the
// steps of a cell with faults), faults_holder.go and its neighbours (the faults, one function per scenario), targets.go
// (what they act on), probe.go (does a fresh request get through?), resolve.go and count.go (after the load), assess.go
// (found against expected).
package scenario
