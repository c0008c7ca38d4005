package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// FindStockapi finds or builds the executable of the instances, and returns its path: the one configured, or else the
// one beside this executable, the one on PATH, or one built from this module.
func (c *Cluster) FindStockapi(ctx context.Context) (path string, err error) {
	c.stockapi, c.stockapiFrom, err = c.findStockapi(ctx)
	return c.stockapi, err
}

// findStockapi also returns which of these it found.
func (c *Cluster) findStockapi(ctx context.Context) (path, which string, err error) {
	if want := c.options.Stockapi; want != "" {
		path, err := exec.LookPath(want)
		if err != nil {
			return "", "", fmt.Errorf("LOADTEST_STOCKAPI: %w", err)
		}
		return path, path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), executable("stockapi"))
		if fi, err := os.Stat(beside); err == nil && fi.Mode().IsRegular() {
			return beside, beside + ", beside loadtest", nil
		}
	}
	if path, err := exec.LookPath("stockapi"); err == nil {
		return path, path + ", from PATH", nil
	}
	path, err = c.build(ctx)
	return path, "built from this module", err
}

// build builds into the cluster's directory, which is removed with the run.
func (c *Cluster) build(ctx context.Context) (string, error) {
	const pkg = "stockapi/cmd/stockapi"
	c.say("building stockapi…")
	path := filepath.Join(c.dir, executable("stockapi"))
	// nomsgpack leaves out gin's unused MessagePack, a third of a cold build. -s -w leaves out debugging information,
	// which takes most of the linking.
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", path,
		pkg).CombinedOutput()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("found no stockapi beside loadtest or on PATH, and cannot build one here: %s (%w); "+
			"run it within the module, or name one in LOADTEST_STOCKAPI", lines[len(lines)-1], err)
	}
	return path, nil
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
