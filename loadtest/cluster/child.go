package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"stockapi/loadtest/history"
)

const (
	// readyWithin bounds the start of a process, even on a busy machine. A process that dies earlier is detected at once.
	readyWithin = 2 * time.Minute
	// sayAfter is the time after which a slow start is reported.
	sayAfter = 10 * time.Second
	// outputWithin bounds the wait for the rest of an ended process's output. Its family is dead by then, but a process
	// that was not found may keep the output open.
	outputWithin = 5 * time.Second
	// keptLines bounds the output that is kept.
	keptLines = 20
)

// errExited means that a process ended before it was ready.
var errExited = errors.New("ended before it was ready")

// say reports progress to the option Say, if set.
func (c *Cluster) say(format string, args ...any) {
	if c.options.Say != nil {
		c.options.Say(fmt.Sprintf(format, args...))
	}
}

// A child is one process of the cluster. It leads a process group of its own, so that a Ctrl-C in the terminal reaches
// only loadtest, which then stops its children in order. Processes that it starts belong to the group, and are stopped,
// continued and killed with it. Those that leave the group, as by setsid, are found by a mark.
type child struct {
	name         string
	cluster      *Cluster
	cmd          *exec.Cmd
	stdin        io.Closer // a stockapi exits when this is closed
	exited       chan struct{}
	exitErr      error       // set when exited is closed
	exitExpected atomic.Bool // an exit is no error
	// quits is true for a process that starts others outside its group, as PostgreSQL does. It is killed by SIGQUIT, on
	// which it ends the others just as abruptly.
	quits bool
	// mark is set in the environment of a child whose processes may leave the group; "" if they stay in it.
	mark string
	// lasting means that its processes may outlive it. Those with its mark are killed with the cluster.
	lasting bool

	mu     sync.Mutex
	lines  []string // the last lines of output, printable
	reaped bool     // its pid may have been reused
}

// never is for processes that do not report readiness.
func never(string) (url string, ready bool) { return "", false }

// A readiness function recognizes the line by which a process reports that it is ready, and returns the URL in it.
type readiness func(line string) (url string, ready bool)

// start starts a process with its name, cmd and quits set, and waits until its output reports that it is ready. It
// returns the URL reported.
func (c *Cluster) start(ctx context.Context, p *child, ready readiness) (url string, err error) {
	urls := make(chan string, 1)
	if err := p.spawn(c, ready, urls); err != nil {
		return "", err
	}
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	slow := time.AfterFunc(sayAfter, func() { c.say("%s is not ready after %s, waiting on…", p.name, sayAfter) })
	defer slow.Stop()
	select {
	case url := <-urls:
		p.exitExpected.Store(false)
		return url, nil
	case <-p.exited:
		err = fmt.Errorf("%s %w%s", p.name, errExited, p.lastLine())
	case <-timer.C:
		err = fmt.Errorf("%s was not ready within %s%s", p.name, readyWithin, p.lastLine())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.kill()
	return "", err
}

// runToEnd runs a process to completion.
func (p *child) runToEnd(ctx context.Context, c *Cluster) error {
	if err := p.spawn(c, never, nil); err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
		return context.Cause(ctx)
	}
	if p.exitErr != nil {
		return fmt.Errorf("%s failed (%w)%s", p.name, p.exitErr, p.lastLine())
	}
	return nil
}

// spawn starts the process, registers it with the guardian, and watches its output and its exit. Until the process is
// ready, an exit is expected.
func (p *child) spawn(c *Cluster, ready readiness, urls chan<- string) error {
	p.cluster, p.exited = c, make(chan struct{})
	p.exitExpected.Store(true)
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	if p.cmd.Stderr = in; p.cmd.Stdout == nil {
		p.cmd.Stdout = in
	}
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		detach(p.cmd)
		err = c.parent.start(p.cmd, p.quits)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot start %s: %w", p.name, err), out.Close())
	}
	how := "pid"
	if p.quits {
		how = "quits"
	}
	c.guardian.send("%s %d", how, p.cmd.Process.Pid)
	if p.mark != "" {
		c.guardian.send("mark %s", p.mark)
	}
	c.add(p)
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(out, ready, urls)
	}()
	go p.watch(out, read)
	return nil
}

