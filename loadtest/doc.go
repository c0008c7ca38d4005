// Loadtest sells the same product to more buyers than there is stock, through every rung of stockapi's ladder of locks,
// over one instance and over several. It injects faults into single orders and the processes that serve them, and
// proves which rungs oversell. It drives stockapi as a black box, over HTTP and as processes; it imports nothing of it.
//
// Here are the command line (main.go, flags.go) and one file for each command: run.go, audit.go with answers.go,
// report.go, list.go, replay.go and try.go. A run is in run_flags.go, preflight.go (what cannot be run at all),
// session.go (the cells, in order) and environment.go (the servers and instances that they run on). exit.go has the
// exit codes, build.go the program's version.
//
// The rest is in packages. Reading order: history (what is written down), audit (what it proves), catalog (which cells
// there are, and what is expected of them), scenario (what happens in a cell); then load, client and cluster (orders,
// HTTP, processes), and report with terminal and html; and trial, which needs no scenario: it puts anybody's shop on
// trial. docs/design.md says who may import whom.
package main
