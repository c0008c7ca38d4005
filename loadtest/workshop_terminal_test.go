//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// workshopTerminal is one in which a command goes on running.
type workshopTerminal struct {
	cmd    *exec.Cmd
	output tape
	gone   chan struct{}
}

// open starts a command in a terminal, after ending what ran there before, and waits for what is promised of it.
func (d *workshopDesk) open(ctx context.Context, number int, script string, promises []string) error {
	if err := d.shut(number); err != nil {
		return err
	}
	x := &workshopTerminal{gone: make(chan struct{})}
	x.cmd = d.shell(context.WithoutCancel(ctx), script, &x.output)
	if err := x.cmd.Start(); err != nil {
		return err
	}
	d.terminals[number] = x
	go func() {
		defer close(x.gone)
		_ = x.cmd.Wait() // an instance may be meant to crash
	}()
	return x.says(ctx, script, promises)
}

// said waits until a terminal has said what is promised of it.
func (d *workshopDesk) said(ctx context.Context, number int, promises []string) error {
	x, ok := d.terminals[number]
	if !ok {
		return fmt.Errorf("nothing runs in terminal %d", number)
	}
	here := make([]string, len(promises))
	for i, p := range promises {
		here[i] = d.here(p)
	}
	ctx, cancel := context.WithTimeout(ctx, saidTime)
	defer cancel()
	return x.says(ctx, fmt.Sprintf("terminal %d", number), here)
}

// saidTime bounds the time from the end of some commands until a terminal has said what is promised after them.
const saidTime = 10 * time.Second

func (x *workshopTerminal) says(ctx context.Context, script string, promises []string) error {
	for {
		err := kept(promises, script, &x.output)
		if err == nil {
			return nil
		}
		select {
		case <-x.gone:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// shut ends what runs in a terminal, if anything, as closing its window does.
func (d *workshopDesk) shut(number int) error {
	x, ok := d.terminals[number]
	if !ok {
		return nil
	}
	delete(d.terminals, number)
	select {
	case <-x.gone: // by itself, and its number may be another's by now
		return nil
	default:
		_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGTERM)
	}
	select {
	case <-x.gone:
		return nil
	case <-time.After(workshopTime):
		_ = x.cmd.Cancel()
		<-x.gone
		return fmt.Errorf("terminal %d: SIGTERM did not end it: %s", number, &x.output)
	}
}

// tape is an output that can be read while it is written.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
