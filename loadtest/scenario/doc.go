// Package scenario runs single cells of the catalogue: one rung under one scenario, from a full shelf to the verdicts.
//
// Reading order: runner.go (one cell), injections.go (which function injects the faults of which scenario),
// play.go (the steps of a cell with faults), faults_holder.go and its neighbours (the faults, one function per
// scenario), targets.go (what they act on), probe.go (does a fresh request get through?), resolve.go (the outcome of
// orders without an answer), count.go (what is left in stock).
package scenario
