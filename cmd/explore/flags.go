package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"stockapi/internal/explore"
	"stockapi/internal/lock"
)

// The exit codes.
const (
	asExpected  = 0
	surprised   = 1
	couldNotRun = 2
)

// flags is the command line. parse fills in what stands in ${}.
type flags struct {
	Rungs      []string `placeholder:"RUNG,…" help:"Rungs, by number or name. Default: all whose locks are in Redis."`
	Faults     int      `default:"0" help:"Most faults in one schedule. ${default}."`
	Kinds      []string `placeholder:"KIND,…" help:"Kinds of faults: ${kinds}. Default: all."`
	Situations []string `placeholder:"SITUATION,…" help:"${situations}"`

	Clients    int           `default:"2" help:"Clients, each with one order: 2 or 3. ${default}."`
	Nodes      int           `default:"3" help:"Redlock nodes: 1 to 5. ${default}."`
	Stock      int64         `default:"1" help:"Units at the start. ${default}."`
	Wait       time.Duration `default:"${wait}" help:"Longest that an order waits for the lock, if it waits. ${default}."`
	RetryNodes bool          `help:"Orders on Redlock nodes wait too. Without it they try once."`

	Switches      int           `default:"0" help:"${switches}"`
	Schedules     int           `default:"0" help:"Most schedules of one rung under one kind of fault. 0: no limit."`
	For           time.Duration `default:"0" help:"${for}"`
	UntilSurprise bool          `help:"End the search of a cell with the first schedule that is not as expected."`
	Plain         bool          `help:"Also try steps that commute in both orders."`
	Workers       int           `default:"${cores}" help:"Rungs that are explored at a time. ${default}."`

	Replay   string `placeholder:"TRACE" help:"Run the one schedule of a trace, and print it."`
	JSON     string `name:"json" placeholder:"FILE" help:"Also write what was found to a file."`
	HTML     string `name:"html" placeholder:"FILE" help:"Also write a page, with timelines of the counterexamples."`
	Markdown string `placeholder:"FILE" help:"Also put the shortest way to break each rung between the marks of FILE."`
	Brief    bool   `help:"Print one line for each counterexample, without its columns."`

	rungs      []string
	kinds      []explore.FaultKind
	situations []explore.Situation // with the usual one, which has no name
}

const description = `Runs every order in which the commands of two clients can reach Redis, on the real code of each
rung, and prints the shortest one that goes wrong.

A step is one command that is carried out; a script is one step, and so is a message that is delivered. With --faults,
time may pass at the wrong moment, clients may die, commands and replies get lost. The clock is virtual: a schedule
takes a millisecond. What is found holds within the bounds that are printed, and for nothing else.

Examples:
  explore
  explore --rungs v0,v4
  explore --rungs v3 --faults 1 --kinds expiry
  explore --rungs v6 --nodes 3 --faults 1 --brief
  explore --faults 1 --html found.html
  explore --faults 2 --for 10m --brief
  explore --replay v3:aaaa.expiry.ba

Exit codes: 0 all as expected; 1 not as expected, in either direction; 2 it could not run, or was interrupted: what
was printed by then stays.`

// exited carries kong's wish to exit, after --help, out of the parser.
type exited int

// parse parses the command line. It returns done if there is nothing left to do, as after --help.
func parse(args []string, stdout io.Writer) (f *flags, done bool, err error) {
	f = &flags{}
	parser, err := kong.New(f, kong.Name("explore"), kong.Description(description), kong.Writers(stdout, io.Discard),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Vars{
			"kinds": strings.Join(kindNames(), ", "),
			"situations": fmt.Sprintf("What the clients order, where rungs promise something about it: %s; or %s, where each "+
				"wants one unit. Default: all, as far as they are about a rung.", strings.Join(situationNames(), ", "), usual),
			"wait": explore.LongestWait.String(), "cores": fmt.Sprint(runtime.GOMAXPROCS(0)),
			"switches": "Most switches from one client to another in one schedule. Under a limit, steps that commute are " +
				"tried in both orders. 0: no limit.",
			"for": "End the search after that time, and say how far it got: 10m for instance. Then the same flags may print " +
				"something else. 0: no limit.",
		},
		kong.Exit(func(code int) { panic(exited(code)) }))
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if code, ok := recover().(exited); ok {
			done = code == 0
		}
	}()
	if _, err := parser.Parse(args); err != nil {
		return nil, false, fmt.Errorf("%w; see explore --help", err)
	}
	return f, false, f.check()
}

func kindNames() (names []string) {
	for _, k := range explore.FaultKinds {
		names = append(names, k.Name)
	}
	return names
}

