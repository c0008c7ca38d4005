package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"slices"
	"stockapi/loadtest/cluster/netns"
	"time"
)

const (
	// mostOutput bounds what is kept of a shell command's output, in bytes.
	mostOutput = 64 << 10
	// drainTime bounds the reading of output that a process left by an ended shell command keeps open.
	drainTime = time.Second
)

// Shell runs a shell command to its end, and returns the end of what it printed, and the last lines of its errors. What
// it leaves running is killed when it ends or, if lasting is true, with the cluster. If it fails, the error is an
// [exec.ExitError]; if ctx ends, it is killed.
func (c *Cluster) Shell(ctx context.Context, line string, lasting bool) (out string, errs []string, err error) {
	kept := &ending{}
	p := &child{name: "the command", cmd: exec.Command("/bin/sh", "-c", line), mark: rand.Text(), lasting: lasting}
	p.cmd.Env = append(os.Environ(), netns.ShopMark+"="+p.mark)
	p.cmd.Stdout, p.cmd.WaitDelay = kept, drainTime
	if err := p.spawn(c, never, nil); err != nil {
		return "", nil, err
	}
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
		killMarked(p.mark)
		return "", nil, context.Cause(ctx)
	}
	if err = p.exitErr; errors.Is(err, exec.ErrWaitDelay) { // it ended well
		err = nil
	}
	return string(kept.text), p.Tail(), err
}

// An ending keeps the end of what is written to it.
type ending struct{ text []byte }

func (e *ending) Write(text []byte) (int, error) {
	e.text = append(e.text, text[max(0, len(text)-mostOutput):]...)
	e.text = slices.Delete(e.text, 0, max(0, len(e.text)-mostOutput))
	return len(text), nil
}
