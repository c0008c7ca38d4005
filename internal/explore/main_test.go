package explore

import (
	"os"
	"runtime/debug"
	"testing"

	"stockapi/internal/backend"
)

// A schedule leaves little behind, but makes much: with the usual heap a quarter of the work would be garbage
// collection.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	backend.Silence()
	os.Exit(m.Run())
}
