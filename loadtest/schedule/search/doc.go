// Package search tries the schedules of a world one after another, those with few faults and few changes of turn first.
//
// A world plays each schedule from its beginning, for the state of a process cannot be copied. Whenever a step is due
// it lists what may come next, and the search chooses: first along a path that an earlier schedule has left to be
// tried, and then for as long as possible with the order whose turn it is (Musuvathi and Qadeer, PLDI 2007). What it
// does not choose becomes a path.
//
// The package has no clock, no goroutine and no process: the explorer's worlds are virtual, a trial's are real. A
// caller that plays several worlds at once guards the search with a lock of its own.
//
//   - search.go: the search, and how far it is. schedule.go: one schedule.
//   - prefix.go: beginnings of schedules, and their order. frontier.go: those that are left to be tried.
//   - tally.go: counts, and the shortest prefix that breaks each verdict.
package search
