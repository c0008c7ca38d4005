package terminal

import (
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

// embeddedNote is printed if figures were measured on the embedded Redis.
const embeddedNote = "Do not compare the rungs' speed here: " +
	"Lua is about 10 times slower on the embedded Redis than on Redis."

// Header prints the conditions of the run; crowds means that some cells used the run's load, not only those of the
// faults. Lines are wrapped only on a terminal, since programs read them.
func (p Printer) Header(run *history.Run, crowds bool) {
	m, l := run.Machine, run.Load
	line := func(head, text string) {
		if p.Width == 0 {
			fmt.Fprintf(p, "%-10s%s\n", head, text)
			return
		}
		p.wrapped(fmt.Sprintf("%-10s", head), 10, text)
	}
	line("run", fmt.Sprintf("%s, %s on %s/%s with %d CPUs, %s",
		run.ID, run.Started.Format(time.RFC3339), m.OS, m.Arch, m.CPUs, m.Go))
	line("backend", run.Backend.Text)
	line("stockapi", run.Backend.Stockapi)
	if crowds {
		loop := "closed loop"
		if l.Rate > 0 {
			loop = fmt.Sprintf("%g/s in an open loop", l.Rate)
		}
		line("load", fmt.Sprintf("%d buyers of %d units, %d at once, %s; wait %s, ttl %s, work %s",
			l.Requests, l.Stock, l.Concurrency, loop, l.Wait, l.TTL, l.Work))
		if run.Backend.Kind == "embedded" {
			line("", embeddedNote)
		}
	}
	fmt.Fprintln(p)
}
