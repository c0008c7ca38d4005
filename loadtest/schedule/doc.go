// Package schedule defines the notation for schedules: the steps that the explorer takes and that a replay takes again
// on real processes, and the trace, which is a schedule in one line.
//
//   - step.go: one step, and its kinds.
//   - trace.go: a trace as text, written and read.
//   - line.go: a fault of anybody's shop, which has no rung and the moments of a sale.
//   - text.go: what a step does, in words.
//   - gate.go: what holds each command until its step is taken. resp.go: a command as it is sent.
package schedule
