package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"stockapi/loadtest/bench"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
)

// benchFlags are the flags of the command bench.
type benchFlags struct {
	Rungs       []string      `placeholder:"RUNG" help:"Only these rungs, by number or by name. Default: all that need no server but a Redis."`
	For         time.Duration `default:"2s" help:"How long each rung is measured, after a warm-up of a quarter of it."`
	Concurrency int           `default:"64" help:"How many orders are under way, over both instances."`
	Wait        time.Duration `default:"2s" help:"How long an order waits for the lock. A rung takes so much longer at most."`
	Backend     string        `default:"auto" placeholder:"KIND" help:"Where stock and locks are kept: auto (redis-server from PATH, else embedded), embedded, redis-server, or the URL of a Redis."`
	Stockapi    string        `placeholder:"FILE" help:"The stockapi to start. Default: beside loadtest, else from PATH, else built from this module."`
	JSON        string        `name:"json" placeholder:"FILE" help:"Write all figures to FILE."`
}

// check refuses numbers that nothing can be measured with.
func (f *benchFlags) check() error {
	switch {
	case f.For < 10*time.Millisecond || f.For > time.Hour:
		return errors.New("--for must lie between 10ms and 1h")
	case f.Concurrency < 1 || f.Concurrency > 5000:
		return errors.New("--concurrency must lie between 1 and 5000")
	case f.Wait < 0 || f.Wait > time.Minute:
		return errors.New("--wait must lie between 0s and 1m")
	}
	return nil
}

// benchResult is the content of the file that --json names.
type benchResult struct {
	Build       string          `json:"build"`
	Started     time.Time       `json:"started"`
	Machine     history.Machine `json:"machine"`
	Backend     history.Backend `json:"backend"`
	Concurrency int             `json:"concurrency"`
	Wait        time.Duration   `json:"wait"`
	Figures     []bench.Figure  `json:"figures"`
}

// run measures, prints a line for each rung, and returns the exit code.
func (f *benchFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if err := f.check(); err != nil {
		return complain(stderr, err)
	}
	specs, err := bench.Specs(f.Rungs)
	if err != nil {
		return complain(stderr, err)
	}
	shown := terminal.NewProgress(stderr, terminal.Of(stderr))
	defer shown.Close()
	result := benchResult{Build: thisBuild(), Started: time.Now(), Concurrency: f.Concurrency, Wait: f.Wait,
		Machine: history.ThisMachine()}
	settings := bench.Settings{Backend: f.Backend, Stockapi: f.Stockapi, Concurrency: f.Concurrency, For: f.For,
		Wait: f.Wait, Say: shown.Say}
	table := benchTable{w: stdout}
	err = bench.Do(ctx, settings, specs, func(b history.Backend) {
		shown.Clear()
		result.Backend = b
		table.head(f, b)
	}, func(figure bench.Figure) {
		shown.Clear()
		result.Figures = append(result.Figures, figure)
		table.line(&figure)
	})
	shown.Close()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if err = errors.Join(err, f.write(&result)); err != nil {
		return complain(stderr, err)
	}
	return result.code(stdout)
}

// write writes the file that was asked for.
func (f *benchFlags) write(result *benchResult) error {
	if f.JSON == "" {
		return nil
	}
	return history.WriteFile(f.JSON, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(result)
	})
}

// code says which rungs sold a unit twice that were expected not to, and returns the exit code.
func (r *benchResult) code(stdout io.Writer) int {
	code := asExpected
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Oversold() {
			fmt.Fprintf(stdout, "%s sold %d units twice, and is expected to sell none\n", f.Rung, f.Twice)
			code = surprised
		}
	}
	return code
}

// A benchTable prints figures as they come.
type benchTable struct {
	w io.Writer
	// loop is the rate of the loop of GET and SET, with which those of the rungs are compared.
	loop float64
}

const benchColumns = "%-22s %8s %7s %7s %7s %8s %8s %8s %6s\n"

func (t *benchTable) head(f *benchFlags, b history.Backend) {
	fmt.Fprintf(t.w, "closed loop over HTTP: 2 instances, %d at once, %s for each after %s; wait %s, work 0s\n",
		f.Concurrency, f.For, f.For/4, f.Wait)
	fmt.Fprintf(t.w, "%s\n%s\n", b.Text, b.Stockapi)
	if b.Kind == "embedded" {
		fmt.Fprintln(t.w, terminal.EmbeddedNote)
	}
	fmt.Fprintln(t.w)
	fmt.Fprintf(t.w, benchColumns, "", "sold/s", "of loop", "busy/s", "other/s", "p50 ms", "p99 ms", "cmd/sale", "twice")
}

func (t *benchTable) line(f *bench.Figure) {
	rate := func(n int) string { return fmt.Sprintf("%.0f", f.Rate(n)) }
	name, ratio, perSale, twice := f.Rung+" "+f.Name, "", "–", fmt.Sprint(f.Twice)
	switch {
	case f.NotRun != "":
		fmt.Fprintf(t.w, "%-22s %s\n", name, f.NotRun)
		return
	case f.Limit:
		name, twice = "limit: "+f.Name, "–"
		t.loop = f.Rate(f.Sold) // the loop is the last limit
	case t.loop > 0:
		ratio = fmt.Sprintf("%.2f", f.Rate(f.Sold)/t.loop)
	}
	if f.Commands > 0 {
		perSale = fmt.Sprintf("%.1f", f.Commands)
	}
	fmt.Fprintf(t.w, benchColumns, name, rate(f.Sold), ratio, rate(f.Busy), rate(f.Others),
		milliseconds(f.Latency.P50), milliseconds(f.Latency.P99), perSale, twice)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }
