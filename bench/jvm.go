package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// redisson is a Maven project. Its class bench.Worker speaks the protocol of package worker.
//
//go:embed redisson/pom.xml redisson/src
var redisson embed.FS

// buildRedisson builds the worker for the JVM in a directory, and returns the command that runs it. Maven fetches what
// it needs from Maven Central, unless it has it already.
func buildRedisson(ctx context.Context, dir string) (command []string, err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, errors.New("there is no java on the PATH")
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return nil, errors.New("there is no mvn on the PATH")
	}
	sources, err := fs.Sub(redisson, "redisson")
	if err == nil {
		err = os.CopyFS(dir, sources)
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", "compile", "dependency:build-classpath",
		"-Dmdep.outputFile=classpath")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return nil, fmt.Errorf("mvn could not build it: %w: %s", err, first)
	}
	classpath, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "target", "classes")
	return []string{java, "-cp", own + string(os.PathListSeparator) + string(bytes.TrimSpace(classpath)), "bench.Worker"},
		nil
}
