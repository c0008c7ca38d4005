package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/load"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// session is one run under way.
type session struct {
	flags       *runFlags
	specs       []catalog.Spec
	token       string // the admin token of the instances
	progress    *terminal.Progress
	stdout      io.Writer
	client      *client.Client // for what the cells share
	environment environment
	history     *history.Run
	stalls      *load.StallMeter
	oneByOne    bool // one cell runs at a time

	mu    sync.Mutex
	swept error // the error of the first product that could not be removed from the backend
}

// newClient returns a client for one cell, or for what the cells share.
func (s *session) newClient() *client.Client {
	c := client.New(s.flags.Concurrency, s.token)
	c.StockTTL = stockTTL(s.history.Load)
	return c
}

// measure runs the cells, and returns the session with the history of the measured ones, even if it fails.
func (f *runFlags) measure(
	ctx context.Context, specs []catalog.Spec, progress *terminal.Progress, stdout io.Writer,
) (*session, error) {
	s := &session{
		flags: f, specs: specs, token: adminToken(),
		progress: progress, stdout: stdout, stalls: load.NewStallMeter(), history: f.newHistory(),
	}
	s.history.Selected = len(specs)
	defer s.stalls.Close()
	if len(f.Targets) == 0 && s.token == "" {
		s.token = rand.Text() // other users of the machine can reach the instances
	}
	s.client = s.newClient()
	defer s.client.Close()
	err := s.carryOut(ctx)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		s.history.Interrupted = err.Error()
	}
	return s, err
}

// newHistory returns the history of a run that has not begun.
func (f *runFlags) newHistory() *history.Run {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return &history.Run{
		ID: hex.EncodeToString(id[:]), Started: time.Now(), Loadtest: thisBuild(), Machine: history.ThisMachine(),
		Load: history.Load{
			Requests: f.Requests, Concurrency: f.Concurrency, Stock: f.Stock, Rate: f.Rate,
			Wait: f.Wait, TTL: f.TTL, Work: f.Work, Repeat: f.Repeat,
		},
	}
}

// keysLeft returns why keys may be left on the backend after a run that ended with err, or nil. If a server of the
// run's own has died, its keys are gone.
func (s *session) keysLeft(err error) error {
	if s.swept != nil && (err == nil || s.flags.outlasted()) {
		return s.swept
	}
	return nil
}

