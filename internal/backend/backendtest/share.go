package backendtest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// shared holds the servers and data that a test leaves to later tests, if the package shares them.
var shared struct {
	sync.Mutex

	on    bool
	idle  []*ZooKeeperServer
	fresh map[string]string // the data directory of an SQL server before its first start, by the server's kind
}

// Share lets the tests of a package share servers that take a second or more to start. A ZooKeeper, which is a Java
// process, serves one test after the other, each without the nodes of the test before. An SQL server's data directory
// is a copy of the first one. TestMain calls Share, and at the end the function that it returns, which removes
// everything and exits with the code.
func Share() (exit func(code int)) {
	shared.on = true
	return func(code int) {
		for _, s := range shared.idle {
			s.end()
		}
		for _, dir := range shared.fresh {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}
}

// install creates the server's data directory with its own program, or as a copy of the first one.
func (s *SQLServer) install(t testing.TB, program []string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if dir, ok := shared.fresh[s.kind]; ok {
		s.runOnce(t, []string{"cp", "-a", filepath.Join(dir, "data"), s.dir})
		return
	}
	s.runOnce(t, program)
	if !shared.on {
		return
	}
	dir, err := os.MkdirTemp("", "stockapi-"+s.kind+"-")
	if err != nil {
		t.Fatal(err)
	}
	if shared.fresh == nil {
		shared.fresh = map[string]string{}
	}
	s.runOnce(t, []string{"cp", "-a", s.dir, filepath.Join(dir, "data")})
	shared.fresh[s.kind] = dir
}
