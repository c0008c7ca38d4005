package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/trial"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// tryFlags are the flags of the command try.
type tryFlags struct {
	Argv    []string      `arg:"" optional:"" passthrough:"" name:"command" help:"Command line of the shop, after --."`
	Order   string        `default:"POST /decrease" placeholder:"REQUEST" help:"${order_help} ${default}."`
	Run     string        `name:"order-run" placeholder:"SHELL" help:"${order_run_help}"`
	Slow    string        `placeholder:"REQUEST" help:"The same, with work of {ms}: POST /decrease?work={ms}."`
	Header  []string      `sep:"none" placeholder:"'NAME: VALUE'" help:"Send this header with every order. Repeatable."`
	Stock   string        `default:"SET ProductStock_{product} {n}" placeholder:"COMMAND" help:"${stock_help} ${default}."`
	Set     string        `placeholder:"SHELL" help:"${set_help}"`
	Left    string        `placeholder:"SHELL" help:"Command that prints the units left."`
	Sales   string        `placeholder:"SHELL" help:"Command that prints how many sales are recorded."`
	Setup   string        `placeholder:"SHELL" help:"Command that prepares the database, once, or each {redis}."`
	DB      string        `name:"db" placeholder:"HOST:PORT" help:"Proxy the shop's database at {db_host} and {db_port}."`
	RedisAt string        `name:"redis-at" placeholder:"IP:PORT" help:"Address of the Redis in the shop's code (Linux)."`
	DBAt    string        `name:"db-at" placeholder:"IP:PORT" help:"Address of its database there (Linux)."`
	PortAt  *int64        `name:"port-at" placeholder:"N" help:"Port it listens on by its code (Linux)."`
	Units   *int64        `placeholder:"N" help:"Units per cell. Default: 100; for a crowd 15 per instance."`
	Sold    string        `placeholder:"REGEXP" help:"Pattern of a sale in the body, or in a redirect's Location."`
	Within  time.Duration `default:"60s" help:"How long an instance may take to start."`
	Quick   bool          `help:"Play only the most telling cells, starred in docs/try.md."`
	Only    []string      `placeholder:"CELL" help:"Play only these cells: 'reply-lost 1'. With --every: faults."`
	Cells   bool          `help:"Print the cells, and what each needs; no shop is started."`
	Play    []string      `sep:"none" placeholder:"LINE" help:"Play a fault: 'a>write.late-a.expiry.b>end.arrive-a'."`
	Every   bool          `help:"Play every order of the commands of two orders, without a fault and with one."`
	Changes int64         `default:"3" placeholder:"N" help:"Of --every: the turn changes at most so often. ${default}."`
	For     time.Duration `default:"5m" help:"Of --every: it takes at most so long. ${default}."`
	AtOnce  int           `default:"4" help:"Play this many cells at once."`
	Out     string        `default:"out" placeholder:"DIR" help:"${out_help}"`
	NoOut   bool          `help:"Write no files."`
	Verbose bool          `short:"v" help:"Print the commands of a plain sale, and the evidence of each broken cell."`
	JSON    bool          `name:"json" help:"Print the result as JSON."`

	given  []string        // the arguments of loadtest
	search *history.Search // of --every
}

// Help returns the paragraphs that kong prints above the flags.
func (*tryFlags) Help() string {
	return `The shop listens on $PORT and uses the Redis at $REDIS_URL, or gets them in its command line, which may contain
{port}, {redis}, {redis_host} and {redis_port}.

For a stock in a database use --db, --set and --left. Sales and stock are then compared by count, and the commands of
--set, --left, --sales and --setup run in a shell. They and the orders write to the database: name a scratch one.

If a shop has addresses in its code, name them: --redis-at 127.0.0.1:6379 --db-at 127.0.0.1:5432 --port-at 8080. Each
instance then runs in a network of its own, where they lead to the trial's Redis and to --db, and from where nothing
else can be reached.

--set beside --stock puts what else an order needs, such as a token. The Redis of a pair of instances is {redis}, or
{redis_host} and {redis_port}, in all these commands. With one of them --setup runs for each Redis, before instance a.

A cell that a busy machine decided is played again at the end, alone. The exit code is 2 if a cell is still not
measured, unless there is a defect. Details: docs/try.md.`
}

