package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// errUnprinted marks an output that is not complete.
var errUnprinted = errors.New("redirect it to a file that can be written")

// An output is the writer that a command prints to. It keeps the first error of a write to itself: run reports it once,
// at the end of the command.
type output struct {
	io.Writer

	mu  sync.Mutex // not held while it writes: a pipe may be full
	err error
}

// Write never returns an error; see failure.
func (o *output) Write(b []byte) (int, error) {
	if _, err := o.Writer.Write(b); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return len(b), nil
}

// failure returns why some output was not written, or nil.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("cannot print the result: %w; %w", o.err, errUnprinted)
}
