package replay

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
	// settleTime bounds how long an instance may take to come to rest.
	settleTime = 2 * time.Second
	// blindGap is the time that instances get where the system does not say what they do.
	blindGap = 25 * time.Millisecond
)

// settle waits until the instances have done all that they can do without a reply and without more time: nothing comes
// to the gate any more, and all threads of the processes sleep. So a step that is taken next finds what it would find
// if no time had passed.
func settle(ctx context.Context, g *gate, pids []int) {
	for begun := time.Now(); time.Since(begun) < settleTime && ctx.Err() == nil; {
		before := g.Happened()
		asleep, known := allSleep(pids)
		if !known {
			time.Sleep(blindGap)
			return
		}
		time.Sleep(quietGap)
		again, _ := allSleep(pids)
		if asleep && again && g.Happened() == before {
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
