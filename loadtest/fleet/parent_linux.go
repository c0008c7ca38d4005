package fleet

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startWithParent starts a process that the kernel ends when loadtest ends, in whatever way: also where the guardian was
// killed with it, and where the process stands still. One that quits is told to, so that it takes along what it started.
//
// The kernel goes by the thread that started the child, not by the process. So one thread starts them all, and does
// nothing else for as long as loadtest lives.
func startWithParent(cmd *exec.Cmd, quits bool) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if quits {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	}
	started := make(chan error, 1)
	parent() <- func() { started <- cmd.Start() }
	return <-started
}

// parent returns what the one thread is to do.
var parent = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // and never unlocked: a thread that is would end, or start others' children
		for do := range work {
			do()
		}
	}()
	return work
})
