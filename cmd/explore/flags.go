package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"stockapi/cmd/explore/explore"
	"stockapi/internal/lock"
)

// Exit codes.
const (
	asExpected  = 0
	surprised   = 1
	couldNotRun = 2
)

// usual is the name of the usual situation on the command line.
const usual = "usual"

// flags is the command line. parse has the values of ${kinds} and ${situations}.
type flags struct {
	Rungs      []string `placeholder:"RUNG" help:"Explore only these rungs, by number or name."`
	Faults     int      `default:"0" help:"Inject at most this many faults into a schedule."`
	Kinds      []string `placeholder:"KIND" enum:"${kinds}" help:"Inject only these kinds of faults: ${enum}."`
	Situations []string `placeholder:"SITUATION" enum:"${situations}" help:"Explore only these situations: ${enum}."`
	Clients    int      `default:"2" enum:"2,3" help:"Clients, each with one order: 2 or 3."`
	Schedules  int      `default:"0" help:"Explore at most this many schedules of a cell. 0: no limit."`

	UntilSurprise bool `help:"Stop a cell at the first unexpected violation."`

	Replay string `placeholder:"TRACE" help:"Run the schedule of one trace, and print it."`
	JSON   string `name:"json" placeholder:"FILE" help:"Also write the results to FILE."`
	Brief  bool   `help:"Leave out the steps of counterexamples."`

	rungs      []string
	kinds      []explore.FaultKind
	situations []explore.Situation // including the usual one, which has no name
}

const description = `Runs every order in which the commands of two clients can reach Redis, on the real code of each
rung, and prints the shortest one that goes wrong: docs/explore.md.

A step carries out one command or script, or delivers one message. With --faults, time also passes at the wrong moment,
clients die, and commands and replies are lost. Results hold within the bounds that are printed, and no further.

Examples:
  explore
  explore --rungs v0,v4
  explore --rungs v3 --faults 1 --kinds expiry
  explore --replay v3:aaaa.expiry.ba

Exit codes:
  0  as expected
  1  not as expected, in either direction
  2  could not run, or was interrupted`

// parse parses the command line. It returns done if there is nothing left to do, as after --help.
func parse(args []string, stdout io.Writer) (f *flags, done bool, err error) {
	f = &flags{}
	var kinds, situations []string
	for _, k := range explore.FaultKinds {
		kinds = append(kinds, k.Name)
	}
	for _, s := range explore.Situations {
		situations = append(situations, s.Name)
	}
	parser, err := kong.New(f, kong.Name("explore"), kong.Description(description), kong.Writers(stdout, io.Discard),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Vars{"kinds": strings.Join(kinds, ","), "situations": strings.Join(append(situations, usual), ",")},
		kong.Exit(func(int) { done = true }))
	if err != nil {
		return nil, false, err
	}
	parsed, err := parser.Parse(args)
	switch {
	case done: // kong goes on parsing after it has printed the help
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("%w; see explore --help", err)
	}
	for _, p := range parsed.Path { // empty, as from an unset variable, would mean all rungs, or no file
		if p.Flag != nil && slices.Contains([]reflect.Kind{reflect.Slice, reflect.String}, p.Flag.Target.Kind()) &&
			p.Flag.Target.Len() == 0 {
			return nil, false, fmt.Errorf("--%s is empty: give it a value, or leave it out", p.Flag.Name)
		}
	}
	return f, false, f.check()
}

// check looks up the rungs, kinds and situations, and returns an error if they cannot be explored.
func (f *flags) check() error {
	switch {
	case f.Faults < 0 || f.Schedules < 0:
		return errors.New("--faults and --schedules must be at least 0")
	case len(f.Kinds) > 0 && f.Faults == 0:
		return errors.New("--kinds needs --faults 1 or more")
	case f.Replay != "" && f.JSON != "":
		return errors.New("--replay prints one schedule, without a file: leave out --json")
	}
	f.findKindsAndSituations()
	if err := f.findRungs(); err != nil {
		return err
	}
	if len(f.tasks()) == 0 {
		return errors.New("nothing to explore: the --situations apply to none of the --rungs")
	}
	return nil
}

func (f *flags) findKindsAndSituations() {
	for _, k := range explore.FaultKinds {
		if len(f.Kinds) == 0 || slices.Contains(f.Kinds, k.Name) {
			f.kinds = append(f.kinds, k)
		}
	}
	if len(f.Situations) == 0 || slices.Contains(f.Situations, usual) {
		f.situations = append(f.situations, explore.Situation{})
	}
	for _, s := range explore.Situations {
		if len(f.Situations) == 0 || slices.Contains(f.Situations, s.Name) {
			f.situations = append(f.situations, s)
		}
	}
}

func (f *flags) findRungs() error {
	for _, r := range lock.Ladder() {
		if len(f.Rungs) == 0 && explore.IsExplorable(r) {
			f.rungs = append(f.rungs, r.Number)
		}
	}
	for _, id := range f.Rungs {
		r, err := lock.Find(strings.TrimSpace(id))
		if err != nil {
			return fmt.Errorf("--rungs: %w", err)
		}
		if !explore.IsExplorable(r) {
			return fmt.Errorf("--rungs: %s keeps its locks outside Redis, where no command can be held; leave it out", r.Number)
		}
		if !slices.Contains(f.rungs, r.Number) {
			f.rungs = append(f.rungs, r.Number)
		}
	}
	return nil
}

// complain prints err on one line, and returns the exit code.
func complain(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "explore: "+strings.Join(strings.Fields(err.Error()), " "))
	return couldNotRun
}
