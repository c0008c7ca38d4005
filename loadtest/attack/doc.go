// Package attack sends a number of requests, all from one barrier, and measures how long each took. It knows
// nothing of shops: what a request is, the plan's Send says.
//
// Reading order: attack.go (barrier and workers), schedule.go (when each request is due), latency.go (what is
// measured), client.go (what of it is the client's own doing), heart.go (whether it got the processor).
package attack
