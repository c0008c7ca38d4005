//go:build !race

package handlers

const raceDetected = false
