// Package porcupine draws the first violation of a cell as Porcupine, a checker of linearizability, shows it: one page
// of HTML beside the report. It decides no verdict. Package audit has found the violation by then, exactly and among
// all orders. Porcupine gets only the few orders around it, because it tries them in every sequence, and because nobody
// can read a picture of hundreds.
//
// These few orders are a window of the history. If the whole history is legal, each window of it is legal too: what is
// left out cannot make it illegal. A window of the stock consists of sales of neighbouring units without a gap, and
// a window of the lock of whole leases.
//
// Reading order: window.go (cutting a window, and asking Porcupine), operation.go (the question), times.go (when an
// operation can have taken effect), stock.go and sales.go (the stock), lock.go (the lock), then lanes.go, notes.go and
// page.go (the page).
package porcupine
