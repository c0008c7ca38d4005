package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"time"
)

const (
	// mostOutput bounds what is kept of a shell command's output, in bytes.
	mostOutput = 64 << 10
	// drainTime bounds the reading of output that a process left by an ended shell command keeps open.
	drainTime = time.Second
)

// Shell runs a shell command to its end, and returns what it printed, and the last lines of its errors. What it leaves
// running is killed when it ends or, if lasting is true, with the cluster.
func (c *Cluster) Shell(ctx context.Context, line string, lasting bool) (out string, errs []string, err error) {
	kept := &beginning{}
	p := &child{name: "the command", cmd: exec.Command("/bin/sh", "-c", line), mark: rand.Text(), lasting: lasting}
	p.cmd.Env = append(os.Environ(), shopMark+"="+p.mark)
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

// A beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(text []byte) (int, error) {
	b.text = append(b.text, text[:min(len(text), mostOutput-len(b.text))]...)
	return len(text), nil
}
