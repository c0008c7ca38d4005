// Package latch is a count-down latch in Redis: a number of parties, on several machines, wait for each other, and then
// all begin at one instant. A lock keeps processes apart; a latch brings them together.
//
// It works across machines by the same means as the locks of the ladder. Each party counts once, however often it
// arrives. Its presence is a lease: a party that does not renew it no longer counts. And Redis' clock is the only one:
// the start is set there, and each party converts it to its own clock by its own measurement.
//
// Reading order: latch.go, with arrive.lua, done.lua and leave.lua; clock.go.
package latch
