package main

import (
	"errors"
	"fmt"
	"os"

	"stockapi/loadtest/replay"
	"stockapi/loadtest/schedule"
)

// replayFlags are the flags of the command replay.
type replayFlags struct {
	Trace   string   `arg:"" optional:"" help:"The trace, such as v3:aaaa.expiry.ba."`
	File    string   `placeholder:"FILE" help:"Replay all traces of a file instead, and print a line for each: its fault, what it is to break, the trace, and after a # why real processes do not break that."`
	Expect  []string `placeholder:"VERDICT" help:"What the trace has to break: stock, exclusion, own-release, liveness, fence."`
	Backend string   `enum:"redis-server,embedded,auto" default:"redis-server" help:"The servers: redis-server, or embedded, which is no real Redis; auto is whichever there is."`
	Out     string   `placeholder:"DIR" help:"Write results.jsonl.gz, with the histories, matrix.txt and report.html to DIR."`
}

// entries returns what is to be replayed.
func (f *replayFlags) entries() ([]replay.Entry, error) {
	switch {
	case (f.Trace == "") == (f.File == ""):
		return nil, errors.New("name a trace, such as v3:aaaa.expiry.ba, or a file of traces with --file")
	case f.File != "" && len(f.Expect) > 0:
		return nil, errors.New("--expect is for one trace: the file says what each of its own breaks")
	case f.File != "":
		return replay.ReadList(f.File)
	}
	trace, err := schedule.ParseTrace(f.Trace)
	if err != nil {
		return nil, err
	}
	breaks, err := replay.ParseVerdicts(f.Expect)
	if err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	return []replay.Entry{{Trace: trace, Breaks: breaks}}, replay.Check(trace)
}

// options returns the flags as those of an environment.
func (f *replayFlags) options(say func(string)) replay.Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return replay.Options{Self: []string{self, "guardian"}, Backend: f.Backend, Stockapi: theStockapi(), Say: say}
}
