//go:build !race

package backendtest

// RaceDetected reports whether this build has the race detector, which is slow and empties pools at random.
const RaceDetected = false
