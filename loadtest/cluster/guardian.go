package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"stockapi/loadtest/cluster/netns"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A guardian is loadtest's end of the pipe to its guardian process. The kernel closes the pipe however loadtest ends,
// even by SIGKILL, and that is the guardian's signal.
type guardian struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	pipe io.WriteCloser
}

// guardianMark is in the environment of a guardian, and of no other process.
const guardianMark = "LOADTEST_GUARDIAN"

// startGuardian starts this executable again, as the command that calls [Guard]. An executable that runs something else
// instead, such as its tests, would start guardians for ever.
func startGuardian() (*guardian, error) {
	if os.Getenv(guardianMark) != "" {
		return nil, errors.New("this process was started as a guardian, and must call cluster.Guard")
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.Command(self, "guardian")
	cmd.Env = append(os.Environ(), guardianMark+"=1")
	detach(cmd)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guardian{cmd: cmd, pipe: pipe}, nil
}

func (g *guardian) send(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.pipe, format+"\n", args...) // nothing helps if the guardian is dead
}

// dismiss ends the guardian when there is nothing left to guard.
func (g *guardian) dismiss() {
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}

// GuardMain does the work of a process that was started as a guardian, or in a service's network, and ends it; in any
// other one it does nothing. Each program that starts a cluster calls it first, and tests in TestMain: their binary is
// their guardian.
func GuardMain() {
	netns.Main()
	if os.Getenv(guardianMark) != "" {
		Guard(os.Stdin)
		os.Exit(0)
	}
}

// Guard is the main function of the guardian. It reads which processes and directories exist ("pid 12", "quits 13",
// "mark x", "dir /tmp/x") and which have gone ("gone 12", "gone x"). When the pipe closes it removes those that are
// left.
func Guard(pipe io.Reader) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pids, marks, dirs := listen(pipe)
	for pid, quits := range pids {
		if !quits || quit(pid) != nil {
			_ = killGroup(pid)
		}
	}
	for mark := range marks {
		killMarked(mark)
	}
	for _, dir := range dirs {
		removeSoon(dir)
	}
}

// listen returns what is left when the pipe closes: processes and whether each quits (see child), marks of processes
// that may have left their group, and directories.
func listen(pipe io.Reader) (pids map[int]bool, marks map[string]bool, dirs []string) {
	pids, marks = map[int]bool{}, map[string]bool{}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		what, which, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(which)
		switch {
		case what == "dir" && strings.Contains(which, "loadtest-"):
			dirs = append(dirs, which)
		case (what == "pid" || what == "quits") && err == nil && pid > 1:
			pids[pid] = what == "quits"
		case what == "mark":
			marks[which] = true
		case what == "gone":
			delete(pids, pid)
			delete(marks, which)
		}
	}
	return pids, marks, dirs
}

// removeSoon tries several times: a process that was just killed may still hold or write its files.
func removeSoon(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			if _, err := os.Stat(dir); os.IsNotExist(err) {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}
