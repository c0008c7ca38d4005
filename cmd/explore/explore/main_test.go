package explore

import (
	"os"
	"runtime/debug"
	"testing"

	"stockapi/internal/backend"
	"stockapi/loadtest/cluster"
)

// TestMain makes this test binary its own guardian, which a replay starts. A schedule keeps little memory, but
// allocates a lot: with the default heap a quarter of the work would be garbage collection.
func TestMain(m *testing.M) {
	cluster.GuardMain()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	backend.Silence()
	os.Exit(m.Run())
}
