package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRedisson builds the worker for the JVM and compares with it. Maven may have to fetch a hundred files for that, so
// it has to be asked for: STOCKAPI_REQUIRE=redisson.
func TestRedisson(t *testing.T) {
	if !strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "redisson") {
		t.Skip("STOCKAPI_REQUIRE does not name redisson")
	}
	code, stdout, stderr := runBench(t, "--contenders", "v7,redisson", "--processes", "2",
		"--waiters", "4", "--rounds", "2", "--for", "200ms")
	assert.Equal(t, measured, code, stderr)
	assert.Regexp(t, `(?m)^\| redisson +\| [1-9]`, stdout)
	assert.NotContains(t, stdout, "failed")
}

func TestWithoutJavaItGoesOn(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server")
	}
	dir := t.TempDir()
	assert.NoError(t, os.Symlink(redis, dir+"/redis-server"))
	t.Setenv("PATH", dir)
	code, stdout, stderr := runBench(t, "--contenders", "v4,redisson", "--processes", "1",
		"--waiters", "2", "--rounds", "1", "--for", "100ms")
	assert.Equal(t, measured, code, stderr)
	assert.Contains(t, stderr, "redisson is left out: there is no java on the PATH\n")
	assert.Contains(t, stdout, "| v4 ")
}