// check finds what the flags name, and refuses what cannot be explored.
func (f *flags) check() error {
	switch {
	case f.Clients < 2 || f.Clients > 3:
		return errors.New("--clients is 2 or 3")
	case f.Nodes < 1 || f.Nodes > 5:
		return errors.New("--nodes is 1 to 5")
	case f.Stock < 1:
		return errors.New("--stock is at least 1")
	case f.Faults < 0 || f.Switches < 0 || f.Schedules < 0 || f.For < 0 || f.Workers < 1:
		return errors.New("--faults, --switches, --schedules and --for are at least 0, --workers at least 1")
	}
	if err := f.findRungs(); err != nil {
		return err
	}
	if err := f.findSituations(); err != nil {
		return err
	}
	return f.findKinds()
}

// usual is the name of the usual situation on the command line.
const usual = "usual"

func situationNames() (names []string) {
	for _, s := range explore.Situations {
		names = append(names, s.Name)
	}
	return names
}

func (f *flags) findSituations() error {
	if len(f.Situations) == 0 {
		f.situations = slices.Concat([]explore.Situation{{}}, explore.Situations)
	}
	for _, name := range f.Situations {
		s, ok := explore.FindSituation(strings.TrimSpace(name))
		if name = strings.TrimSpace(name); !ok && name != usual || name == "" {
			return fmt.Errorf("--situations: there is no situation %q; there are %s, %s", name, usual,
				strings.Join(situationNames(), ", "))
		}
		f.situations = append(f.situations, s)
	}
	return nil
}

func (f *flags) findRungs() error {
	if len(f.Rungs) == 0 {
		for _, r := range lock.Ladder() {
			if explore.IsExplorable(r) {
				f.rungs = append(f.rungs, r.Number)
			}
		}
		return nil
	}
	for _, id := range f.Rungs {
		r, err := lock.Find(strings.TrimSpace(id))
		if err != nil {
			return fmt.Errorf("--rungs: %w", err)
		}
		if !explore.IsExplorable(r) {
			return fmt.Errorf("--rungs: %s keeps its locks outside Redis, where no command can be held; leave it out", r.Number)
		}
		f.rungs = append(f.rungs, r.Number)
	}
	return nil
}

func (f *flags) findKinds() error {
	if len(f.Kinds) > 0 && f.Faults == 0 {
		return errors.New("--kinds needs --faults 1 or more")
	}
	for _, name := range f.Kinds {
		if !slices.Contains(kindNames(), strings.TrimSpace(name)) {
			return fmt.Errorf("--kinds: there is no kind %q; there are %s", name, strings.Join(kindNames(), ", "))
		}
	}
	for _, k := range explore.FaultKinds {
		if len(f.Kinds) == 0 || slices.Contains(f.Kinds, k.Name) {
			f.kinds = append(f.kinds, k)
		}
	}
	return nil
}

// selection returns the flags that choose what is explored, "" if they are the defaults.
func (f *flags) selection() string {
	var words []string
	if len(f.Rungs) > 0 {
		words = append(words, "--rungs "+strings.Join(f.rungs, ","))
	}
	if f.Faults > 0 {
		words = append(words, fmt.Sprintf("--faults %d", f.Faults))
	}
	if len(f.Kinds) > 0 {
		words = append(words, "--kinds "+strings.Join(f.Kinds, ","))
	}
	add := func(differs bool, flag string, value any) {
		if differs {
			words = append(words, fmt.Sprintf("--%s %v", flag, value))
		}
	}
	add(f.Switches > 0, "switches", f.Switches)
	add(f.Schedules > 0, "schedules", f.Schedules)
	if f.Plain {
		words = append(words, "--plain")
	}
	return strings.Join(words, " ")
}

// command returns a command line with the flags that every schedule depends on, if they are not the defaults.
func (f *flags) command(rest string) string {
	usual, words := explore.DefaultBounds(), []string{"go run ./cmd/explore"}
	if rest != "" {
		words = append(words, rest)
	}
	add := func(differs bool, flag string, value any) {
		if differs {
			words = append(words, fmt.Sprintf("--%s %v", flag, value))
		}
	}
	add(f.Clients != usual.Clients, "clients", f.Clients)
	add(f.Nodes != usual.Nodes, "nodes", f.Nodes)
	add(f.Stock != usual.Stock, "stock", f.Stock)
	add(f.Wait != usual.Wait, "wait", f.Wait)
	if f.RetryNodes {
		words = append(words, "--retry-nodes")
	}
	return strings.Join(words, " ")
}

// complain says in one line why it could not run.
func complain(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "explore: "+strings.Join(strings.Fields(err.Error()), " "))
	return couldNotRun
}
