// Package scenario holds the scenarios, one file each, and runs single cells: one rung under one scenario, from filling
// the stock to the verdicts.
//
// A scenario's file declares its facts, the expectation of every rung, and the function that injects its fault. Reading
// order: pause.go (a scenario), table.go (the list of all), play.go (the steps of injections), servers.go (steps on
// servers and links), runner.go (a cell, and the load of a crowd), targets.go (the targets of faults), probe.go (fresh
// requests), resolve.go (the outcome of unanswered orders), count.go (the stock at the end), words.go (the vocabulary
// of the tables).
package scenario
