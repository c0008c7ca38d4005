package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"stockapi/loadtest/attack"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/fleet"
	"stockapi/loadtest/history"
	"stockapi/loadtest/join"
	"stockapi/loadtest/report"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/shop"
)

// redlockNodes is how many independent nodes Redlock gets.
const redlockNodes = 5

// session is one run under way.
type session struct {
	flags    *runFlags
	specs    []catalog.Spec
	stdout   io.Writer
	progress *report.Progress
	client   *shop.Client
	ground   ground
	history  *history.Run
	party    *join.Party // nil if the run is not made together with others
	spool    *history.Spool
	stalls   *attack.StallMeter
	sent     atomic.Int64

	mu    sync.Mutex
	swept error // the first product that could not be removed from the backend
}

// run runs what the flags select and returns the exit code.
func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if err := f.check(); err != nil {
		return complain(stderr, err)
	}
	specs, err := catalog.Select(f.Scenarios, f.Rungs, f.Instances, f.Repeat)
	if err != nil {
		return complain(stderr, err)
	}
	if specs, err = f.joinable(specs); err != nil {
		return complain(stderr, err)
	}
	if err := f.checkOutputs(); err != nil {
		return complain(stderr, err)
	}
	s := &session{
		flags: f, specs: specs, stdout: stdout, history: f.newHistory(),
		progress: report.NewProgress(stderr, terminal(stderr)),
		client:   shop.NewClient(f.Concurrency, f.AdminToken), stalls: attack.NewStallMeter(), spool: f.newSpool(),
	}
	s.client.StockTTL = f.stockTTL()
	defer func() { _ = s.spool.Close() }()
	defer s.stalls.Close()
	defer s.progress.Close()
	defer s.client.Close()
	err = s.together(ctx)
	s.progress.Close()
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return s.finish(err, stderr)
}

// newSpool makes the place for orders that are too many for memory: beside the results, if there are to be any. What one
// of several load generators measured goes to the others as a whole.
func (f *runFlags) newSpool() *history.Spool {
	switch {
	case f.Join != "":
		return history.Memory()
	case f.Out != "":
		return history.NewSpool(f.Out)
	case f.JSON != "":
		return history.NewSpool(besides(f.JSON))
	}
	return history.NewSpool(os.TempDir())
}

// besides is the directory of a file, or another one if that is none that files can be made in.
func besides(file string) string {
	if fi, err := os.Stat(file); err == nil && !fi.Mode().IsRegular() {
		return os.TempDir()
	}
	return filepath.Dir(file)
}

// newHistory describes the run before it begins.
func (f *runFlags) newHistory() *history.Run {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	seedOf := ""
	if f.Rate > 0 {
		seedOf = "when each order falls due"
	}
	return &history.Run{
		ID: hex.EncodeToString(id[:]), Seed: *f.Seed, Started: time.Now(), Loadtest: thisBuild(),
		SeedOf:  seedOf,
		Machine: history.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()},
		Load: history.Load{
			Requests: f.Requests, Concurrency: f.Concurrency, Stock: f.Stock, Rate: f.Rate,
			Wait: f.Wait, TTL: f.TTL, Work: f.Work, Repeat: f.Repeat,
		},
	}
}

// carryOut finds the ground and runs the cells on it. What was measured stays in the history, error or not.
func (s *session) carryOut(ctx context.Context) (err error) {
	if len(s.flags.Targets) > 0 {
		s.ground = &targets{urls: s.flags.Targets, client: s.client}
		return s.cells(ctx)
	}
	f, ctx, err := fleet.New(ctx, s.options())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.progress.Say("starting Redis and stockapi…")
	own, err := newOwn(ctx, f, s.client)
	if err != nil {
		return err
	}
	own.flags, own.party = s.flags, s.party
	s.ground = own
	err = s.cells(ctx)
	s.sweep(ctx, s.opening(), err)
	return err
}

// opening is the product that our instances open their shop with, and that nobody buys.
func (s *session) opening() string {
	if s.party != nil {
		return "lt-" + s.history.ID + "-" + s.party.Name()
	}
	return "lt-" + s.history.ID
}

func (s *session) options() fleet.Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	redlock, zookeeper, database := 0, false, false
	for _, spec := range s.specs {
		if s.party != nil && unshared(s.flags, spec.Rung) != "" {
			continue
		}
		zookeeper = zookeeper || spec.Rung.OnZooKeeper()
		database = database || spec.Rung.OnSQL()
		if spec.Rung.OnNodes() {
			redlock = redlockNodes
		}
	}
	return fleet.Options{
		Self: []string{self, "guardian"}, Stockapi: s.flags.Stockapi, Backend: s.flags.Backend, Redlock: redlock,
		ZooKeeper: zookeeper, ZooKeeperAddress: s.flags.ZooKeeper, Database: database, SQL: s.flags.SQL,
		Product: s.opening(), Token: s.flags.AdminToken, Max: s.flags.bounds(), Say: s.progress.Say,
	}
}

// crowds is how many cells with a crowd run side by side on the embedded Redis. Elsewhere they run alone, so that their
// speed can be compared, which it cannot there anyway.
const crowds = 2

