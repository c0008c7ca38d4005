//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"stockapi/loadtest/cluster/family"
)

// CanStop reports whether this system can stop and continue a process.
const CanStop = true

func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

// runAs makes a command run as that user if we are root.
func runAs(cmd *exec.Cmd, name string) error {
	uid, gid, err := account(name)
	if os.Getuid() == 0 && err == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	}
	return err
}

// giveTo gives a directory and its content to that user alone if we are root, and makes its parent searchable.
// Otherwise the directory stays ours alone.
func giveTo(name, dir string) error {
	uid, gid, err := account(name)
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if os.Getuid() != 0 || err != nil {
		return err
	}
	return errors.Join(os.Chmod(filepath.Dir(dir), 0o711),
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(uid), int(gid)))
		}))
}

// account returns the ids of a user and its group. They matter only to root, who alone can become another user.
func account(name string) (uid, gid uint32, err error) {
	if os.Getuid() != 0 {
		return 0, 0, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("there is no user %s", name)
	}
	_, err = fmt.Sscan(u.Uid+" "+u.Gid, &uid, &gid)
	return uid, gid, err
}

// canRunAs returns nil if runAs can succeed.
func canRunAs(name string) error {
	_, _, err := account(name)
	return err
}

// terminate asks a process to end gracefully. It reports whether this system can do so.
func terminate(p *os.Process) bool { return p.Signal(syscall.SIGTERM) == nil }

// killGroup kills a child and all processes of its group; detach made it the leader of that group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// killAll kills a child and its family.
func killAll(pid int, mark string) error { return toAll(syscall.SIGKILL, pid, mark) }

// killMarked kills the processes with a mark until none is left, or killTime has passed. One pass is not enough: a
// process may fork before it dies, and has no environment for a moment during exec.
func killMarked(mark string) {
	for begun, none := time.Now(), 0; none < 2 && time.Since(begun) < killTime; time.Sleep(time.Millisecond) {
		none++
		its, _ := family.Of(family.NoGroup, mark)
		for _, p := range its {
			none = 0
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

// quit ends a process and the processes that it started.
func quit(pid int) error { return syscall.Kill(pid, syscall.SIGQUIT) }

// stop signals a child and its family to stop, and does not wait for that.
func stop(pid int, mark string) error { return toAll(syscall.SIGSTOP, pid, mark) }

// resume continues a child and its family.
func resume(pid int, mark string) error { return toAll(syscall.SIGCONT, pid, mark) }

// toAll signals the group of a child, atomically, and then, if it has a mark, its family outside the group.
func toAll(signal syscall.Signal, pid int, mark string) error {
	var its []family.Process
	if mark != "" {
		its, _ = family.Of(pid, mark) // now: the children of a dead process have another parent
	}
	err := syscall.Kill(-pid, signal)
	for _, p := range its {
		if p.Group != pid {
			_ = syscall.Kill(p.PID, signal)
		}
	}
	return err
}

// stopped reports whether a child and its family are stopped.
func stopped(pid int, mark string) (bool, error) {
	its, err := family.Of(pid, mark)
	if err == nil && len(its) == 0 {
		err = os.ErrProcessDone
	}
	return err == nil && !slices.ContainsFunc(its, func(p family.Process) bool { return p.State != "T" }), err
}
