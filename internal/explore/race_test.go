//go:build race

package explore

const raceDetected = true
