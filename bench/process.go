package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/bench/worker"
)

// graceful limits the time that a child takes to end after its input has ended.
const graceful = 3 * time.Second

// A process is one worker process. It ends when its standard input does, so it does not outlive this program, however
// that ends.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  bytes.Buffer // on its standard error
	ended sync.Once
}

// start starts a worker process. It is killed when ctx ends.
func start(ctx context.Context, command []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stderr = &p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return p, nil
}

// prepare gives the process a job, and waits until it is ready to begin.
func (p *process) prepare(job worker.Job) error {
	if err := json.NewEncoder(p.in).Encode(job); err != nil {
		return p.why(err)
	}
	var ready worker.Ready
	if err := p.read(&ready); err != nil {
		return err
	}
	if ready.Error != "" {
		return errors.New(ready.Error)
	}
	return nil
}

// begin lets the process begin with the job that it is ready for.
func (p *process) begin() error {
	_, err := io.WriteString(p.in, "\n")
	return p.why(err)
}

// result waits for the result of the job.
func (p *process) result() (r worker.Result, err error) { return r, p.read(&r) }

func (p *process) read(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return p.why(err)
	}
	return json.Unmarshal(line, answer)
}

// why ends a process whose pipes had an error, and adds what it wrote last to that error.
func (p *process) why(err error) error {
	if err == nil {
		return nil
	}
	p.close()
	if said := bytes.TrimSpace(p.said.Bytes()); len(said) > 0 {
		return fmt.Errorf("a worker process ended: %s", bytes.TrimSpace(said[bytes.LastIndexByte(said, '\n')+1:]))
	}
	return fmt.Errorf("a worker process ended: %w", err)
}

// close ends the process, by force if it does not end by itself.
func (p *process) close() {
	p.ended.Do(func() {
		_ = p.in.Close()
		kill := time.AfterFunc(graceful, func() { _ = p.cmd.Process.Kill() })
		defer kill.Stop()
		_, _ = io.Copy(io.Discard, p.out)
		_ = p.cmd.Wait()
	})
}

// each does something with all processes at once, and returns the first error.
func each(processes []*process, do func(i int, p *process) error) error {
	var all errgroup.Group
	for i, p := range processes {
		all.Go(func() error { return do(i, p) })
	}
	return all.Wait()
}

// closeAll closes several processes at once.
func closeAll(processes []*process) {
	_ = each(processes, func(_ int, p *process) error { p.close(); return nil })
}
