package cluster

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// A parent starts the processes of a cluster such that the kernel kills them however loadtest ends: even if the
// guardian is killed too, or a process is stopped. Their own children are left to the guardian.
//
// The kernel signals a child when the thread that started it ends, not the process. So one thread starts them all, does
// nothing else, and ends last.
type parent struct {
	work chan func()
	over context.Context
	end  context.CancelFunc
}

func newParent() parent {
	p := parent{work: make(chan func())}
	p.over, p.end = context.WithCancel(context.Background())
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case do := <-p.work:
				do()
			case <-p.over.Done():
				return
			}
		}
	}()
	return p
}

// start starts a process. When loadtest ends, the process gets SIGKILL; if it quits (see child), SIGQUIT.
func (p parent) start(cmd *exec.Cmd, quits bool) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if quits {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	}
	started := make(chan error, 1)
	select {
	case p.work <- func() { started <- cmd.Start() }:
		return <-started
	case <-p.over.Done():
		return errors.New("the run is over")
	}
}

// reap waits for the exit of a child. It calls before once the child has exited, while its pid is still reserved: after
// that, neither the pid nor its group must be signalled.
func reap(cmd *exec.Cmd, before func()) error {
	const pid = 1 // P_PID: by its pid
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pid, uintptr(cmd.Process.Pid), 0,
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			break
		}
	}
	before()
	return cmd.Wait()
}

// dismiss ends the thread, and with it the processes that it started.
func (p parent) dismiss() { p.end() }
