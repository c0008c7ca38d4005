package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
)

// TestMain makes this test binary its own guardian, which a trial starts. A trial mostly waits for leases to expire, so
// more run at a time than there are processors, but for the race detector. The flag -parallel still counts.
func TestMain(m *testing.M) {
	cluster.GuardMain()
	backendtest.AtOnce(8, 4)
	// With the race detector each process that the tests start would sleep for a second before it exits.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	builtIn, _ = os.MkdirTemp("", "trial-test-")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(builtIn)
		os.Exit(code)
	}))
}

// builtIn is the directory of the programs under test.
var builtIn string

// builder returns a function that builds a program, once, and returns its path.
func builder(name, what string) func() (path string, err error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(builtIn, name)
		out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, what).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return path, err
	})
}

var buildStockapi, buildShop = builder("stockapi", "stockapi/cmd/stockapi"), builder("shop", inGo)
