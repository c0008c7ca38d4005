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
	// foreignGap is the time in which nothing may come from foreign services, and foreignWithin bounds the wait for it.
	foreignGap, foreignWithin = 60 * time.Millisecond, time.Second
)

// Quiet waits until the live instances have done all that they can do without a reply and without more time: nothing
// comes to the gate any more, and all threads of the processes sleep. So a step that is taken next finds what it would
// find if no time had passed. Of foreign services the processes are not known, and what one does after its answer may
// come after a short sleep: there the gate alone decides, in a longer time.
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
