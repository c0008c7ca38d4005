//go:build !linux

package cluster

import "os/exec"

// A parent starts the processes of a cluster. This system does not end a process with its parent. If loadtest and the
// guardian are both killed, a stockapi ends with its standard input, and servers stay.
type parent struct{}

func newParent() parent { return parent{} }

func (parent) start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

// reap waits for the exit of a child, and calls after, which may still kill what is left of its group: its number is
// not likely to be reused so soon.
func reap(cmd *exec.Cmd, after func()) error {
	err := cmd.Wait()
	after()
	return err
}

func (parent) dismiss() {}
