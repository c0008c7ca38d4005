// Package scenario runs single cells of the catalogue: one rung under one scenario, from a full shelf to the verdicts.
//
// Reading order: runner.go (one cell), injections.go (which function injects the fault of which scenario), acts*.go
// (what happens in each fault scenario, step by step), play.go (the steps), world.go (what faults act on), probe.go
// (does a fresh request get through?), resolve.go (what became of orders without an answer), count.go (what is left in
// stock).
package scenario
