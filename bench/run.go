package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/fleet"
	"stockapi/bench/report"
)

// run measures everything and reports it. When the context ends, it ends all that it started, removes its keys, and
// reports what it has by then.
func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		return complain(stderr, err)
	}
	url, stop, err := f.redis(ctx, self)
	if err != nil {
		return complain(stderr, err)
	}
	defer stop()
	server, err := fleet.Reach(ctx, url)
	if err != nil {
		return complain(stderr, fmt.Errorf("--redis: %w", err))
	}
	defer server.Close()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return complain(stderr, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{flags: f, server: server, prefix: "bench:" + strings.ToLower(rand.Text()[:8]) + ":", self: []string{self}}
	defer b.closeJVMs()
	contenders := b.withRedisson(ctx, f.contenders, filepath.Join(dir, "redisson"), stderr)
	r := f.newReport(ctx, server)
	ended := b.measureAll(ctx, f.plan(contenders), r, stderr)
	r.Summarize()
	return f.end(r, ended, stdout, stderr)
}

// redis returns the URL of the Redis to use, and what ends it if it is ours.
func (f *runFlags) redis(ctx context.Context, self string) (url string, stop func(), err error) {
	if f.Redis != "" {
		return f.Redis, func() {}, nil
	}
	own, err := fleet.StartRedis(ctx, []string{self, "keeper"})
	if err != nil {
		return "", nil, err
	}
	return own.URL, own.Close, nil
}

// withRedisson builds Redisson's worker if it takes part. It leaves it out, and says so, if it cannot be built.
func (b *bench) withRedisson(
	ctx context.Context, contenders []contender.Contender, dir string, stderr io.Writer,
) []contender.Contender {
	onJVM := func(c contender.Contender) bool { return c.JVM }
	if !slices.ContainsFunc(contenders, onJVM) {
		return contenders
	}
	var err error
	if b.jvm, err = fleet.BuildRedisson(ctx, dir); err == nil {
		return contenders
	}
	fmt.Fprintf(stderr, "redisson is left out: %v\n", err)
	return slices.DeleteFunc(slices.Clone(contenders), onJVM)
}

func (f *runFlags) newReport(ctx context.Context, server *fleet.Server) *report.Report {
	r := &report.Report{Began: time.Now(), Cores: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Redis: server.Version(ctx), Rounds: f.Rounds, Length: f.For.String()}
	for _, w := range f.workloads {
		r.Main = append(r.Main, f.main(w))
	}
	for _, c := range f.contenders {
		r.Contenders = append(r.Contenders, report.Contender{Name: c.Name, Kind: c.Kind, About: c.About})
	}
	return r
}

// measureAll measures step by step. A contender that fails is left out of the rest. It returns why it ended early.
func (b *bench) measureAll(ctx context.Context, plan []step, r *report.Report, stderr io.Writer) error {
	show := newProgress(stderr, len(plan), b.flags.lasts(len(plan)))
	defer show.clear()
	out := map[string]bool{}
	for _, s := range plan {
		if out[s.contender.Name] {
			show.skip()
			continue
		}
		show.begin(s)
		sample, err := b.measure(ctx, s)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted after %d of %d measurements", s.number, len(plan))
		case err != nil && b.gone(ctx):
			return fmt.Errorf("the Redis is away: %w", err)
		case err != nil:
			out[s.contender.Name] = true
			show.say("%s is left out from here on: %v", s.contender.Name, err)
		default:
			r.Add(s.point, s.contender.Name, s.contender.Kind, sample)
			show.end(s, sample)
		}
	}
	if r.Empty() {
		return errors.New("nothing could be measured")
	}
	return nil
}

// gone reports whether the Redis does not answer.
func (b *bench) gone(ctx context.Context) bool {
	server, err := fleet.Reach(ctx, b.server.URL)
	if err == nil {
		server.Close()
	}
	return err != nil
}

// end prints and writes what came out, and returns the exit code.
func (f *runFlags) end(r *report.Report, ended error, stdout, stderr io.Writer) int {
	r.Print(stdout)
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{{f.JSON, r.WriteJSON}, {f.HTML, r.WriteHTML}} {
		if file.name == "" || r.Empty() {
			continue
		}
		if err := writeFile(file.name, file.write); err != nil {
			return complain(stderr, err)
		}
	}
	switch {
	case ended != nil:
		return complain(stderr, ended)
	case len(r.Broken()) > 0:
		return broken
	}
	return measured
}

// writeFile writes a file, or leaves none.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// inWords shows a sample while it runs.
func inWords(s figures.Sample) string {
	rate, p99 := s.Values[figures.Rate], s.Values[figures.P99]
	if rate == nil || p99 == nil {
		return "nothing done"
	}
	return fmt.Sprintf("%.0f/s, p99 %.1f ms", *rate, *p99)
}