// options returns the options of the flags.
func (f *tryFlags) options(say func(string)) (o trial.Options, err error) {
	argv, err := f.shop()
	if err != nil {
		return o, err
	}
	o.Shop = shop.Options{Argv: argv, Stock: f.stock(), Product: "10000", Within: f.Within,
		Setup: f.Setup, Set: f.Set, Left: f.Left, Sales: f.Sales, Database: f.DB, Say: say,
		Literal: cluster.Literal{Redis: f.RedisAt, Database: f.DBAt}}
	o.Selection = trial.Selection{Quick: f.Quick, Only: f.Only, Play: f.Play, AtOnce: max(1, f.AtOnce)}
	if o.Every, err = f.every(o.Shop.Stock != nil); err != nil {
		return o, err
	}
	if f.Units != nil {
		o.Shop.Units = *f.Units
		if err := within("--units", o.Shop.Units, 1, 1_000_000_000); err != nil {
			return o, err
		}
	}
	if o.Shop.Order, err = f.order(); err != nil {
		return o, err
	}
	if err := f.checkDatabase(); err != nil {
		return o, err
	}
	if f.PortAt != nil {
		if err := within("--port-at", *f.PortAt, 1, 65535); err != nil {
			return o, err
		}
		o.Shop.Literal.Port = int(*f.PortAt)
	}
	if err := o.Shop.Literal.Check(); err != nil {
		return o, err
	}
	if err := f.requests(&o.Shop); err != nil {
		return o, err
	}
	if f.Sold != "" {
		if o.Shop.Sold, err = regexp.Compile(f.Sold); err != nil {
			return o, fmt.Errorf("--sold: %w", err)
		}
	}
	return o, nil
}

// requests adds what a slow order is, and the headers of all.
func (f *tryFlags) requests(o *shop.Options) error {
	if f.Slow != "" {
		slow, err := shop.ParseRequest(f.Slow)
		if err != nil {
			return fmt.Errorf("--slow: %w", err)
		}
		o.Slow = &slow
	}
	for _, text := range f.Header {
		h, err := shop.ParseHeader(text)
		if err != nil {
			return fmt.Errorf("--header: %w", err)
		}
		o.Headers = append(o.Headers, h)
	}
	return nil
}

// gave reports whether the user gave a flag, which may have a default.
func (f *tryFlags) gave(name string) bool {
	return slices.ContainsFunc(f.given[:max(0, len(f.given)-len(f.Argv))], func(word string) bool {
		return word == name || strings.HasPrefix(word, name+"=")
	})
}

// stock returns the command that puts the stock, nil if the stock is not in Redis: --set, --left and --db name one
// elsewhere, unless --stock is given.
func (f *tryFlags) stock() []string {
	if !f.gave("--stock") && f.DB+f.Set+f.Left != "" {
		return nil
	}
	return strings.Fields(f.Stock)
}

// order returns what orders a unit.
func (f *tryFlags) order() (r shop.Request, err error) {
	if !f.gave("--order-run") {
		if r, err = shop.ParseRequest(f.Order); err != nil {
			err = fmt.Errorf("--order: %w", err)
		}
		return r, err
	}
	for _, other := range []string{"--order", "--slow", "--header"} {
		if f.gave(other) {
			return r, fmt.Errorf("%s is for a request, and --order-run sends its own: leave one of them out", other)
		}
	}
	if strings.TrimSpace(f.Run) == "" {
		return r, errors.New("--order-run: write a command that orders a unit, such as: curl -fsS -d '' {url}/decrease")
	}
	if name := databaseName.FindString(f.Run); name != "" && f.DB == "" {
		return r, fmt.Errorf("%s in --order-run needs --db HOST:PORT", name)
	}
	return shop.Request{Program: f.Run}, nil
}

// databaseName matches the placeholders for the shop's database.
var databaseName = regexp.MustCompile(`\{db_(host|port)\}`)

// every returns what --every plays, nil without it.
func (f *tryFlags) every(inRedis bool) (*trial.Range, error) {
	if !f.Every {
		for _, flag := range []string{"--changes", "--for"} {
			if f.gave(flag) {
				return nil, fmt.Errorf("%s bounds --every: give that, too", flag)
			}
		}
		return nil, nil
	}
	for _, flag := range []string{"--quick", "--play", "--units", "--slow"} {
		if f.gave(flag) {
			return nil, fmt.Errorf("--every plays schedules of its own, for two units and for the last one: leave out %s", flag)
		}
	}
	kinds, err := trial.KindsOf(f.Only)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--only: %w", err)
	case !inRedis:
		return nil, errors.New("--every is for a stock in Redis: a request that waits for a row in a database has been " +
			"sent, so that it has no turn; leave out --every")
	case f.For < time.Second:
		return nil, fmt.Errorf("--for is %s: it takes at least 1s", f.For)
	}
	return &trial.Range{Changes: int(f.Changes), Kinds: kinds, For: f.For}, within("--changes", f.Changes, 0, 20)
}

