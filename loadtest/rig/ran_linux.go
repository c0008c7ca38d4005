package rig

import (
	"time"

	"golang.org/x/sys/unix"
)

// ran returns for how long the threads of these processes have run. It counts nothing of an ended process.
func ran(pids []int) (all time.Duration) {
	const threads = 2 // of a process: CPUCLOCK_SCHED
	for _, pid := range pids {
		var t unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|threads), &t) == nil {
			all += time.Duration(t.Nano())
		}
	}
	return all
}
