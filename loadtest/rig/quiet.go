package rig

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// quietGap is the time between two looks at an instance, which must be quiet at both.
	quietGap = time.Millisecond
	// quietWithin bounds the wait for an instance to become idle.
	quietWithin = 2 * time.Second
	// blindGap is how long to wait where the system does not report the states of threads.
	blindGap = 25 * time.Millisecond
	// foreignGap is how long foreign services must send nothing, and foreignWithin bounds the wait for that.
	foreignGap, foreignWithin = 60 * time.Millisecond, time.Second
)

// Quiet waits until every live instance waits for a reply or a timer: no command arrives at the gate, and all threads
// sleep. So the next step is taken as if no time had passed. The processes of a foreign service are unknown, and it may
// sleep briefly after its answer and go on, so there the gate alone decides, over a longer time.
func (r *Rig) Quiet(ctx context.Context) {
	gap, within := quietGap, quietWithin
	var pids []int
	for _, e := range r.Ends {
		if !e.Dead && !r.foreign {
			pids = append(pids, e.In.Pid())
		}
	}
	if r.foreign {
		gap, within = foreignGap, foreignWithin
	}
	for begun := time.Now(); time.Since(begun) < within && ctx.Err() == nil; {
		before := r.Gate.Happened()
		asleep, known := allSleep(pids)
		if !known && !r.foreign {
			time.Sleep(blindGap)
			return
		}
		time.Sleep(gap)
		again, _ := allSleep(pids)
		if (asleep && again || r.foreign) && r.Gate.Happened() == before {
			return
		}
	}
}

// allSleep reports whether all threads of these processes sleep at one instant, and whether that is known. An ended
// process counts as asleep. Threads are read one after the other, while one may wake another and fall asleep itself: so
// none must have run meanwhile.
func allSleep(pids []int) (asleep, known bool) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		return false, false
	}
	before := ran(pids)
	return !slices.ContainsFunc(pids, isAwake) && ran(pids) == before, true
}

// isAwake reports whether a thread of a process does not sleep.
func isAwake(pid int) bool {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "stat"))
		if err != nil {
			continue
		}
		// The format is: pid (name) state …, where the name may contain anything.
		state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if state != "" && !strings.ContainsRune("SITtZX", rune(state[0])) {
			return true
		}
	}
	return false
}
