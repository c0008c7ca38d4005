package html

import (
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
)

// Defaults are the defaults of loadtest's flags. The command has only the flags that differ from them.
var Defaults = history.Load{
	Requests: 300, Concurrency: 100, Stock: 100, Wait: 20 * time.Second, TTL: 30 * time.Second, Work: time.Millisecond,
}

// command returns the command line that runs this cell alone, under the same load. It is empty if the cell is not in
// the table: readers paste it into a shell, and a forged file may have any name.
func command(run *history.Run, r *catalog.Row) string {
	if c := r.Shown().Cell; isReplay(c) {
		return replayCommand(c)
	}
	if _, known := r.Scenario.Expected(r.Rung); !known {
		return ""
	}
	c, l, d := r.Shown(), run.Load, Defaults
	args := []string{"go run ./loadtest", "--scenarios", c.Scenario, "--rungs", c.Rung}
	add := func(differs bool, flag string, value any) {
		if differs {
			args = append(args, flag, fmt.Sprint(value))
		}
	}
	add(run.Backend.Kind == "embedded", "--backend", "embedded")
	add(run.Backend.Kind == "url", "--backend", "URL")
	add(run.Backend.Kind == "targets", "--targets", "URL,URL")
	add(len(c.Instances) > 2, "--instances", len(c.Instances))
	add(l.Requests != d.Requests, "--requests", l.Requests)
	add(l.Concurrency != d.Concurrency, "--concurrency", l.Concurrency)
	add(l.Stock != d.Stock, "--stock", l.Stock)
	add(l.Rate > 0, "--rate", l.Rate)
	add(l.Wait != d.Wait, "--wait", l.Wait)
	add(l.TTL != d.TTL, "--ttl", l.TTL)
	add(l.Work != d.Work, "--work", l.Work)
	return strings.Join(args, " ")
}
