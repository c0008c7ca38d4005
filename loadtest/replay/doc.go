// Package replay plays a trace of the explorer on real processes: each client is an instance of stockapi, the servers
// are Redis servers, and the commands are carried out in the order of the trace. The result is judged like any cell.
//
// Each instance reaches each server over a wire: see loadtest/rig. A command waits at its wire until the trace lets it
// pass. Time is real, so a lease of the replay lasts for seconds.
//
// # Reading order
//
//   - times.go: how long things last. Steps and traces are those of loadtest/schedule.
//   - gate.go: the gate of the wires, and commands that clients send or give up out of turn.
//   - holds.go: the holders on the servers.
//   - player.go, clock.go: the steps of one trace. Those of commands and servers are the rig's.
//   - environment.go, replay.go: the servers and instances of one replay, from their start to the verdicts.
//   - attempts.go: replays a trace until it breaks the expected verdicts.
//   - list.go: a file of traces with the verdicts that each breaks.
package replay