// checkDatabase returns an error if the flags of a stock in a database cannot work.
func (f *tryFlags) checkDatabase() error {
	_, port, err := net.SplitHostPort(f.DB)
	if n, wrong := strconv.ParseUint(port, 10, 16); err == nil && (wrong != nil || n == 0) {
		err = fmt.Errorf("%q is no port", port)
	}
	switch {
	case f.gave("--stock") && strings.TrimSpace(f.Stock) == "":
		return (&shop.Options{}).Check()
	case f.gave("--stock") && f.DB+f.Left+f.Sales != "":
		return errors.New("--stock names a stock in this Redis, --db, --left and --sales one elsewhere: leave one of them " +
			"out; the shop may use a database without --db, too")
	case f.DB != "" && err != nil:
		return fmt.Errorf("--db: %w: write HOST:PORT", err)
	case f.Sales != "" && f.Left == "":
		return errors.New("--sales is compared with what --left prints: give --left, too")
	case f.Set != "" && !f.gave("--stock") && !strings.Contains(f.Set, "{n}"):
		return errors.New("--set lacks {n}, the number of units to put: add it, or give --stock, too, if the stock is in " +
			"Redis, and --set puts something else")
	}
	return nil
}

// shop returns the command line of the shop.
func (f *tryFlags) shop() (argv []string, err error) {
	argv = f.Argv
	switch {
	case len(argv) > 0 && argv[0] == "--":
		argv = argv[1:]
	case len(argv) > 0 && strings.HasPrefix(argv[0], "-"): // kong passes on from the first unknown flag
		return nil, fmt.Errorf("unknown flag %s: see loadtest try --help; the command line of the shop comes after --",
			argv[0])
	}
	if len(argv) == 0 {
		return nil, errors.New("name the command line of the shop after --, such as: loadtest try -- python3 shop.py")
	}
	if strings.Contains(argv[0], "=") {
		return nil, fmt.Errorf("no shell runs the command line of the shop: put env before %s", argv[0])
	}
	for _, arg := range argv {
		if name := databaseName.FindString(arg); name != "" && f.DB == "" {
			return nil, fmt.Errorf("%s in the command line of the shop needs --db HOST:PORT", name)
		}
	}
	return argv, nil
}

// run tries the shop, and returns the exit code: 1 with a defect; else 2 if some cell was not measured, or the trial
// could not run; else 0.
func (f *tryFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if f.Cells {
		return f.printCells(stdout, stderr)
	}
	shown := terminal.NewProgress(stderr, terminal.Of(stderr))
	defer shown.Clear()
	o, err := f.options(shown.Say)
	if err != nil {
		return complain(stderr, fmt.Errorf("try: %w", err))
	}
	if !f.NoOut {
		if err := checkOut(f.Out); err != nil {
			return complain(stderr, err)
		}
	}
	run := &history.Run{ID: "try", Started: time.Now(), Loadtest: thisBuild(), Machine: history.ThisMachine(),
		Backend: history.Backend{Kind: "redis-server", Text: "redis-server, its own",
			Stockapi: strings.Join(o.Shop.Argv, " ")},
		Load: history.Load{Repeat: 1}}
	shown.Say("not covered: Redis Cluster, Sentinel, TLS, a lock in the database itself")
	passport, results, err := f.measure(ctx, o, shown)
	shown.Clear()
	mask := shop.NewMask(o.Shop.Headers)
	if err = mask.Err(err); ctx.Err() != nil {
		err = errInterrupted
	}
	run.Cells, run.Selected = results, len(results)
	if err != nil {
		run.Interrupted = err.Error()
	}
	run.Shop = f.shopOf(o, passport)
	mask.All(run)
	if len(run.Cells) > 0 && !f.NoOut {
		err = errors.Join(err, report.WriteAll(f.Out, run, scenario.Table.Assess(run.Cells)))
	}
	t := &terminal.Trial{Shop: *run.Shop, Cells: results, Unfinished: err != nil}
	if passport != nil && (err == nil || len(results) > 0) {
		err = errors.Join(err, f.print(stdout, passport, t))
	}
	if err != nil {
		return complainOfShop(stderr, err)
	}
	if !f.JSON {
		fmt.Fprintf(stdout, "\n%s\n", t.Command())
	}
	return t.ExitCode()
}

// shopOf returns the record of the shop, without a passport if the trial learned nothing.
func (f *tryFlags) shopOf(o trial.Options, p *sale.Passport) *history.Shop {
	s := &history.Shop{Flags: f.masked(), Argv: o.Shop.Argv, Search: f.search}
	if p != nil {
		s.Passport, s.Closest = p.Parts()
		s.Uncounted = p.Elsewhere && f.Left == ""
	}
	return s
}

