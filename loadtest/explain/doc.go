// Package explain has Porcupine, a checker of linearizability that others wrote, look at the first violation of a cell,
// and shows what it sees. It decides nothing: package audit has found the violation by then, exactly and among all
// orders. Porcupine is asked about the few orders around it, since it has to try them in every sequence, and nobody
// can read a picture of hundreds.
//
// A window is cut so that it cannot be found illegal for what was left out: were the whole history legal, so would be
// the window. The stock's is made of sales of neighbouring units, without a gap; the lock's of whole leases.
//
// Reading order: window.go (asking), act.go (what is asked), times.go (when an act can have taken effect), shelf.go
// and sales.go (the stock), mutex.go (the lock), then lanes.go, notes.go and page.go (the picture).
package explain
