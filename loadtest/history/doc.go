// Package history is what a run writes down: every request of every cell, with what the service answered and
// when. It holds facts only. Whether the facts amount to a violation is for package audit to say, as often as
// anyone likes and without a server, which is why a history must be complete enough to be judged by a sceptic.
//
// Reading order: instant.go (what a time is here), op.go (one request), cell.go (one rung under one scenario),
// run.go (all cells and how they were obtained), finding.go (what a judge says of a cell), file.go (the file).
package history
