package rig

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// quietGap is the time between two looks at an instance, which has to be quiet at both.
	quietGap = time.Millisecond
	// quietWithin bounds how long an instance may take to come to rest.
	quietWithin = 2 * time.Second
	// blindGap is the time that instances get where the system does not say what they do.
	blindGap = 25 * time.Millisecond
)

// Quiet waits until the live instances have done all that they can do without a reply and without more time: nothing
// comes to the gate any more, and all threads of the processes sleep. So a step that is taken next finds what it would
// find if no time had passed.
func (r *Rig) Quiet(ctx context.Context) {
	var pids []int
	for _, e := range r.Ends {
		if !e.Dead {
			pids = append(pids, e.In.Pid())
		}
	}
	for begun := time.Now(); time.Since(begun) < quietWithin && ctx.Err() == nil; {
		before := r.Gate.Happened()
		asleep, known := allSleep(pids)
		if !known {
			time.Sleep(blindGap)
			return
		}
		time.Sleep(quietGap)
		again, _ := allSleep(pids)
		if asleep && again && r.Gate.Happened() == before {
			return
		}
	}
}

// allSleep reports whether all threads of these processes sleep, and whether that is known. A process that has ended
// sleeps.
func allSleep(pids []int) (asleep, known bool) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		return false, false
	}
	for _, pid := range pids {
		threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if err != nil {
				continue
			}
			// pid (name) state …, where the name may hold anything.
			state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if state != "" && !strings.ContainsRune("SITtZX", rune(state[0])) {
				return false, true
			}
		}
	}
	return true, true
}
