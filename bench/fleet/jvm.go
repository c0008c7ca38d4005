package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stockapi/bench/redisson"
)

// BuildRedisson builds the worker for the JVM in a directory, and returns the command that runs it. Maven fetches what
// it needs from Maven Central, unless it has it already.
func BuildRedisson(ctx context.Context, dir string) (command []string, err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, errors.New("there is no java on the PATH")
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return nil, errors.New("there is no mvn on the PATH")
	}
	if err := os.CopyFS(dir, redisson.Sources); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", "compile", "dependency:build-classpath",
		"-Dmdep.outputFile=classpath")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mvn could not build it: %w: %s", err, firstLine(said))
	}
	classpath, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "target", "classes")
	return []string{java, "-cp", own + string(os.PathListSeparator) + string(bytes.TrimSpace(classpath)), "bench.Worker"},
		nil
}

func firstLine(said []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	return line
}
