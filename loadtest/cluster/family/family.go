// Package family finds the processes of a service: those that it has started, wherever they have gone.
package family

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stockapi/loadtest/cluster/netns"
)

// NoGroup matches no group.
const NoGroup = -1

// Of returns the processes of a child: those of its group, those with its mark, if any, and all descendants whose
// parents still run.
func Of(group int, mark string) (its []Process, err error) {
	all, err := All()
	of := map[int]bool{}
	for _, p := range all {
		of[p.PID] = p.Group == group || mark != "" && bears(p.PID, mark)
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if of[p.Parent] && !of[p.PID] {
				of[p.PID], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(p Process) bool { return !of[p.PID] }), err
}

// bears reports whether a process has a mark in its environment. It is false if the environment cannot be read: of
// another user's process, of one that has overwritten it with a title, or outside Linux.
func bears(pid int, mark string) bool {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return slices.Contains(strings.Split(string(environment), "\x00"), netns.ShopMark+"="+mark)
}

// A Process is one entry of the process list. Its State is "T" if it is stopped.
type Process struct {
	PID, Parent, Group int
	State              string
}

// All reads the list of processes from the system. Waiting for state changes is not possible: a second wait would
// steal the exit that os/exec waits for, and a child's children are not ours to wait for.
func All() (all []Process, err error) {
	add := func(pid, parent, group, state string) {
		if p := (Process{State: state[:1]}); p.State != "Z" && p.State != "X" {
			_, err := fmt.Sscan(pid+" "+parent+" "+group, &p.PID, &p.Parent, &p.Group)
			if err == nil {
				all = append(all, p)
			}
		}
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The format is: pid (name) state parent group …, where the name may contain anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		add(filepath.Base(filepath.Dir(path)), fields[1], fields[2], fields[0])
	}
	if len(stats) > 0 {
		return all, nil
	}
	listed, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state=").Output()
	for line := range strings.Lines(string(listed)) {
		if fields := strings.Fields(line); len(fields) == 4 {
			add(fields[0], fields[1], fields[2], fields[3])
		}
	}
	return all, err
}
