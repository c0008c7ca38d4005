package html

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// Defaults are the defaults of loadtest's flags. The command only has the flags that differ from them.
var Defaults = history.Load{
	Requests: 300, Concurrency: 100, Stock: 100, Wait: 20 * time.Second, TTL: 30 * time.Second, Work: time.Millisecond,
}

// command returns the command that runs this cell alone, under the same load. In a run of several parties each has to
// be started with it.
func command(run *history.Run, c *history.Cell) string {
	l, d := run.Load, Defaults
	args := []string{"go run ./loadtest", "--scenarios", quoted(c.Scenario), "--rungs", quoted(c.Rung),
		"--seed", fmt.Sprint(seed(run, c))}
	add := func(differs bool, flag string, value any) {
		if differs {
			args = append(args, flag, fmt.Sprint(value))
		}
	}
	add(run.Backend.Kind == "embedded", "--backend", "embedded")
	add(run.Backend.Kind == "url", "--backend", "URL")
	add(run.Backend.Kind == "targets", "--targets", "URL,URL")
	each := len(c.Instances)
	if parties := len(run.Parties); parties > 0 {
		add(true, "--join", "NAME")
		add(true, "--parties", parties)
		add(run.Backend.Kind == "targets", "--meet", "URL")
		each /= parties
	}
	add(each > 2, "--instances", each)
	add(l.Requests != d.Requests, "--requests", l.Requests)
	add(l.Concurrency != d.Concurrency, "--concurrency", l.Concurrency)
	add(l.Stock != d.Stock, "--stock", l.Stock)
	add(l.Rate > 0, "--rate", l.Rate)
	add(l.Wait != d.Wait, "--wait", l.Wait)
	add(l.TTL != d.TTL, "--ttl", l.TTL)
	add(l.Work != d.Work, "--work", l.Work)
	return strings.Join(args, " ")
}

// numbered finds the number of a cell within its run in its product's name, such as "lt-2816f6c7-6-v0_5".
var numbered = regexp.MustCompile(`^lt-[0-9a-f]+-(\d{1,6})-`)

// seed returns the seed of the cell: the run's seed, plus the number of cells before it.
func seed(run *history.Run, c *history.Cell) uint64 {
	m := numbered.FindStringSubmatch(c.Product)
	if m == nil {
		return run.Seed
	}
	n, _ := strconv.ParseUint(m[1], 10, 64) // six digits at most
	return run.Seed + max(n, 1) - 1
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
