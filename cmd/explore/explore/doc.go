// Package explore runs the code of the rungs in every order in which their commands can reach Redis, and finds the
// shortest order that goes wrong.
//
// Load finds a race when it is lucky. The rungs are small: two clients, and a handful of commands each. So this package
// tries all orders, on the code that serves requests: [sale.Shop.Decrease] with the locks of package lock. Redis is
// miniredis, in memory. A schedule runs in a bubble of testing/synctest, where the clock is virtual and stands still
// until nobody can move.
//
// Each command of a client waits at a gate, which is a hook of go-redis. When all goroutines are blocked, the scheduler
// lets one command through, and looks at what it has done. So a schedule is a list of decisions, and the same list
// makes the same schedule: that is a [Trace]. A fault is a decision too: time passes although a command is ready, a
// client dies, a reply is lost.
//
// Verdicts are asked of the servers' data, and never of a client. Time passes without a fault only when no client that
// is under way can move. What that leaves out, and why two orders of steps that commute need not both be tried, is in
// docs/explore.md.
//
// # Reading order
//
//   - bounds.go: what limits a search. Steps, traces and the gate are those of loadtest/schedule.
//   - conn.go, gate.go, command.go: a client's way to a server.
//   - store.go, script.go: the servers. world.go, choice.go: one schedule, and what the scheduler may choose.
//   - judge.go: the verdicts.
//   - depend.go, search.go, explore.go: all schedules, and the shortest that breaks a verdict.
//   - story.go, sentence.go: a schedule as one can read it, and what it breaks in a sentence. cell.go: the same as a
//     recorded cell. What should come out stands in loadtest/catalog.
package explore
