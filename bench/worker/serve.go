package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"stockapi/bench/contender"
)

// Serve does the jobs that come in. When the input ends, so does the work that is under way.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		defer cancel(errors.New("the program that started this worker has ended"))
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- bytes.Clone(s.Bytes())
		}
	}()
	answers := json.NewEncoder(out)
	for line := range lines {
		var job Job
		if err := json.Unmarshal(line, &job); err != nil {
			return fmt.Errorf("read a job: %w", err)
		}
		if err := do(ctx, job, lines, answers); err != nil {
			return err
		}
	}
	return nil
}

// do does one job. It returns an error if nobody listens any more.
func do(ctx context.Context, job Job, lines <-chan []byte, answers *json.Encoder) error {
	client, err := open(job)
	if err != nil {
		return answers.Encode(Ready{Error: err.Error()})
	}
	defer client.Close()
	if err := answers.Encode(Ready{}); err != nil {
		return err
	}
	if _, more := <-lines; !more {
		return context.Cause(ctx)
	}
	return answers.Encode(measure(ctx, job, client))
}

func open(job Job) (*contender.Client, error) {
	found, err := contender.Find([]string{job.Contender})
	if err != nil {
		return nil, err
	}
	return found[0].Open(job.Settings)
}