// carryOut sets up the environment and runs the cells. The history keeps measured cells even after an error.
func (s *session) carryOut(ctx context.Context) (err error) {
	if len(s.flags.Targets) > 0 {
		s.environment = &remote{urls: s.flags.Targets, client: s.client}
		return s.cells(ctx)
	}
	options := s.flags.clusterOptions(s.specs)
	options.Token, options.Product, options.Say = s.token, s.opening(), s.progress.Say
	c, ctx, err := cluster.New(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s.progress.Status("starting Redis and stockapi…")
	if s.environment, err = s.startLocal(ctx, c); err != nil {
		return err
	}
	err = s.cells(ctx)
	s.sweep(ctx, s.opening(), err)
	return err
}

// opening returns the product that our instances start with. No order buys it.
func (s *session) opening() string {
	return "lt-" + s.history.ID
}

// crowds is how many cells with a crowd are under way at a time. On the embedded Redis they run side by side. Elsewhere
// one runs while the instances of the next start, so that the speeds of the rungs can be compared.
const crowds = 2

// cells runs all cells: first those in which a crowd contends, and then the rest side by side.
func (s *session) cells(ctx context.Context) error {
	s.history.Backend = s.environment.backend()
	s.progress.Clear()
	crowd := func(spec catalog.Spec) bool { return spec.Scenario.Crowd }
	terminal.NewPrinter(s.stdout).Header(s.history, slices.ContainsFunc(s.specs, crowd))
	s.progress.Expect(s.specs)
	faults := slices.IndexFunc(s.specs, func(spec catalog.Spec) bool { return spec.Scenario.Fault() })
	if faults < 0 {
		faults = len(s.specs)
	}
	done := make([]*history.Cell, len(s.specs))
	defer func() {
		s.history.Cells = slices.DeleteFunc(done, func(c *history.Cell) bool { return c == nil })
	}()
	s.oneByOne = s.history.Backend.Kind != "embedded"
	if err := s.sideBySide(ctx, done, 0, faults, crowds); err != nil {
		return err
	}
	s.oneByOne = false
	return s.sideBySide(ctx, done, faults, len(s.specs), s.flags.AtOnce)
}

// sideBySide runs cells from..to-1, atOnce at a time, but only one at a time on an ensemble: three starting Java
// processes keep a small machine busy.
func (s *session) sideBySide(ctx context.Context, done []*history.Cell, from, to, atOnce int) error {
	all, inner := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	var onEnsemble, running sync.Mutex
	for i := from; i < to && inner.Err() == nil; i++ {
		all.Go(func() error {
			if s.specs[i].OnEnsemble() {
				onEnsemble.Lock()
				defer onEnsemble.Unlock()
			}
			if inner.Err() != nil {
				return context.Cause(inner)
			}
			env := s.environment.prepare(inner, s.specs[i])
			if s.oneByOne {
				running.Lock()
				defer running.Unlock()
			}
			return s.one(inner, done, i, env)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// one runs cell number i and reports it.
func (s *session) one(ctx context.Context, done []*history.Cell, i int, env cellEnvironment) error {
	cell, err := s.cell(ctx, i, s.specs[i], env)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the root cause, such as a process that died
		}
		return fmt.Errorf("%s: %w", s.specs[i].Title(), err)
	}
	if again, slow := s.specs[i].AgainLonger(cell); slow {
		if cell, err = s.cell(ctx, i, again, s.environment.prepare(ctx, again)); err != nil {
			return fmt.Errorf("%s, once more: %w", s.specs[i].Title(), cmp.Or(context.Cause(ctx), err))
		}
	}
	done[i] = cell
	s.progress.Finished(s.specs[i].Scenario.Assess(cell))
	return nil
}

// cell runs one cell in its environment, and then removes its instances and its keys, in that order.
func (s *session) cell(
	ctx context.Context, i int, spec catalog.Spec, env cellEnvironment,
) (cell *history.Cell, err error) {
	product := fmt.Sprintf("lt-%s-%d-%s", s.history.ID, i+1, strings.ReplaceAll(spec.Rung.Number, ".", "_"))
	if spec.Patience() > 0 { // a late command of the first try may have left a lock that never expires
		product += "-again"
	}
	if env.err != nil || env.notRun != "" {
		env.close()
		cell = spec.NewCell(product)
		if env.notRun != "" {
			cell.NotTested = &history.NotTested{Reason: env.notRun}
		}
		return cell, env.err
	}
	own := s.newClient() // closing a shared one would break requests of other cells
	defer func() {
		own.Close() // an unused connection would delay the shutdown of its instance for seconds
		env.close()
		s.sweep(ctx, product, err)
	}()
	runner := &scenario.Runner{
		Client: own, Load: s.history.Load, Targets: env.targets, Stalls: s.stalls,
	}
	return runner.Run(ctx, spec, product, env.urls)
}

// sweep removes a product. It keeps the error for [session.keysLeft], unless the run failed for another reason.
func (s *session) sweep(ctx context.Context, product string, err error) {
	swept := s.environment.clear(context.WithoutCancel(ctx), product)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept == nil && (err == nil || errors.Is(err, context.Canceled)) {
		s.swept = swept
	}
}

const (
	// leastStockTTL is the least TTL of a cell's stock on Redis.
	leastStockTTL = time.Hour
	// mostStockTTL is the longest TTL that stockapi accepts.
	mostStockTTL = 30 * 24 * time.Hour
)

// stockTTL returns the TTL of a cell's stock: an hour more than the longest duration of the cell, in which each buyer
// waits for the maximum, and the buyers of one worker follow each other. The stock is removed after the cell. The TTL
// is for a loadtest that is killed, on a Redis that outlives it.
func stockTTL(l history.Load) time.Duration {
	turns := float64((l.Requests + l.Concurrency - 1) / l.Concurrency)
	longest := turns * (l.Wait + l.Work + scenario.AnswerMargin).Seconds()
	if l.Rate > 0 {
		longest += float64(l.Requests) / l.Rate
	}
	if longest >= (mostStockTTL - leastStockTTL).Seconds() {
		return mostStockTTL
	}
	return leastStockTTL + time.Duration(longest)*time.Second
}
