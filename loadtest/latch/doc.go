// Package latch is a count-down latch in Redis: so many parties, on as many machines, wait for each other, and then all
// begin at one instant. A lock keeps processes apart in time; a latch brings them together.
//
// What makes it work across machines is what makes the locks of the ladder work. Each party counts once, however often
// it says that it is there. Being there is a lease: who does not come again is no longer waited for, and no longer
// counted. And the one clock that everybody goes by is Redis' own: the instant is set there, and each party works out by
// its own measurement when that is by its own clock.
//
// Reading order: latch.go, with arrive.lua, done.lua and leave.lua; clock.go.
package latch
