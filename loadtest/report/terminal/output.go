package terminal

import (
	"fmt"
	"io"
	"sync"
)

// An Output is the output of a program. It keeps the first write error, which the program reports once, when it exits.
type Output struct {
	io.Writer

	mu  sync.Mutex // not held while writing: a pipe may be full
	err error
}

// Write never returns an error; see [Output.Err].
func (o *Output) Write(b []byte) (int, error) {
	if _, err := o.Writer.Write(b); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return len(b), nil
}

// Err returns why the output is incomplete, nil if it is complete.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("cannot print the result: %w; redirect it to a file that can be written", o.err)
}
