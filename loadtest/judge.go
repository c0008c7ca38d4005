package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
	"stockapi/loadtest/scenario"
)

// judgeFlags are the flags of the command judge.
type judgeFlags struct {
	URLs        []string `arg:"" name:"url" help:"Where the instances listen, such as http://127.0.0.1:5000. A single one shows nothing about locks between instances."`
	Rung        string   `placeholder:"RUNG" help:"The rung to judge, as the service names it. Default: the first one listed."`
	Requests    int      `default:"300" help:"Buyers in a crowd."`
	Concurrency int      `default:"100" help:"Buyers at once."`
	Stock       int64    `default:"100" help:"Units to sell."`
}

// notTried says first what a clean result does not mean.
const notTried = "nobody is killed, stopped or cut off, and no server fails over: a lock that a crash or a pause " +
	"breaks passes this"

// run tries the service and prints the verdicts. The exit code is 0 if nothing is BROKEN, 1 if something is, and 2 if a
// verdict is unknown, or the service could not be tried.
func (f *judgeFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if err := errors.Join(loadSizes(f.Requests, f.Concurrency, f.Stock), checkURLs(f.URLs)); err != nil {
		return complain(stderr, fmt.Errorf("judge: %w", err))
	}
	own := client.New(f.Concurrency, adminToken())
	own.StockTTL = time.Hour
	defer own.Close()
	rung, err := f.rung(ctx, own)
	if err != nil {
		return complain(stderr, fmt.Errorf("judge: %w", err))
	}
	stalls := load.NewStallMeter()
	defer stalls.Close()
	runner := &scenario.Runner{Client: own, Stalls: stalls, Load: history.Load{
		Requests: f.Requests, Concurrency: f.Concurrency, Stock: f.Stock,
		Wait: 20 * time.Second, TTL: 30 * time.Second, Work: time.Millisecond,
	}}
	fmt.Fprintf(stdout, "%s of %s\nnot tried: %s\n", rung, strings.Join(f.URLs, " and "), notTried)
	trials := scenario.Trials()
	if len(f.URLs) == 1 {
		fmt.Fprintln(stdout, "not tried: two instances, as one URL was given: a mutex in one process passes this")
		trials = slices.DeleteFunc(trials, func(t scenario.Trial) bool { return t.Name == "two-instances" })
	}
	fmt.Fprintln(stdout)
	var cells []*history.Cell
	for _, t := range trials {
		fmt.Fprintf(stderr, "%s: %s…\n", t.Name, t.Does)
		product := "judge-" + strings.ToLower(rand.Text()[:8])
		cell, err := runner.Try(ctx, t, rung, product, f.URLs)
		if stays := own.Forget(context.WithoutCancel(ctx), f.URLs[0], product); stays != nil && err == nil {
			complain(stderr, fmt.Errorf("%s: its product was not removed: %w", t.Name, stays))
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		if err != nil {
			printJudged(stdout, cells)
			return complain(stderr, fmt.Errorf("judge: %s: %w", t.Name, err))
		}
		cells = append(cells, cell)
	}
	return printJudged(stdout, cells)
}

// rung returns the rung to judge, if the first instance offers it.
func (f *judgeFlags) rung(ctx context.Context, own *client.Client) (string, error) {
	ladder, err := own.Ladder(ctx, f.URLs[0])
	if err != nil {
		return "", err
	}
	var offered []string
	for _, r := range ladder.Rungs {
		switch {
		case !r.Available:
			continue
		case f.Rung == "", strings.EqualFold(f.Rung, r.Number), strings.EqualFold(f.Rung, string(r.Name)):
			return r.Number, nil
		}
		offered = append(offered, r.Number)
	}
	if len(offered) == 0 {
		return "", errors.New("GET /rungs lists no rung that is available")
	}
	return "", fmt.Errorf("it offers no rung %q%s; it offers %s", f.Rung, catalog.DidYouMean(f.Rung, offered),
		strings.Join(offered, ", "))
}

// printJudged prints a line for each cell and the story of each that is broken, and returns the exit code.
func printJudged(stdout io.Writer, cells []*history.Cell) int {
	if len(cells) == 0 {
		return couldNotRun
	}
	table, code := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0), asExpected
	var stories []string
	tell := func(format string, args ...any) {
		stories = append(stories, fmt.Sprintf(format, args...))
	}
	verdicts := []history.Verdict{history.Stock, history.Exclusion, history.OwnRelease, history.Liveness, history.Fence}
	fmt.Fprint(table, "\tsold\tleft")
	for _, v := range verdicts {
		fmt.Fprintf(table, "\t%s", v)
	}
	fmt.Fprintln(table)
	for _, c := range cells {
		if why := c.WhyNot() + c.Aborted; why != "" {
			tell("%s: not tried: %s", c.Scenario, why)
			code = couldNotRun
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%s", c.Scenario, c.Tally().Sold, c.LeftByBuyers())
		for _, v := range verdicts {
			f := c.Finding(v)
			fmt.Fprintf(table, "\t%s", f.Result)
			if f.Result == history.Indeterminate {
				tell("%s: %s unknown: %s", c.Scenario, v, f.Because)
				code = couldNotRun
			}
		}
		fmt.Fprintln(table)
		if busy := c.Coverage.WereBusy(); busy != "" {
			tell("%s: %s", c.Scenario, busy)
		}
		if story := audit.Story(c.Findings); story != "" {
			tell("%s: %s", c.Scenario, story)
		}
	}
	_ = table.Flush()
	for _, v := range []history.Verdict{history.Exclusion, history.OwnRelease} {
		if why := memberless(v, cells...); why != "" {
			tell("%s was not asked: %s", v, why)
		}
	}
	for _, story := range stories {
		fmt.Fprintf(stdout, "\n%s\n", story)
	}
	broken := func(c *history.Cell) bool { return audit.Story(c.Findings) != "" }
	if slices.ContainsFunc(cells, broken) {
		return surprised
	}
	return code
}
