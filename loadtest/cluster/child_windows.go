package cluster

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// CanStop reports whether this system can stop and continue a process.
const CanStop = false

var errCannotStop = errors.New("a process cannot be stopped on this system")

func stop(int, string) error { return errCannotStop }

func resume(int, string) error { return errCannotStop }

func stopped(int, string) (bool, error) { return false, errCannotStop }

func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// runAs does nothing: servers run as the current user.
func runAs(*exec.Cmd, string) error { return nil }

func giveTo(_, _ string) error { return nil }

func canRunAs(string) error { return nil }

func quit(int) error { return errors.New("a process cannot be asked to quit on this system") }

// terminate does nothing: Windows has no SIGTERM. Closing the standard input ends the process instead.
func terminate(*os.Process) bool { return false }

// killMarked does nothing: services that may leave their group are not started here.
func killMarked(string) {}

func killAll(pid int, _ string) error { return killGroup(pid) }

func killGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
