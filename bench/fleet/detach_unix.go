//go:build unix

package fleet

import (
	"os/exec"
	"syscall"
)

// detach keeps a Ctrl-C of the terminal away from a child. The program ends its children itself.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
