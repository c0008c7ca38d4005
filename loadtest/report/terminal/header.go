package terminal

import (
	"fmt"
	"io"
	"time"

	"stockapi/loadtest/history"
)

// Header prints what was run, and on what.
func Header(w io.Writer, run *history.Run) {
	m, l := run.Machine, run.Whole()
	fmt.Fprintf(w, "run       %s, %s%s on %s/%s with %d CPUs, %s\n",
		run.ID, seed(run), run.Started.Format(time.RFC3339), m.OS, m.Arch, m.CPUs, m.Go)
	fmt.Fprintf(w, "backend   %s\n", run.Backend.Text)
	fmt.Fprintf(w, "stockapi  %s\n", run.Backend.Stockapi)
	fmt.Fprintf(w, "load      %d buyers of %d units, %d at once, %s; wait %s, ttl %s, work %s%s\n",
		l.Requests, l.Stock, l.Concurrency, loop(l), l.Wait, l.TTL, l.Work, from(run.Parties))
	for i, p := range run.Parties {
		fmt.Fprintf(w, "%-9s %s on %s, %s/%s with %d CPUs\n",
			[]string{"parties", ""}[min(i, 1)], p.Name, p.Label, p.Machine.OS, p.Machine.Arch, p.Machine.CPUs)
	}
	if run.Backend.Kind == "embedded" {
		fmt.Fprintln(w, "          "+
			"Do not compare the rungs' speed here: Lua is about 10 times slower on the embedded Redis than on Redis.")
	}
	fmt.Fprintln(w)
}

// seed returns the seed and what it determines; nothing if it determines nothing.
func seed(run *history.Run) string {
	if run.SeedOf == "" {
		return ""
	}
	return fmt.Sprintf("seed %d (%s), ", run.Seed, run.SeedOf)
}

// from says from how many load generators the load comes, if from several.
func from(parties []history.Party) string {
	if len(parties) == 0 {
		return ""
	}
	return fmt.Sprintf("; from %d parties", len(parties))
}

func loop(l history.Load) string {
	if l.Rate > 0 {
		return fmt.Sprintf("%g/s in an open loop", l.Rate)
	}
	return "closed loop"
}
