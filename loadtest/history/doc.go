// Package history records a run: every request of every cell, with the service's answer and the times. It holds only
// facts. Package audit decides, at any time and without a server, whether they amount to a violation, so a history has
// to be complete enough for a sceptic.
//
// Reading order: instant.go (times), op.go (one request), command.go with effect.go (the effect of a command, and how
// it is known), cell.go (one rung under one scenario with its faults, or a shop on trial with its defect), client.go
// (the quality of the load, and the evidence for an "ok"), run.go (all cells, and how they were obtained), finding.go
// (verdicts), turned_away.go (refusals for other reasons than the lock), timeline.go with passed.go, explain.go and
// holder.go (which order held which lock, and how each tenure ended), file.go with write.go and read.go (the file),
// json.go (errors in terms of JSON), bound.go (the part of an answer that is kept), plain.go (foreign texts made safe
// to print).
package history
