//go:build unix

package fleet

import (
	"os"
	"os/exec"
	"syscall"
)

func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a process to end in its own time. It reports whether this system can ask.
func terminate(p *os.Process) bool { return p.Signal(syscall.SIGTERM) == nil }

// killGroup ends a child and all that it started; detach made it the leader of its group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
