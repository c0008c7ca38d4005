//go:build !linux

package fleet

import "os/exec"

// startWithParent starts a process. This system ends none with its parent: where the guardian is killed together with
// loadtest, a stockapi ends with its standard input, and servers stay.
func startWithParent(cmd *exec.Cmd, _ bool) error { return cmd.Start() }
