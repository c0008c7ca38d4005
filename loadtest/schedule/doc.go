// Package schedule defines the notation for schedules: the steps that the explorer takes and that a replay repeats on
// real processes, and the trace, a schedule on one line.
//
//   - step.go: one step, and its kinds.
//   - trace.go: a trace as text, written and parsed.
//   - line.go: a fault for any shop, in terms of the phases of a sale.
//   - text.go: what a step does, in words.
//   - gate.go: holds each command until its step is taken. resp.go: parses a command.
//
// Package search, below it, tries all schedules of a world.
package schedule
