package fleet

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
)

// A parent starts the processes of a fleet, so that the kernel ends them when loadtest ends, in whatever way: also where
// the guardian was killed with it, and where a process stands still.
//
// The kernel goes by the thread that started the child, not by the process. So one thread starts them all, does nothing
// else, and ends when the last of them is gone.
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

// start starts a process. One that quits is told to, when loadtest ends, so that it takes along what it started.
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

// dismiss ends the thread, and with it what it started.
func (p parent) dismiss() { p.end() }
