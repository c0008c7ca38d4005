//go:build unix

package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// CanStop is whether a process can be stopped and continued on this system.
const CanStop = true

func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a process to end in its own time. It reports whether this system can ask.
func terminate(p *os.Process) bool { return p.Signal(syscall.SIGTERM) == nil }

// killGroup ends a child and all that it started; detach made it the leader of its group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// stop stops a process, and does not wait until it stands.
func stop(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }

// resume continues a stopped process.
func resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// stopped asks the system for the state of a process. To wait for the change of state is not possible: os/exec is
// waiting for the end already, and would be told of nothing else.
func stopped(pid int) (bool, error) {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// pid (name) state …, where the name may hold anything.
		rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
		return strings.HasPrefix(strings.TrimSpace(string(rest)), "T"), nil
	}
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return strings.HasPrefix(strings.TrimSpace(string(state)), "T"), err
}
