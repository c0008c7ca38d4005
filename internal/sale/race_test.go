//go:build race

package sale

// parallel is lower under the race detector: then the tests compute for so long that short leases would expire.
const parallel = "8"
