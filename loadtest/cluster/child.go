package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// readyWithin bounds how long a process may take to get ready, also on a busy machine. One that dies earlier is
	// noticed at once.
	readyWithin = 2 * time.Minute
	// sayAfter is the time after which a slow start is reported.
	sayAfter = 10 * time.Second
)

// errNotReady means that a process runs but never got ready.
var errNotReady = errors.New("did not get ready")

// errExited means that a process ended before it was ready.
var errExited = errors.New("ended before it was ready")

// say reports progress, if somebody listens.
func (c *Cluster) say(format string, args ...any) {
	if c.options.Say != nil {
		c.options.Say(fmt.Sprintf(format, args...))
	}
}

// A child is one process of the cluster, in a process group of its own: a Ctrl-C in the terminal reaches loadtest
// alone, which then stops its children in order.
type child struct {
	name         string
	cluster      *Cluster
	cmd          *exec.Cmd
	stdin        io.Closer // a stockapi exits when this is closed
	last         atomic.Pointer[string]
	exited       chan struct{}
	exitErr      error       // set when exited is closed
	exitExpected atomic.Bool // an exit is not an error
	// quits is true of a process that starts others outside its group, as PostgreSQL does. It is ended by SIGQUIT, on
	// which it ends them too, as abruptly.
	quits bool
}

// A readiness function looks for the line in which a process reports that it is ready, and returns the URL in it.
type readiness func(line string) (url string, ready bool)

// start starts a process and waits until a line of its output reports that it is ready.
func (c *Cluster) start(ctx context.Context, name string, cmd *exec.Cmd, ready readiness) (*child, string, error) {
	return c.startChild(ctx, &child{name: name, cmd: cmd}, ready)
}

// startChild starts the process and waits until it is ready.
func (c *Cluster) startChild(ctx context.Context, p *child, ready readiness) (*child, string, error) {
	name := p.name
	p.cluster, p.exited = c, make(chan struct{})
	p.exitExpected.Store(true) // until it is ready, this function reports its exit
	urls := make(chan string, 1)
	if err := p.spawn(ready, urls); err != nil {
		return nil, "", fmt.Errorf("cannot start %s: %w", name, err)
	}
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	slow := time.AfterFunc(sayAfter, func() { c.say("%s is not ready after %s, waiting on…", name, sayAfter) })
	defer slow.Stop()
	var err error
	select {
	case url := <-urls:
		p.exitExpected.Store(false)
		return p, url, nil
	case <-p.exited:
		err = fmt.Errorf("%s %w%s", name, errExited, p.lastLine())
	case <-timer.C:
		err = fmt.Errorf("%s %w within %s%s", name, errNotReady, readyWithin, p.lastLine())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.kill()
	return nil, "", err
}

// begin starts a process that may end by itself. It waits for nothing.
func (c *Cluster) begin(p *child) error {
	p.cluster, p.exited = c, make(chan struct{})
	p.exitExpected.Store(true)
	if err := p.spawn(func(string) (string, bool) { return "", false }, nil); err != nil {
		return fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	return nil
}

// runToEnd runs a process to its end and returns an error if it fails.
func (c *Cluster) runToEnd(ctx context.Context, p *child) error {
	if err := c.begin(p); err != nil {
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

// spawn starts the process, registers it with the guardian, and watches its output and its exit.
func (c *child) spawn(ready readiness, urls chan<- string) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	c.cmd.Stdout, c.cmd.Stderr = in, in
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return errors.Join(err, out.Close())
	}
	detach(c.cmd)
	if err := c.cluster.parent.start(c.cmd, c.quits); err != nil {
		return errors.Join(err, out.Close())
	}
	how := "pid"
	if c.quits {
		how = "quits"
	}
	c.cluster.guardian.send("%s %d", how, c.cmd.Process.Pid)
	c.cluster.add(c)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(out, ready, urls)
	}()
	go c.watch(read)
	return nil
}

// read stores the last line, for error messages, and sends the URL of the first line that reports readiness.
func (c *child) read(out io.ReadCloser, ready readiness, urls chan<- string) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	sent := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		c.last.Store(&line)
		if url, ok := ready(line); ok && !sent {
			sent = true
			urls <- url
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long must not stall the process
}

// watch waits for the exit of the process. An unexpected exit ends the run.
func (c *child) watch(read <-chan struct{}) {
	c.exitErr = c.cmd.Wait()
	<-read // for its last line
	c.cluster.guardian.send("gone %d", c.cmd.Process.Pid)
	c.cluster.remove(c)
	close(c.exited)
	if !c.exitExpected.Load() {
		c.cluster.fail(fmt.Errorf("%s died on its own (%s)%s", c.name, exitText(c.exitErr), c.lastLine()))
	}
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// stop asks the process to end, gives it time to finish its work, and kills it if it does not end.
func (c *child) stop() {
	c.exitExpected.Store(true)
	if terminate(c.cmd.Process) && c.exitsWithin(5*time.Second) {
		return
	}
	_ = c.stdin.Close()
	if !c.exitsWithin(2 * time.Second) {
		c.kill()
	}
}

// killTime bounds the wait for the end of a killed process. On a busy machine that takes seconds. PostgreSQL alone
// gives its own processes five.
const killTime = 20 * time.Second

func (c *child) kill() {
	if c.exitsWithin(0) {
		return // its pid may belong to another process by now
	}
	if c.quits && quit(c.cmd.Process.Pid) == nil && c.exitsWithin(killTime) {
		return
	}
	_ = killGroup(c.cmd.Process.Pid)
	_ = c.stdin.Close()
	c.exitsWithin(killTime)
}

// Kill kills the process, if it was started, as SIGKILL or a power cut does. That is not the end of the run.
func (c *child) Kill() {
	if c != nil {
		c.exitExpected.Store(true)
		c.kill()
	}
}

func (c *child) exitsWithin(d time.Duration) bool {
	select {
	case <-c.exited:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// lastLine returns the last line of output as the end of an error message.
func (c *child) lastLine() string {
	if s := c.last.Load(); s != nil {
		return ", its last line: " + *s
	}
	return ", without any output"
}
