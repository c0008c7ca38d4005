// Package history records a run: every request of every cell, with the service's answer and the times. It holds facts
// only. Package audit decides whether they amount to a violation. It can do so at any time and without a server, so a
// history has to be complete enough for a sceptic.
//
// Reading order: instant.go (what a time is here), op.go (one request), command.go with effect.go (what a command did),
// cell.go (one rung under one scenario), client.go (how well the client did its part, and what an "ok" rests on),
// run.go (all cells, and how they were obtained), finding.go (verdicts), timeline.go with passed.go and explain.go (who
// held which lock, and how each tenure ended), file.go with write.go and read.go (the file), plain.go (words of others,
// to be printed).
package history