// cells runs all cells: first those in which a crowd contends, and then the rest side by side.
func (s *session) cells(ctx context.Context) error {
	s.history.Backend = s.ground.backend()
	if err := s.introduce(ctx); err != nil {
		return err
	}
	s.progress.Clear()
	report.Header(s.stdout, s.history)
	s.progress.Expect(s.specs)
	faults := slices.IndexFunc(s.specs, func(spec catalog.Spec) bool { return spec.Scenario.Fault() })
	if faults < 0 {
		faults = len(s.specs)
	}
	done := make([]*history.Cell, len(s.specs))
	defer func() {
		s.history.Cells = slices.DeleteFunc(done, func(c *history.Cell) bool { return c == nil })
	}()
	if err := s.contention(ctx, done, faults); err != nil {
		return err
	}
	s.progress.Status(nil)
	return s.sideBySide(ctx, done, faults, len(s.specs), s.flags.AtOnce)
}

// contention runs the first n cells, those of the crowds.
func (s *session) contention(ctx context.Context, done []*history.Cell, n int) error {
	if s.history.Backend.Kind == "embedded" && s.party == nil {
		return s.sideBySide(ctx, done, 0, n, crowds)
	}
	return s.alone(ctx, done, n)
}

// alone runs the first n cells one after the other, and makes each one's instances ready while the one before it runs.
func (s *session) alone(ctx context.Context, done []*history.Cell, n int) (err error) {
	next := s.following(ctx, -1, n)
	defer func() { (<-next).leave() }()
	for i := range n {
		st := <-next
		next = s.following(ctx, i, n)
		if err := s.one(ctx, done, i, st); err != nil {
			return err
		}
	}
	return nil
}

// sideBySide runs the cells from number from to before number to, so many at a time.
func (s *session) sideBySide(ctx context.Context, done []*history.Cell, from, to, atOnce int) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for i := from; i < to; i++ {
		all.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return s.one(ctx, done, i, <-s.ground.prepare(ctx, s.specs[i]))
		})
	}
	return all.Wait()
}

// one runs cell number i and tells of it.
func (s *session) one(ctx context.Context, done []*history.Cell, i int, st stage) error {
	cell, err := s.cell(ctx, i, s.specs[i], st)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the reason for the reason: a process that died, say
		}
		return fmt.Errorf("%s: %w", s.specs[i].Title(), err)
	}
	if again, slow := s.specs[i].AgainLonger(cell); slow {
		if cell, err = s.cell(ctx, i, again, <-s.ground.prepare(ctx, again)); err != nil {
			return fmt.Errorf("%s, once more: %w", s.specs[i].Title(), cmp.Or(context.Cause(ctx), err))
		}
	}
	done[i] = cell
	s.progress.Finished(cell)
	return nil
}

// following prepares the cell after number i, of the first n; after the last, nothing.
func (s *session) following(ctx context.Context, i, n int) <-chan stage {
	if i+1 < n {
		return s.ground.prepare(ctx, s.specs[i+1])
	}
	nothing := make(chan stage, 1)
	nothing <- stage{leave: func() {}}
	return nothing
}

// cell runs one cell on its stage, and leaves nothing of it behind: first its instances go, then its keys.
func (s *session) cell(ctx context.Context, i int, spec catalog.Spec, st stage) (cell *history.Cell, err error) {
	product := fmt.Sprintf("lt-%s-%d-%s", s.history.ID, i+1, strings.ReplaceAll(spec.Rung.Number, ".", "_"))
	if st.err != nil || st.notRun != "" && s.party == nil {
		st.leave()
		return notRun(spec, product, st.notRun), st.err
	}
	defer func() {
		s.client.Close() // a connection dialled and never used would hold up an instance's shutdown for seconds
		st.leave()
		s.sweep(ctx, product, err)
	}()
	if !spec.Scenario.Fault() {
		s.progress.Status(func() string {
			return fmt.Sprintf("cell %d of %d, %s: %d of %d requests", i+1, len(s.specs), spec.Title(), s.sent.Load(), s.flags.Requests)
		})
	}
	runner := &scenario.Runner{
		Client: s.client, Load: s.history.Load, Seed: s.history.Seed + uint64(i), Sent: &s.sent, Targets: st.targets,
		Spool: s.spool, Stalls: s.stalls,
	}
	if s.party != nil {
		runner.Joint, runner.Seed = s.party.Cell(i+1, st.notRun), s.party.Seed(s.history.Seed, i)
	}
	return runner.Run(ctx, spec, product, st.urls)
}

// sweep removes a product. That it could not is worth a word of its own, unless all went wrong anyway.
func (s *session) sweep(ctx context.Context, product string, err error) {
	swept := s.ground.clear(context.WithoutCancel(ctx), product)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept == nil && (err == nil || errors.Is(err, context.Canceled)) {
		s.swept = swept
	}
}

// notRun is the cell of a spec that cannot take place here.
func notRun(spec catalog.Spec, product, why string) *history.Cell {
	return &history.Cell{
		Scenario: spec.Scenario.Name, Rung: spec.Rung.Number, Name: spec.Rung.Name, Repetition: spec.Repetition,
		Product: product, NotRun: why,
	}
}
