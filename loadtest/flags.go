package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/scenario"
)

// A command runs with its parsed flags, and returns the exit code.
type command interface {
	run(ctx context.Context, stdout, stderr io.Writer) int
}

// commands is the command line.
type commands struct {
	Run     runFlags         `cmd:"" default:"withargs" help:"Run scenarios and print the matrix. The default command."`
	All     runFlags         `cmd:"" help:"Run every rung in every scenario."`
	Audit   auditFlags       `cmd:"" help:"Judge the histories of a run again, or what another generator recorded."`
	Report  reportFlags      `cmd:"" help:"Write the report of a run, one HTML file."`
	List    listFlags        `cmd:"" help:"Print the scenarios; with names, what is expected, and why: list v4 pause."`
	Replay  replayFlags      `cmd:"" help:"Replay a trace of the explorer on real processes: docs/explore.md."`
	Try     tryFlags         `cmd:"" help:"Put your own shop on trial: inject faults, and judge each: docs/try.md."`
	Stage   stageFlags       `cmd:"" help:"Teach a class on a projector and phones: docs/teaching.md."`
	Version kong.VersionFlag `help:"Print version, commit, Go and platform, and exit."`
}

const description = `Sells the same product to more buyers than there is stock, through every rung of stockapi's
ladder of locks, and proves which rungs oversell.

Without arguments it starts a Redis and instances of stockapi, runs the article's locks on one instance and on two, then
kills, stops and delays their holders, and prints the matrix. Fault scenarios send orders of their own.

Examples:
  loadtest
  loadtest all
  loadtest --rungs v0,v4 --scenarios two-instances --repeat 20
  loadtest pause v5 v15
  loadtest --backend redis://127.0.0.1:6379/5 --out DIR
  loadtest --targets http://127.0.0.1:5000,http://127.0.0.1:5010
  loadtest audit out
  loadtest audit --answers answers.jsonl --stock 100 --left 0
  loadtest report out -o report.html
  loadtest list v4 pause
  loadtest replay v3:aaaa.expiry.ba --expect own-release
  loadtest try -- python3 examples/shop.py
  loadtest stage --lan

Environment: LOADTEST_STOCKAPI is the stockapi to start (default: beside loadtest, else from PATH, else built from this
module); LOADTEST_ADMIN_TOKEN is the admin token of the instances.

Exit codes ("go run" turns 2 into 1):
  0  as expected
  1  not as expected, in either direction
  2  could not run, was interrupted, or did not measure every cell
  try: 0 no defect, 1 a defect, 2 no defect but a cell was not measured
  audit --answers: 0 nothing is BROKEN, 1 something is, 2 a verdict is unknown`

// parse parses the command line. It returns no command if there is nothing left to do, as after --help.
func parse(args []string, stdout, stderr io.Writer) (c *commands, chosen command, err error) {
	c = &commands{All: runFlags{all: true}}
	printed := false
	parser, err := kong.New(c, kong.Name("loadtest"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Help(help), kong.ExplicitGroups(groups),
		kong.Vars{"version": versionLine()}, longHelp, kong.Exit(func(int) { printed = true }))
	if err != nil {
		return nil, nil, err
	}
	parsed, err := parser.Parse(args)
	if printed { // kong goes on to parse after it has printed the help
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range parsed.Path {
		if p.Flag != nil && p.Flag.IsSlice() && p.Flag.Target.Len() == 0 {
			return nil, nil, fmt.Errorf("--%s is empty: name at least one, or leave it out", p.Flag.Name)
		}
	}
	c.Try.given = args
	return c, parsed.Selected().Target.Addr().Interface().(command), nil
}

// proposed returns the error for an unexpected argument: it proposes a command if one is most like it, and otherwise
// wraps err, unless that would list a hundred names because none is like it.
func proposed(argument string, err error) error {
	var names []string
	for _, node := range kong.Must(&commands{}, longHelp).Model.Children {
		if !node.Hidden {
			names = append(names, node.Name)
		}
	}
	switch near := catalog.DidYouMean(argument, slices.Concat(names, scenario.Table.Known())); {
	case near == "":
		return fmt.Errorf("unexpected argument %s: it is no command, scenario or rung: "+
			"see loadtest --help and loadtest list", argument)
	case near == catalog.DidYouMean(argument, names):
		return fmt.Errorf("unexpected argument %s%s", argument, near)
	}
	return fmt.Errorf("unexpected argument %s: %w", argument, err)
}

// help prints kong's help, and without a command also that of the default command.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	run, err := kong.Trace(ctx.Kong, []string{"run"})
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	return kong.DefaultHelpPrinter(options, run)
}
