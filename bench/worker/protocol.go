// Package worker is one process of a measurement. It reads jobs from its standard input and answers on its standard
// output, one line of JSON each, until the input ends: the program that started it has ended then.
//
// For each job: a [Job] comes in, a [Ready] goes out when the connections stand; an empty line comes in, and the work
// begins; a [Result] goes out when all workers are done. ../redisson speaks the same.
package worker

import (
	"time"

	"stockapi/bench/contender"
)

// A Workload names the operations of the workers.
type Workload string

// The workloads.
const (
	Free Workload = "free" // each worker acquires and releases a lock of its own
	Hot  Workload = "hot"  // one lock for all: acquire, read the stock, write one less, release
)

// A Job is one measurement, as one process has to do it.
type Job struct {
	Contender string   `json:"contender"`
	Workload  Workload `json:"workload"`
	contender.Settings
	Process int `json:"process"` // its number, from 0
	Workers int `json:"workers"`
	// WarmUp comes before the measurement, and counts for nothing. Drain comes after it: no operation begins any more,
	// and those under way get that long to end. In milliseconds.
	WarmUpMS int64 `json:"warm_up_ms"`
	ForMS    int64 `json:"for_ms"`
	DrainMS  int64 `json:"drain_ms"`
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Ready answers a job. With an error the process cannot do it.
type Ready struct {
	Error string `json:"error,omitempty"`
}

// A Result counts the operations of one process, worker by worker.
type Result struct {
	Workers []Tally `json:"workers"`
}

// A Tally counts the outcomes of one worker's orders.
type Tally struct {
	// Done counts the operations that ended while it was measured.
	Done int64 `json:"done"`
	// TookUS lists the times, in microseconds, of the operations that began while it was measured: from wanting the lock
	// to having released it. Those that failed are among them, with how long they had taken by then.
	TookUS []int64 `json:"took_us"`
	// Sold lists the units that the worker sold, also outside of what is measured.
	Sold []int64 `json:"sold,omitempty"`
	// Failed counts all operations that failed. Of a sale that failed it is not known whether the stock was written.
	Failed int64  `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"` // of the first of them
}
