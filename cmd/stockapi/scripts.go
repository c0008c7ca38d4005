package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"stockapi/internal/trace"
)

// runScripts prints the digest and the name of each script that an instance sends: on the wire there are only digests.
func runScripts(args []string, stdout io.Writer) error {
	const about = "Lists the Lua scripts that an instance sends to Redis: the SHA-1 digest and the name of each."
	if ok, err := parse(&struct{}{}, "stockapi scripts", about, args, stdout); !ok {
		return err
	}
	names := trace.ScriptNames()
	for _, digest := range slices.Sorted(maps.Keys(names)) {
		if _, err := fmt.Fprintln(stdout, digest, names[digest]); err != nil {
			return err
		}
	}
	return nil
}
