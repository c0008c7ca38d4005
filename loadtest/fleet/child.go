package fleet

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
	// readyWithin is how long a process may take to say that it is ready, also on a machine that is busy with others: it
	// lives, and one that has died is noticed at once.
	readyWithin = 2 * time.Minute
	// sayAfter is when it is said that it takes long.
	sayAfter = 10 * time.Second
)

// errNotReady is what is said of a process that runs, and never says that it is ready.
var errNotReady = errors.New("did not get ready")

// errEnded is what is said of a process that ended without ever having said so.
var errEnded = errors.New("ended before it was ready")

// say tells what is going on, if anybody wants to know.
func (f *Fleet) say(format string, args ...any) {
	if f.options.Say != nil {
		f.options.Say(fmt.Sprintf(format, args...))
	}
}

// child is one process of the fleet, in a process group of its own: a Ctrl-C in the terminal reaches loadtest
// alone, which then stops its children in order.
type child struct {
	name     string
	fleet    *Fleet
	cmd      *exec.Cmd
	stdin    io.Closer // its end tells a stockapi to go
	last     atomic.Pointer[string]
	gone     chan struct{}
	ended    error       // how, once it is gone
	expected atomic.Bool // its end, should it come, is no news to anybody
	// quits is whether it starts others that are in no group of its own, as PostgreSQL does. Told to quit it ends as
	// abruptly, and takes them along.
	quits bool
}

// readiness looks for the line by which a process says that it is ready, and for the URL in it.
type readiness func(line string) (url string, ready bool)

// start starts a process and waits until one of its lines, of either output, says that it is ready.
func (f *Fleet) start(ctx context.Context, name string, cmd *exec.Cmd, ready readiness) (*child, string, error) {
	return f.begin(ctx, &child{name: name, cmd: cmd}, ready)
}

// begin starts what the child says.
func (f *Fleet) begin(ctx context.Context, c *child, ready readiness) (*child, string, error) {
	name := c.name
	c.fleet, c.gone = f, make(chan struct{})
	c.expected.Store(true) // until it is ready, its end is reported from here
	urls := make(chan string, 1)
	if err := c.spawn(ready, urls); err != nil {
		return nil, "", fmt.Errorf("cannot start %s: %w", name, err)
	}
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	slow := time.AfterFunc(sayAfter, func() { f.say("%s is not ready after %s, waiting on…", name, sayAfter) })
	defer slow.Stop()
	var err error
	select {
	case url := <-urls:
		c.expected.Store(false)
		return c, url, nil
	case <-c.gone:
		err = fmt.Errorf("%s %w%s", name, errEnded, c.lastLine())
	case <-timer.C:
		err = fmt.Errorf("%s %w within %s%s", name, errNotReady, readyWithin, c.lastLine())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.kill()
	return nil, "", err
}

// once runs a process to its end, and returns an error if that was not a good one.
func (f *Fleet) once(ctx context.Context, c *child) error {
	c.fleet, c.gone = f, make(chan struct{})
	c.expected.Store(true)
	if err := c.spawn(func(string) (string, bool) { return "", false }, nil); err != nil {
		return fmt.Errorf("cannot start %s: %w", c.name, err)
	}
	select {
	case <-c.gone:
	case <-ctx.Done():
		c.kill()
		return context.Cause(ctx)
	}
	if c.ended != nil {
		return fmt.Errorf("%s failed (%w)%s", c.name, c.ended, c.lastLine())
	}
	return nil
}

// spawn starts the process, tells the guardian, and watches its output and its end.
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
	if err := c.fleet.parent.start(c.cmd, c.quits); err != nil {
		return errors.Join(err, out.Close())
	}
	how := "pid"
	if c.quits {
		how = "quits"
	}
	c.fleet.guardian.tell("%s %d", how, c.cmd.Process.Pid)
	c.fleet.add(c)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(out, ready, urls)
	}()
	go c.watch(read)
	return nil
}

// read keeps the last line, for when the process dies, and passes on the first that says it is ready.
func (c *child) read(out io.ReadCloser, ready readiness, urls chan<- string) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	told := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		c.last.Store(&line)
		if url, ok := ready(line); ok && !told {
			told = true
			urls <- url
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line too long must not stall the process
}

// watch waits for the end of the process. One that nobody asked for ends the run.
func (c *child) watch(read <-chan struct{}) {
	c.ended = c.cmd.Wait()
	<-read // for its last line
	c.fleet.guardian.tell("gone %d", c.cmd.Process.Pid)
	c.fleet.remove(c)
	close(c.gone)
	if !c.expected.Load() {
		c.fleet.fail(fmt.Errorf("%s died on its own (%s)%s", c.name, ending(c.ended), c.lastLine()))
	}
}

func ending(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// stop asks the process to end, gives it time to finish what it is doing, and kills it if it does not.
func (c *child) stop() {
	c.expected.Store(true)
	if terminate(c.cmd.Process) && c.goneWithin(5*time.Second) {
		return
	}
	_ = c.stdin.Close()
	if !c.goneWithin(2 * time.Second) {
		c.kill()
	}
}

func (c *child) kill() {
	if c.goneWithin(0) {
		return // its number may be another's by now
	}
	if c.quits && quit(c.cmd.Process.Pid) == nil && c.goneWithin(5*time.Second) {
		return
	}
	_ = killGroup(c.cmd.Process.Pid)
	_ = c.stdin.Close()
	c.goneWithin(5 * time.Second)
}

func (c *child) goneWithin(d time.Duration) bool {
	select {
	case <-c.gone:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}

// lastLine is the process's last word, as the end of an error message.
func (c *child) lastLine() string {
	if s := c.last.Load(); s != nil {
		return ", its last line: " + *s
	}
	return ", without a word"
}
