//go:build !linux

package fleet

import "os/exec"

// A parent starts the processes of a fleet. This system ends none with its parent: where the guardian is killed together
// with loadtest, a stockapi ends with its standard input, and servers stay.
type parent struct{}

func newParent() parent { return parent{} }

func (parent) start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func (parent) dismiss() {}
