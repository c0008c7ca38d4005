//go:build !race

package sale

// parallel limits how many tests run at once. See race_test.go.
const parallel = "16"
