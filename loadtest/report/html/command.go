package html

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// Defaults are the defaults of loadtest's flags. The command only has the flags that differ from them.
var Defaults = history.Load{
	Requests: 300, Concurrency: 100, Stock: 100, Wait: 20 * time.Second, TTL: 30 * time.Second, Work: time.Millisecond,
}

// command returns the command that runs this cell alone, under the same load.
func command(run *history.Run, c *history.Cell) string {
	l, d := run.Load, Defaults
	args := []string{"go run ./loadtest", "--scenarios", quoted(c.Scenario), "--rungs", quoted(c.Rung)}
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

// plain matches what needs no quotes in any shell.
var plain = regexp.MustCompile(`^\w[\w.,-]*$`)

// quoted quotes what is not plain, as a forged file may have it: readers copy this line into a shell.
func quoted(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(clip(s, 80), "'", `'\''`) + "'"
}