// read keeps the last lines, for error messages, and sends the URL of the first line that reports readiness.
func (p *child) read(out io.ReadCloser, ready readiness, urls chan<- string) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	sent := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		p.keep(strings.TrimRightFunc(lines.Text(), unicode.IsSpace))
		if url, ok := ready(line); ok && !sent {
			sent = true
			urls <- url
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long must not stall the process
}

func (p *child) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, history.Plain(line))
	p.lines = p.lines[max(0, len(p.lines)-keptLines):]
}

// Tail returns the last twenty lines of output, printable.
func (p *child) Tail() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// watch waits for the exit of the process, and then kills its family, unless that may last. An unexpected exit ends the
// run.
func (p *child) watch(out *os.File, read <-chan struct{}) {
	p.exitErr = reap(p.cmd, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reaped = true
		if CanStop && !p.lasting { // Windows, which reuses numbers quickly, has no groups
			_ = killGroup(p.cmd.Process.Pid)
		}
	})
	p.cluster.guardian.send("gone %d", p.cmd.Process.Pid)
	if p.mark != "" && !p.lasting {
		killMarked(p.mark)
		p.cluster.guardian.send("gone %s", p.mark)
	}
	_ = out.SetReadDeadline(time.Now().Add(outputWithin)) // pipes have no deadlines on Windows
	<-read                                                // for its last lines
	p.cluster.remove(p)
	close(p.exited)
	if !p.exitExpected.Load() {
		p.cluster.fail(fmt.Errorf("%s died on its own (%s)%s", p.name, p.cmd.ProcessState, p.lastLine()))
	}
}

// end asks the process to terminate, gives it time to finish its work, and then kills it.
func (p *child) end() {
	p.exitExpected.Store(true)
	if terminate(p.cmd.Process) && p.exitsWithin(5*time.Second) {
		return
	}
	_ = p.stdin.Close()
	if !p.exitsWithin(2 * time.Second) {
		p.kill()
	}
}

// killTime bounds the wait for a killed process to end, which takes seconds on a busy machine. PostgreSQL gives its own
// processes five seconds.
const killTime = 20 * time.Second

func (p *child) kill() {
	if p.exitsWithin(0) {
		return
	}
	if p.quits && p.signal(func(pid int, _ string) error { return quit(pid) }) == nil && p.exitsWithin(killTime) {
		return
	}
	_ = p.signal(killAll)
	_ = p.stdin.Close()
	p.exitsWithin(killTime)
}

// signal calls send with the process's pid and mark, unless the pid may have been reused.
func (p *child) signal(send func(pid int, mark string) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return fmt.Errorf("%s: %w", p.name, os.ErrProcessDone)
	}
	return send(p.cmd.Process.Pid, p.mark)
}

// Stop stops all its processes, and returns when they are stopped. It looks twice, as a parent that is not yet stopped
// may start a process after the first look.
func (p *child) Stop() error {
	for begun, times := time.Now(), 0; time.Since(begun) < killTime; time.Sleep(time.Millisecond) {
		if err := p.signal(stop); err != nil {
			return err
		}
		all, err := p.Stopped()
		if err != nil {
			return err
		}
		if times++; !all {
			times = 0
		}
		if times == 2 {
			return nil
		}
	}
	return fmt.Errorf("%s did not stop within %s", p.name, killTime)
}

// Stopped reports whether all its processes are stopped, as by SIGSTOP.
func (p *child) Stopped() (bool, error) { return stopped(p.cmd.Process.Pid, p.mark) }

// Continue continues all its processes.
func (p *child) Continue() error { return p.signal(resume) }

// Kill kills the process, if it was started, as SIGKILL or a power cut would. That does not end the run.
func (p *child) Kill() {
	if p != nil {
		p.exitExpected.Store(true)
		p.kill()
	}
}

func (p *child) exitsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// lastLine returns the last line of output as the end of an error message.
func (p *child) lastLine() string {
	if lines := p.Tail(); len(lines) > 0 {
		return ", its last line: " + strings.TrimSpace(lines[len(lines)-1])
	}
	return ", without any output"
}
