// Mutants breaks the service and the load test on purpose, one mutant at a time, and checks that a cell of the load
// test, a test, or the explorer catches it. A checker that never objects is worthless. The files of the repository stay
// unchanged: the go command gets the edited ones by -overlay.
//
// Read table.go for the mutants, edit.go for their edits, and catch.go for what counts as caught.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// A mutant is a way to break the code, with the checks that must catch it.
type mutant struct {
	name  string
	by    by
	edits edits
}

// A section is a part of the table whose mutants need the same servers. Without them they are not tried.
type section struct {
	needs   string // a key of servers, or empty
	mutants []mutant
}

// by lists the checks that must catch a mutant, each of them.
type by []catcher

// servers has a function for each server that reports whether this machine has it.
var servers = map[string]func() bool{
	"":             func() bool { return true },
	"redis-server": func() bool { return has("redis-server") },
	"MariaDB or PostgreSQL": func() bool {
		return has("mariadbd") || has("/usr/sbin/mariadbd") || has("/usr/lib/postgresql/*/bin/postgres")
	},
	"ZooKeeper": func() bool { return has("java") && has("/usr/share/java/zookeeper.jar") },
}

// The exit codes.
const (
	caught      = 0
	missed      = 1
	couldNotRun = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `Breaks the code on purpose, one mutant at a time, and checks that a cell of the load test, a test, or the
explorer catches it. Prints a line per check, with the verdict and the shortest trace that the explorer found.
Exit codes: 0 all caught; 1 one was missed; 2 could not run, or was interrupted.

  go run ./scripts/mutants [--tested] [--part N/M] [TEXT]

TEXT is a part of a mutant's name. Without it all are tried: ten minutes to half an hour on two cores.
`

// A part is every of-th mutant, beginning with number n, from 0 on.
type part struct{ n, of int }

// parse parses N/M.
func (p *part) parse(text string) error {
	if _, err := fmt.Sscanf(text, "%d/%d", &p.n, &p.of); err != nil || p.n < 0 || p.n >= p.of {
		return errors.New("it takes N/M, with N less than M, such as 0/3")
	}
	return nil
}

// execute is the whole program. When ctx ends, it ends its processes and removes its files.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags, which := flag.NewFlagSet("mutants", flag.ContinueOnError), part{0, 1}
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.Func("part", "`N/M`: 0/3 tries the first of each three mutants, 1/3 the second, 2/3 the third", which.parse)
	tested := flags.Bool("tested", false, "all tests pass without a mutant: run them only with it")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return caught
		}
		return couldNotRun
	}
	if flags.NArg() > 1 {
		fmt.Fprintln(stderr, "mutants: flags come before the one TEXT")
		return couldNotRun
	}
	chosen, without, err := choose(flags.Arg(0), which)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return couldNotRun
	}
	for server, n := range without {
		fmt.Fprintf(stderr, "not tried: %d mutants that need %s\n", n, server)
	}
	l, err := newLab(ctx, *tested)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return couldNotRun
	}
	defer l.remove()
	return l.tryAll(ctx, chosen, stdout, stderr)
}

// choose returns the part of the mutants with the text in their name. It leaves out those whose servers are missing,
// and returns their number by server.
func choose(text string, which part) (chosen []mutant, without map[string]int, err error) {
	without = map[string]int{}
	var named int
	for _, s := range table {
		for _, m := range s.mutants {
			if !strings.Contains(m.name, text) {
				continue
			}
			named++
			switch {
			case (named-1)%which.of != which.n:
			case servers[s.needs]():
				chosen = append(chosen, m)
			default:
				without[s.needs]++
			}
		}
	}
	if named == 0 {
		return nil, nil, fmt.Errorf("no mutant has %q in its name", text)
	}
	return chosen, without, nil
}

// tryAll tries the mutants, at least two at a time: one builds while another waits for a lease to expire.
func (l *lab) tryAll(ctx context.Context, mutants []mutant, stdout, stderr io.Writer) int {
	var (
		all  errgroup.Group
		n, m atomic.Int64 // mutants tried, and missed
	)
	try := func(one mutant) {
		if ctx.Err() != nil {
			return
		}
		told, ok := l.try(ctx, one)
		if ctx.Err() != nil {
			return // it may have caught the interrupt
		}
		if !ok {
			m.Add(1)
		}
		fmt.Fprintf(stdout, "[%*d/%d] %s", len(fmt.Sprint(len(mutants))), n.Add(1), len(mutants), told)
	}
	all.SetLimit(max(2, runtime.GOMAXPROCS(0)))
	for _, one := range mutants {
		all.Go(func() error { try(one); return nil })
	}
	_ = all.Wait()
	fmt.Fprintf(stdout, "%d of %d mutants tried, %d missed\n", n.Load(), len(mutants), m.Load())
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "mutants: interrupted")
		return couldNotRun
	case m.Load() > 0:
		return missed
	}
	return caught
}
