// Loadtest sells the same product to more buyers than there is stock, through every rung of stockapi's ladder of
// locks, over one instance and over several, brings faults upon single orders and the processes that serve them, and
// proves which rungs oversell. It drives stockapi as a black box,
// over HTTP and as processes; it imports nothing of it.
//
// Reading order: package history (what is written down), audit (what it proves), scenario (what is done and what
// must come of it), then attack, shop and fleet (how it is done), report (how it is told) and report/porcupine
// (how Porcupine sees it); join and latch, where several load generators make one run. This package ties them together:
// run.go, flags.go, session.go (one run), ground.go (where its instances come from), together.go (one run of several),
// output.go, porcupine.go, audit.go, makereport.go and list.go (the other commands).
package main
