package fleet

import (
	"os/exec"
	"syscall"
)

// detach keeps a Ctrl-C of the console away from a child. The program ends its children itself.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
