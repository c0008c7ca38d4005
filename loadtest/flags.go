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

// A command does what its flags say, and returns the exit code.
type command interface {
	run(ctx context.Context, stdout, stderr io.Writer) int
}

// commands is the command line.
type commands struct {
	Run     runFlags         `cmd:"" default:"withargs" help:"Run scenarios and print the matrix; this is the default command. Without names, run the article's locks and the answers to them, in the scenarios where they differ."`
	All     runFlags         `cmd:"" help:"Run every rung in every scenario."`
	Audit   auditFlags       `cmd:"" help:"Judge a run again, offline, from its histories alone; or judge what another load generator recorded: docs/scale.md."`
	Report  reportFlags      `cmd:"" help:"Write the report of a run, one HTML file."`
	List    listFlags        `cmd:"" help:"Print the scenarios; with names, what is expected of rungs in them, and why: list v4 pause, or list all."`
	Replay  replayFlags      `cmd:"" help:"Replay a trace of the explorer on real processes, command by command, and judge the result: docs/explore.md."`
	Try     tryFlags         `cmd:"" help:"Put your own shop on trial: any command line that listens on $PORT and uses the Redis at $REDIS_URL. Inject faults between its commands, and judge each: see docs/try.md."`
	Stage   stageFlags       `cmd:"" help:"Show a class what a lock does, on a projector and on phones: the class predicts, buys, and watches the lock break: docs/teaching.md."`
	Version kong.VersionFlag `help:"Print version, commit, Go and platform, and exit."`

	Guardian guardian `cmd:"" hidden:"" help:"Wait for the end of the standard input, then end what it listed."`
}

const description = `Sells the same product to more buyers than there is stock, through every rung of stockapi's
ladder of locks, and proves which rungs oversell.

With no arguments it starts a Redis and the stockapi instances itself, runs the locks of the article over one instance
and over two, then kills, stops and delays their holders, and prints the matrix. "loadtest all" runs every rung in every
scenario, and "loadtest list" lists them all. Fault scenarios send orders of their own.

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

Exit codes: 0 all as expected; 1 not as expected, in either direction; 2 it could not run, was interrupted, or a cell
was not measured: the client or the machine was too slow for it, or one of its verdicts is unknown.
"go run" turns every code but 0 into 1.
With try: 0 no defect in what was tested; 1 a defect; 2 no defect, but a cell was not measured, as the machine was busy
with something else even when the cell was played once more, alone; or nothing could be measured.
With audit --answers: 0 nothing is BROKEN; 1 something is; 2 a verdict is unknown, or it could not judge.`

// parse parses the command line. It returns no command if there is nothing left to do, as after --help.
func parse(args []string, stdout, stderr io.Writer) (c *commands, chosen command, err error) {
	c = &commands{All: runFlags{all: true}}
	printed := false
	parser, err := kong.New(c, kong.Name("loadtest"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Help(help), kong.ExplicitGroups(groups),
		kong.Vars{"version": versionLine()}, kong.Exit(func(int) { printed = true }))
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

// proposed says of an argument that is none which command was meant, if one is most like it, or else what err says. If
// nothing is like it, err would list a hundred names.
func proposed(argument string, err error) error {
	var names []string
	for _, node := range kong.Must(&commands{}).Model.Children {
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

// help prints kong's help, and without a command also that of the command that needs not be named.
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
