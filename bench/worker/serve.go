package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"stockapi/bench/contender"
)

// Serve does the jobs that come in, until the input ends.
func Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var job Job
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			return fmt.Errorf("read a job: %w", err)
		}
		if err := do(job, lines, answers); err != nil {
			return err
		}
	}
	return lines.Err()
}

// do does one job. It returns an error if nobody listens any more.
func do(job Job, lines *bufio.Scanner, answers *json.Encoder) error {
	client, err := open(job)
	if err != nil {
		return answers.Encode(Ready{Error: err.Error()})
	}
	defer client.Close()
	if err := answers.Encode(Ready{}); err != nil {
		return err
	}
	if !lines.Scan() {
		return io.ErrUnexpectedEOF
	}
	return answers.Encode(measure(job, client))
}

func open(job Job) (*contender.Client, error) {
	found, err := contender.Find([]string{job.Contender})
	if err != nil {
		return nil, err
	}
	return found[0].Open(contender.Settings{URL: job.URL, Keys: job.keys()})
}
