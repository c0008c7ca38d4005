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
	"strconv"
	"strings"
	"syscall"
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

// account returns the ids of a user and its group. They matter only to root, since only root can become another user.
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

// terminate asks a process to end gracefully. It reports whether this system can ask.
func terminate(p *os.Process) bool { return p.Signal(syscall.SIGTERM) == nil }

// killGroup kills a child and all processes of its group; detach made it the leader of that group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// quit ends a process together with the processes that it started.
func quit(pid int) error { return syscall.Kill(pid, syscall.SIGQUIT) }

// stop stops a child and all processes of its group. It does not wait until they have stopped.
func stop(pid int) error { return syscall.Kill(-pid, syscall.SIGSTOP) }

// resume continues a child and all processes of its group.
func resume(pid int) error { return syscall.Kill(-pid, syscall.SIGCONT) }

// stopped reports whether a child and all processes of its group are stopped.
func stopped(pid int) (bool, error) {
	states, err := groupStates(pid)
	if err == nil && len(states) == 0 {
		err = os.ErrProcessDone
	}
	return err == nil && !slices.ContainsFunc(states, func(s string) bool { return s != "T" }), err
}

// groupStates reads from the system the state of each process of a group that has not ended: "T" if it is stopped.
// Waiting for the change of state is not possible: os/exec already waits for the exit of a child, and would hide it;
// and a child's children are not ours to wait for.
func groupStates(group int) (states []string, err error) {
	number := strconv.Itoa(group)
	add := func(itsGroup, state string) {
		if itsGroup == number && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			states = append(states, state[:1])
		}
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent group …, where the name may hold anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		add(fields[2], fields[0])
	}
	if len(stats) > 0 {
		return states, nil
	}
	all, err := exec.Command("ps", "-A", "-o", "pgid=", "-o", "state=").Output()
	for line := range strings.Lines(string(all)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			add(fields[0], fields[1])
		}
	}
	return states, err
}
