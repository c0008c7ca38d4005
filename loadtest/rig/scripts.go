package rig

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// scriptNames asks a stockapi for the names of its scripts, by digest. The explorer orders a client's commands by name.
func scriptNames(ctx context.Context, stockapi string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, stockapi, "scripts").Output()
	if err != nil {
		return nil, fmt.Errorf("%s scripts: %w; use the stockapi that was built with this load test", stockapi, err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(out)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[digest] = name
	}
	return names, nil
}
