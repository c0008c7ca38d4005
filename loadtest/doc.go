// Loadtest sells the same product to more buyers than there is stock, through every rung of stockapi's ladder of locks,
// over one instance and over several. It injects faults into orders and the processes that serve them, and proves which
// rungs oversell. Stockapi is a black box to it: it starts processes and sends HTTP requests, and shares no code.
//
// This package has the command line (main.go, flags.go, help.go) and a file for each command: run.go, audit.go with
// answers.go, report.go, list.go, replay.go, try.go and stage.go. A run is in run_flags.go, preflight.go (can any cell
// be run?), session.go (the cells, in order) and environment.go (their servers and instances). exit.go has the exit
// codes, build.go the version.
//
// Read the packages in this order: history (what is recorded), audit (what that proves), catalog (the cells, and their
// expectations), scenario (what happens in a cell); then load, client and cluster (orders, HTTP, processes), and report
// with terminal and html. Package trial needs no scenario: it tests any shop. docs/design.md has the rules for imports.
package main