// masked returns the flags with the values of headers masked: they may be secrets, and files are kept.
func (f *tryFlags) masked() (flags []string) {
	for i, word := range f.given[1 : len(f.given)-len(f.Argv)] { // after try
		if strings.HasPrefix(word, "--header=") || f.given[i] == "--header" {
			name, _, _ := strings.Cut(word, ":")
			word = name + ": " + history.MaskedValue
		}
		flags = append(flags, word)
	}
	return flags
}

// complainOfShop prints on one line why a shop could not be tried, then the last lines of the shop's output.
func complainOfShop(stderr io.Writer, err error) int {
	why, last, _ := strings.Cut(err.Error(), "\n")
	complain(stderr, errors.New(why))
	for line := range strings.Lines(last) {
		fmt.Fprintln(stderr, "  "+history.Plain(strings.TrimRight(line, "\n")))
	}
	return couldNotRun
}

// measure learns the lock, and plays the cells.
func (f *tryFlags) measure(
	ctx context.Context, o trial.Options, shown *terminal.Progress,
) (p *sale.Passport, results []*history.Cell, err error) {
	t, ctx, err := trial.New(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if p, err = t.Learn(ctx); err != nil {
		return nil, nil, err
	}
	if o.Every != nil {
		defer trial.MaskPassport(shop.NewMask(o.Shop.Headers), p)
		f.search, results, err = t.PlayEvery(ctx, shown.Say)
		return p, results, err
	}
	planned, err := t.Planned()
	if err != nil {
		return nil, nil, err
	}
	shown.Count(planned)
	results, err = t.Run(ctx, func(c *history.Cell) { shown.Row(terminal.RowOf(c)) })
	trial.MaskPassport(shop.NewMask(o.Shop.Headers), p)
	return p, results, err
}

// print prints the passport, a line for each cell, and what the broken ones mean, defects first.
func (f *tryFlags) print(stdout io.Writer, p *sale.Passport, t *terminal.Trial) error {
	if f.JSON {
		return printJSON(stdout, struct {
			Defects  []history.FoundDefect `json:"defects"`
			Passport *history.Facts        `json:"passport"`
			Lock     string                `json:"lock"`
			Closest  string                `json:"closest_rung"`
			Sale     []sale.Command        `json:"sale"`
			Search   *history.Search       `json:"search,omitempty"`
			Cells    []*history.Cell       `json:"cells"`
		}{history.DefectsOf(t.Cells), &p.Facts, p.String(), p.Closest(), p.Commands(), f.search, t.Cells})
	}
	fmt.Fprintf(stdout, "%s\n\n", history.Plain(p.String()))
	if f.Verbose {
		table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
		for _, c := range p.Commands() {
			number := ""
			if c.Number > 0 {
				number = strconv.Itoa(c.Number)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", number, c.Mark, c.Command, c.Does)
		}
		fmt.Fprintln(table)
		_ = table.Flush()
	}
	t.Print(stdout, f.Verbose)
	return nil
}

// printJSON prints a value as JSON.
func printJSON(stdout io.Writer, v any) error {
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // lines have a >, and are pasted into --play
	return e.Encode(v)
}

// checkCells returns an error if --cells would ignore an argument.
func (f *tryFlags) checkCells() error {
	for _, word := range f.given[1:] { // after try
		switch name, _, _ := strings.Cut(word, "="); name {
		case "--cells", "--json":
		case "--":
			return errors.New("--cells starts no shop: leave out -- and what follows")
		default:
			return fmt.Errorf("--cells plays no cell: leave out %s", name)
		}
	}
	return nil
}

// printCells prints the cells, and what each needs. It returns the exit code.
func (f *tryFlags) printCells(stdout, stderr io.Writer) int {
	err := f.checkCells()
	switch {
	case err != nil:
	case f.JSON:
		err = printJSON(stdout, trial.Cells())
	default:
		err = tabulate(stdout, trial.Cells())
	}
	if err != nil {
		return complain(stderr, fmt.Errorf("try: %w", err))
	}
	return asExpected
}

func tabulate(stdout io.Writer, cells []trial.Planned) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "cell\tline\t--quick\tneeds")
	for _, c := range cells {
		quick := "–"
		switch {
		case c.QuickIf != "":
			quick = "if " + c.QuickIf
		case c.Quick:
			quick = "yes"
		}
		needs := strings.Join(c.Needs, "; ")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Name, cmp.Or(c.Line, "–"), quick, cmp.Or(needs, "–"))
	}
	return table.Flush()
}
