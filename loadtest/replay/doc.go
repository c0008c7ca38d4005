// Package replay plays a trace that the explorer has found on real processes: each client is an instance of stockapi of
// its own, the servers are Redis servers, and the commands are carried out in the order of the trace. What came out is
// judged as any cell.
//
// Each instance reaches each server over a wire: see loadtest/rig. A command that comes to a wire waits there until the
// trace lets it through. Time is real, so a lease of the replay lasts for seconds.
//
// # Reading order
//
//   - times.go: how long things last. Steps and traces are those of loadtest/schedule.
//   - gate.go: the gate of the wires, and what clients do there by themselves.
//   - holds.go: what the servers hold.
//   - player.go, clock.go: the steps of one trace. Those of commands and servers are the rig's.
//   - environment.go, replay.go: the servers and instances of one replay, from their start to the verdicts.
//   - attempts.go: a trace is replayed until it breaks what it is to break.
//   - list.go: a file with many traces, and what each of them breaks.
package replay
