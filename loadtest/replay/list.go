package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"stockapi/loadtest/history"
	"stockapi/loadtest/schedule"
)

// An Entry is a trace of a list, and the verdicts that it should break.
type Entry struct {
	Trace  schedule.Trace
	Fault  string // the kind of fault under which it was found
	Breaks []history.Verdict
	// Not is the reason why real processes do not break them, "" if they do.
	Not string
}

// Verdicts names the verdicts of an entry.
func (e Entry) Verdicts() string {
	names := make([]string, len(e.Breaks))
	for i, v := range e.Breaks {
		names[i] = string(v)
	}
	return strings.Join(names, ",")
}

// ReadList returns the traces of a file.
func ReadList(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := parseList(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// parseList parses a list of traces. A line has the kind of fault, the verdicts that the trace breaks, and the trace;
// after a # comes why real processes do not break them. A line that begins with # is a comment.
//
//	expiry      own-release      v3:aaaa.expiry.ba
//	clock-jump  stock,exclusion  v4:aa.clock-jump-1.bbba  # virtual only
func parseList(from io.Reader) (list []Entry, err error) {
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		text, why, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		one, err := parseEntry(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		one.Not = strings.TrimSpace(why)
		list = append(list, one)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line has more than %d KB: put one trace on each line", bufio.MaxScanTokenSize>>10)
	}
	return list, lines.Err()
}

func parseEntry(fields []string) (e Entry, err error) {
	if len(fields) != 3 {
		return e, fmt.Errorf("a line must have a fault, verdicts and a trace, such as %q",
			"expiry own-release v3:aaaa.expiry.ba")
	}
	e.Fault = fields[0]
	if e.Breaks, err = ParseVerdicts(strings.Split(fields[1], ",")); err != nil {
		return e, err
	}
	e.Trace, err = schedule.ParseTrace(fields[2])
	return e, err
}

// ParseVerdicts returns the verdicts of these names. An unknown name is an error.
func ParseVerdicts(names []string) (verdicts []history.Verdict, err error) {
	for _, name := range names {
		v := history.Verdict(name)
		if !slices.Contains(history.Verdicts, v) {
			return nil, fmt.Errorf("unknown verdict %q: use %v", name, history.Verdicts)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// Broken returns the verdicts that a cell breaks.
func Broken(c *history.Cell) (broken []history.Verdict) {
	for _, f := range c.Findings {
		if f.Result == history.Broken {
			broken = append(broken, f.Verdict)
		}
	}
	return broken
}

// Missing returns which of the wanted verdicts a cell does not break.
func Missing(c *history.Cell, wanted []history.Verdict) (missing []history.Verdict) {
	broken := Broken(c)
	for _, v := range wanted {
		if !slices.Contains(broken, v) {
			missing = append(missing, v)
		}
	}
	return missing
}
