// Package explore runs the code of the rungs in every order in which their commands can reach Redis, and finds the
// shortest order that goes wrong.
//
// Load finds a race when it is lucky. The rungs are small: two clients, and a handful of commands each. So this package
// tries all orders, on the code that serves requests: [sale.Shop.Decrease] with the locks of package lock. Redis is
// miniredis, in memory. A schedule runs in a bubble of testing/synctest, where the clock is virtual and stands still
// until no goroutine can proceed.
//
// Each command of a client waits at a gate, a hook of go-redis. When all goroutines are blocked, the scheduler lets one
// command pass, and reads its effect from the servers. So a schedule is a list of decisions, and the same list makes
// the same schedule: that is a [schedule.Trace]. A fault is a decision too: time passes although a command is ready, a
// client dies, a reply is lost.
//
// Verdicts come from the servers' data, never from a client. Time passes without a fault only when no client that is
// under way can move. docs/explore.md explains what that leaves out, and why two orders of commuting steps need not
// both be tried.
//
// # Reading order
//
//   - bounds.go: the limits of a search. Steps, traces and the gate are those of loadtest/schedule, and
//     loadtest/schedule/search chooses the schedules.
//   - conn.go, gate.go, command.go: a client's path to a server.
//   - store.go: the servers. world.go, choice.go: one schedule, and the scheduler's choices.
//   - judge.go: the verdicts.
//   - depend.go, player.go, reduce.go, explore.go: all schedules, and the shortest that breaks a verdict.
//   - story.go, sentence.go: a readable schedule, and its violations. cell.go: the same as a recorded cell.
//     Expectations are in loadtest/catalog.
package explore
