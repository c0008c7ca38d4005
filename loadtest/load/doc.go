// Package load sends a number of requests, which all start at one barrier, and measures how long each takes. The plan's
// Send defines what a request is.
//
// Reading order: load.go (barrier and workers), schedule.go (when each request is due), latency.go (histograms),
// client.go (the client's own figures), stall.go (scheduling delays).
package load
