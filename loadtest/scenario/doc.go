// Package scenario holds the scenarios, one file each, and runs single cells: one rung under one scenario, from a full
// shelf to the verdicts.
//
// A scenario's file declares what happens in it, what is expected of every rung, and the function that injects its
// fault. Reading order: pause.go (a scenario), table.go (the list of all), play.go (the steps of which injections are
// made), servers.go (steps on servers and links), runner.go (a cell, and the load of a crowd), targets.go (what faults
// act on), probe.go (does a fresh request get through?), resolve.go (the outcome of orders without an answer), count.go
// (what is left in stock), words.go (the words of the tables).
package scenario
