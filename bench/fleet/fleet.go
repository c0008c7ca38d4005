// Package fleet starts and ends the worker processes of a comparison, and asks the Redis that they use.
//
// Each child ends when its standard input does. So none of them outlives the program, however that ends.
package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"stockapi/bench/worker"
)

// graceful limits the time that a child takes to end after its input has ended.
const graceful = 3 * time.Second

// A Process is one worker process.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *tail
}

// Start starts a worker process. It is killed when ctx ends.
func Start(ctx context.Context, command []string) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), errors: &tail{}}
	p.cmd.Stderr = p.errors
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

// Prepare gives the process a job, and waits until it is ready to begin.
func (p *Process) Prepare(job worker.Job) error {
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

// Begin lets the process begin with the job that it is ready for.
func (p *Process) Begin() error {
	_, err := io.WriteString(p.in, "\n")
	return p.why(err)
}

// Result waits for the result of the job.
func (p *Process) Result() (r worker.Result, err error) { return r, p.read(&r) }

func (p *Process) read(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return p.why(err)
	}
	return json.Unmarshal(line, answer)
}

// why adds what the process wrote last to an error of its pipes.
func (p *Process) why(err error) error {
	if err == nil {
		return nil
	}
	time.Sleep(50 * time.Millisecond) // its last words may be on their way
	if said := p.errors.last(); said != "" {
		return fmt.Errorf("a worker process ended: %s", said)
	}
	return fmt.Errorf("a worker process ended: %w", err)
}

// Close ends the process, by force if it does not end by itself.
func (p *Process) Close() {
	_ = p.in.Close()
	kill := time.AfterFunc(graceful, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
}

// CloseAll closes several processes at once.
func CloseAll(processes []*Process) {
	var all sync.WaitGroup
	for _, p := range processes {
		all.Go(p.Close)
	}
	all.Wait()
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text string
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(b)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(b), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(t.text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
