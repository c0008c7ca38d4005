package fleet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guardian is loadtest's end of the pipe to its guardian. The pipe is the whole mechanism: the kernel closes it
// when loadtest ends, SIGKILL included, and nothing that loadtest would have to do at its end can be forgotten.
type guardian struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	pipe io.WriteCloser
}

func startGuardian(self []string) (*guardian, error) {
	cmd := exec.Command(self[0], self[1:]...)
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

func (g *guardian) tell(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.pipe, format+"\n", args...) // a guardian that is dead cannot be helped
}

// dismiss ends the guardian, which by now has nothing left to do.
func (g *guardian) dismiss() {
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}

// Guard is the guardian's life: it reads what exists ("pid 12", "quits 13", "dir /tmp/x") and what no longer does
// ("gone 12"), and when the pipe ends it ends the former.
func Guard(pipe io.Reader) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pids, dirs := listen(pipe)
	for pid, quits := range pids {
		if !quits || quit(pid) != nil {
			_ = killGroup(pid)
		}
	}
	for _, dir := range dirs {
		removeSoon(dir)
	}
}

// listen returns what is left when the pipe ends: processes, each with whether it quits, and directories.
func listen(pipe io.Reader) (pids map[int]bool, dirs []string) {
	pids = map[int]bool{}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		what, which, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(which)
		switch {
		case what == "dir" && strings.Contains(which, "loadtest-"):
			dirs = append(dirs, which)
		case (what == "pid" || what == "quits") && err == nil && pid > 1:
			pids[pid] = what == "quits"
		case what == "gone":
			delete(pids, pid)
		}
	}
	return pids, dirs
}

// removeSoon tries more than once: a process that was just killed may still hold or be writing its files.
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
