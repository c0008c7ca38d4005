// Package history records a run: every request of every cell, with the service's answer and the times. It holds facts
// only. Package audit decides whether they amount to a violation. It can do so at any time and without a server, so a
// history has to be complete enough for a sceptic.
//
// Reading order: instant.go (what a time is here), op.go (one request), command.go with effect.go (what a command did,
// and how that is known), cell.go (one rung under one scenario, with its faults, or a shop on trial and its defect),
// client.go (how well the client did its part, and the evidence for an "ok"), run.go (all cells, and how they were
// obtained), finding.go (verdicts), turned_away.go (refusals that are not the lock's), timeline.go with passed.go and
// explain.go (which order held which lock, and how each tenure ended), file.go with write.go and read.go (the file),
// json.go (errors in the words of JSON), bound.go (what is kept of an answer), plain.go (words of others, to be
// printed).
package history
