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

	"stockapi/bench/contender"
	"stockapi/bench/report"
	"stockapi/internal/backend"
	"stockapi/loadtest/cluster"
)

// run measures everything and reports it. When the context ends, it ends all that it started, removes its keys, and
// reports what it has by then.
func (f *flags) run(ctx context.Context, stdout, stderr io.Writer) (code int) {
	self, err := os.Executable()
	if err != nil {
		return exitCode(stderr, err)
	}
	c, ctx, err := cluster.New(ctx, cluster.Options{Backend: f.Redis, Say: func(string) {}})
	if err != nil {
		return exitCode(stderr, err)
	}
	defer func() { _ = c.Close() }()
	redis, err := c.StartBackend(ctx)
	if err != nil {
		return exitCode(stderr, err)
	}
	server, err := reach(redis.URL)
	if err != nil {
		return exitCode(stderr, err)
	}
	defer func() { _ = server.rdb.Close() }()
	b := &bench{flags: f, server: server, prefix: "bench:" + strings.ToLower(rand.Text()[:8]) + ":",
		commands: map[bool][]string{false: {self, "worker"}}, processes: map[bool][]*process{}}
	defer b.close()
	contenders := b.withRedisson(ctx, stderr)
	r := &report.Report{Processes: f.Processes, Contenders: contenders, About: fmt.Sprintf(
		"%s/%s, %d cores, %s, %s; --rounds %d --for %s, medians", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0),
		runtime.Version(), redis.Text, f.Rounds, f.For)}
	ended := b.measureAll(ctx, f.plan(contenders), r, stderr)
	r.Print(stdout)
	if f.Out != "" {
		ended = errors.Join(ended, r.Write(f.Out))
	}
	if ended == nil && len(r.Broken()) > 0 {
		return broken
	}
	return exitCode(stderr, ended)
}

// withRedisson builds Redisson's worker if it takes part, and returns the contenders. It leaves Redisson out, and says
// so, if it cannot be built.
func (b *bench) withRedisson(ctx context.Context, stderr io.Writer) []contender.Contender {
	onJVM := func(c contender.Contender) bool { return c.JVM }
	if !slices.ContainsFunc(b.flags.contenders, onJVM) {
		return b.flags.contenders
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err == nil {
		b.temp = dir
		b.commands[true], err = buildRedisson(ctx, filepath.Join(dir, "redisson"))
	}
	if err == nil {
		return b.flags.contenders
	}
	fmt.Fprintf(stderr, "redisson is left out: %v\n", err)
	return slices.DeleteFunc(slices.Clone(b.flags.contenders), onJVM)
}

// measureAll measures step by step. A contender that fails is left out of the rest. It returns why it ended early.
func (b *bench) measureAll(ctx context.Context, plan []step, r *report.Report, stderr io.Writer) error {
	fmt.Fprintf(stderr, "%d measurements, about %s\n", len(plan), b.flags.lasts(len(plan)))
	out := map[string]bool{}
	for i, s := range plan {
		if out[s.contender.Name] {
			continue
		}
		sample, err := b.measure(ctx, s)
		if ctx.Err() != nil {
			return fmt.Errorf("ended after %d of %d measurements: %w", i, len(plan), context.Cause(ctx))
		}
		if err != nil && backend.Ping(ctx, b.server.rdb) != nil {
			return fmt.Errorf("the Redis is away: %w", err)
		}
		if err != nil {
			out[s.contender.Name] = true
			fmt.Fprintf(stderr, "%s is left out from here on: %v\n", s.contender.Name, err)
			continue
		}
		r.Samples = append(r.Samples, sample)
		fmt.Fprintf(stderr, "%d of %d: %s, %s with %d: %.0f/s\n", i+1, len(plan), s.contender.Name, s.workload, s.waiters,
			sample.PerSecond())
	}
	if len(r.Samples) == 0 {
		return errors.New("nothing could be measured")
	}
	return nil
}
