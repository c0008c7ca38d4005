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
	"strings"
	"text/tabwriter"
	"time"

	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/trial"
)

// tryFlags are the flags of the command try.
type tryFlags struct {
	Argv    []string      `arg:"" optional:"" passthrough:"" name:"command" help:"The command line of the shop, after --. In it {port}, {redis}, {redis_host} and {redis_port} are replaced; it also finds PORT and REDIS_URL in its environment."`
	Order   string        `default:"POST /decrease" placeholder:"REQUEST" help:"How a unit is ordered, such as POST /buy {\"sku\":\"{product}\"}; {i}, a number, and {order}, a word, are new for every order."`
	Slow    string        `placeholder:"REQUEST" help:"How one is ordered whose work takes {ms}, such as POST /decrease?work={ms}."`
	Header  []string      `sep:"none" placeholder:"'NAME: VALUE'" help:"A header of every order, such as 'Authorization: Bearer t'; {i} and {order} are filled in."`
	Stock   string        `default:"SET ProductStock_{product} {n}" placeholder:"COMMAND" help:"The Redis command that puts {n} units on the shelf: SET KEY {n}, or HSET KEY FIELD {n}."`
	Set     string        `placeholder:"SHELL" help:"For a stock that is in no Redis: the command line for the shell that puts {n} units of {product}, before each cell. It writes to the database that it names: name a scratch one."`
	Left    string        `placeholder:"SHELL" help:"The command line that prints how many units are left. Sales and stock are then compared by count."`
	Sales   string        `placeholder:"SHELL" help:"The command line that prints how many sales are recorded: instead of the answers, which an error after the commit leaves open."`
	Setup   string        `placeholder:"SHELL" help:"The command line that prepares the database, once, before the shop is started. It writes to the database that it names, too."`
	DB      string        `name:"db" placeholder:"HOST:PORT" help:"The shop's database. Each instance reaches it at {db_host} and {db_port}, where its requests are held and cut, and never parsed."`
	Units   *int64        `placeholder:"N" help:"How many units are put for each cell. Default: 100; for a crowd 15 an instance."`
	Sold    string        `placeholder:"REGEXP" help:"What the body of a sale matches, or the Location of a redirect, if the status does not tell."`
	Within  time.Duration `default:"60s" help:"How long an instance may take to start."`
	Quick   bool          `help:"Try the cells that tell most."`
	Only    []string      `placeholder:"CELL" help:"Try these cells alone, such as 'reply-lost 1'."`
	Play    []string      `sep:"none" placeholder:"LINE" help:"Play a fault of your own, such as 'a>write.late-a.expiry.b>end.arrive-a': see docs/try.md."`
	AtOnce  int           `default:"4" help:"Cells under way at a time."`
	Out     string        `default:"out" placeholder:"DIR" help:"Write results.jsonl.gz, matrix.txt and report.html to DIR."`
	NoOut   bool          `help:"Write no files."`
	Verbose bool          `short:"v" help:"Print the commands of a plain sale, and the evidence of each broken cell."`
	JSON    bool          `name:"json" help:"Print the result as JSON."`

	given []string // the arguments of loadtest
}

// Help returns what the flags leave open.
func (*tryFlags) Help() string {
	return `For a stock in a database give --db, --set and --left, and the shop {db_host} and {db_port}; docs/try.md has an
example. The command lines and the orders write to the database that they name: name a scratch one.

Cells whose result a busy machine decided are played once more at the end, each alone. If some are still not
measured, a line at the end counts them, and the exit code is 2 unless a defect was found.`
}

// options returns what the flags ask for.
func (f *tryFlags) options(say func(string)) (o trial.Options, err error) {
	argv, err := f.shop()
	if err != nil {
		return o, err
	}
	o = trial.Options{Argv: argv, Stock: strings.Fields(f.Stock), Product: "10000", Within: f.Within, Quick: f.Quick,
		Setup: f.Setup, Set: f.Set, Left: f.Left, Sales: f.Sales, Database: f.DB, Only: f.Only, Play: f.Play,
		AtOnce: max(1, f.AtOnce), Say: say}
	if f.Units != nil {
		if o.Units = *f.Units; o.Units < 1 {
			return o, errors.New("--units must be at least 1")
		}
	}
	if o.Order, err = trial.ParseRequest(f.Order); err != nil {
		return o, fmt.Errorf("--order: %w", err)
	}
	if err := f.checkDatabase(); err != nil {
		return o, err
	}
	if f.Slow != "" {
		slow, err := trial.ParseRequest(f.Slow)
		if err != nil {
			return o, fmt.Errorf("--slow: %w", err)
		}
		o.Slow = &slow
	}
	for _, text := range f.Header {
		h, err := trial.ParseHeader(text)
		if err != nil {
			return o, fmt.Errorf("--header: %w", err)
		}
		o.Headers = append(o.Headers, h)
	}
	if f.Sold != "" {
		if o.Sold, err = regexp.Compile(f.Sold); err != nil {
			return o, fmt.Errorf("--sold: %w", err)
		}
	}
	return o, nil
}

// databaseName matches what is replaced in the command line of a shop whose database is named.
var databaseName = regexp.MustCompile(`\{db_(host|port)\}`)

// checkDatabase refuses flags of a stock in a database that cannot be meant so.
func (f *tryFlags) checkDatabase() error {
	_, _, err := net.SplitHostPort(f.DB)
	switch {
	case f.DB != "" && err != nil:
		return fmt.Errorf("--db: %w: name it as HOST:PORT", err)
	case f.Set != "" && !strings.Contains(f.Set, "{n}"):
		return errors.New("--set puts as many units as the trial wants: write {n} for their number")
	}
	return nil
}

// shop returns the command line of the shop.
func (f *tryFlags) shop() (argv []string, err error) {
	argv = f.Argv
	switch {
	case len(argv) > 0 && argv[0] == "--":
		argv = argv[1:]
	case len(argv) > 0 && strings.HasPrefix(argv[0], "-"): // the first that is no flag of ours ends them
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
			return nil, fmt.Errorf("%s in the command line of the shop is that of its database: --db HOST:PORT", name)
		}
	}
	return argv, nil
}

// run tries the shop, and returns the exit code: 0 without a defect, 1 with one, 2 if a cell, or everything, could not
// be measured and nothing shows a defect.
func (f *tryFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
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
		Backend: history.Backend{Kind: "redis-server", Text: "redis-server, its own", Stockapi: strings.Join(o.Argv, " ")},
		Load:    history.Load{Repeat: 1}}
	shown.Say("not seen: Redis Cluster, Sentinel, TLS, a lock in the database itself")
	passport, results, err := f.measure(ctx, o, shown)
	shown.Clear()
	if ctx.Err() != nil {
		err = errInterrupted
	}
	run.Cells, run.Selected = results, len(results)
	if err != nil {
		run.Interrupted = err.Error()
	}
	if len(run.Cells) > 0 && !f.NoOut {
		err = errors.Join(err, report.WriteAll(f.Out, run, scenario.Table.Assess(run.Cells)))
	}
	if passport != nil && (err == nil || len(results) > 0) {
		err = errors.Join(err, f.print(stdout, passport, results, err == nil))
	}
	if err != nil {
		return complainOfShop(stderr, err)
	}
	if !f.JSON {
		fmt.Fprintf(stdout, "\n%s\n", f.command())
	}
	return codeOfTrial(results)
}

// plainWord is a word that a shell leaves as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// command returns the command line of the trial, for a shell. The values of headers are left out: they may be secrets,
// and output is kept.
func (f *tryFlags) command() string {
	words := []string{"loadtest"}
	for i, word := range f.given {
		if strings.HasPrefix(word, "--header=") || i > 0 && f.given[i-1] == "--header" {
			name, _, _ := strings.Cut(word, ":")
			word = name + ": …"
		}
		if !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// complainOfShop says in one line why a shop could not be tried. The last lines that the shop printed follow.
func complainOfShop(stderr io.Writer, err error) int {
	why, last, _ := strings.Cut(err.Error(), "\n")
	complain(stderr, errors.New(why))
	for line := range strings.Lines(last) {
		fmt.Fprintln(stderr, "  "+history.Plain(strings.TrimRight(line, "\n")))
	}
	return couldNotRun
}

// codeOfTrial is the exit code of cells that were played. A defect is more than a cell that was not measured.
func codeOfTrial(results []*history.Cell) int {
	if slices.ContainsFunc(results, func(r *history.Cell) bool { return r.Defect != nil }) {
		return surprised
	}
	if asked, unmeasured := count(results); asked == 0 || unmeasured > 0 {
		return couldNotRun
	}
	return asExpected
}

// count returns how many cells could be had, and how many of them were not measured.
func count(cells []*history.Cell) (asked, unmeasured int) {
	for _, c := range cells {
		isUnmeasured := trial.IsUnmeasured(c)
		if c.NotAsked == nil || isUnmeasured {
			asked++
		}
		if isUnmeasured {
			unmeasured++
		}
	}
	return asked, unmeasured
}

// measure learns what the lock is, and plays the cells.
func (f *tryFlags) measure(
	ctx context.Context, o trial.Options, shown *terminal.Progress,
) (p *trial.Passport, results []*history.Cell, err error) {
	t, ctx, err := trial.New(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if p, err = t.Learn(ctx); err != nil {
		return nil, nil, err
	}
	played := 0
	results, err = t.Run(ctx, func(r *history.Cell) {
		played++
		shown.Status(fmt.Sprintf("%d cells played; the last: %s", played, r.Scenario))
	})
	return p, results, err
}

// print prints the passport, a line for each cell, and what the broken ones mean: defects first.
func (f *tryFlags) print(stdout io.Writer, p *trial.Passport, cells []*history.Cell, whole bool) error {
	if f.JSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false) // a line can be pasted
		return e.Encode(struct {
			Defects  []jsonDefect        `json:"defects"`
			Passport *trial.Passport     `json:"passport"`
			Lock     string              `json:"lock"`
			Closest  string              `json:"closest_rung"`
			Sale     []trial.SaleCommand `json:"sale"`
			Cells    []*history.Cell     `json:"cells"`
		}{jsonDefects(cells), p, p.String(), p.Closest(), p.Sale(), cells})
	}
	fmt.Fprintf(stdout, "%s\n\n", history.Plain(p.String()))
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if f.Verbose {
		for _, c := range p.Sale() {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", c.Number, c.Mark, c.Command, c.Does)
		}
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "\tstock\texclusion\town-release\tliveness")
	for _, c := range cells {
		if c.NotAsked != nil {
			continue
		}
		fmt.Fprint(table, c.Scenario)
		for _, v := range cause.Asked {
			fmt.Fprintf(table, "\t%s", c.Finding(v).Result)
		}
		fmt.Fprintf(table, "\t%s\n", meaning(c))
	}
	_ = table.Flush()
	f.sum(stdout, p, cells, f.tell(stdout, cells) > 0 || !whole)
	return nil
}

// sum says in the end what was found, unless that has been told, and what was not measured.
func (f *tryFlags) sum(stdout io.Writer, p *trial.Passport, cells []*history.Cell, told bool) {
	asked, unmeasured := count(cells)
	switch {
	case told || asked == unmeasured:
	case unmeasured > 0:
		fmt.Fprintln(stdout, "\nno defect was found in what was measured")
	default:
		fmt.Fprintln(stdout, "\nno defect was found in what was asked")
	}
	if p.Elsewhere && f.Left == "" {
		fmt.Fprintln(stdout, "\nthe lock alone was judged: what is left of the stock is told by --left")
	}
	if unmeasured > 0 {
		were := "were"
		if unmeasured == 1 {
			were = "was"
		}
		why := ": the machine was busy"
		if slices.ContainsFunc(cells, func(c *history.Cell) bool { return c.NotAsked != nil && c.NotAsked.Failed }) {
			why = ""
		}
		fmt.Fprintf(stdout, "\n%d of %d cells %s not measured%s\n", unmeasured, asked, were, why)
	}
}

// A jsonDefect is a defect, and the cells in which it was found; the first shows it.
type jsonDefect struct {
	history.Defect
	Cells []string `json:"cells"`
}

func jsonDefects(cells []*history.Cell) []jsonDefect {
	all := []jsonDefect{}
	for _, g := range defectsOf(cells) {
		all = append(all, jsonDefect{*g.first.Defect, g.names})
	}
	return all
}

// defectsOf groups the cells with a defect by its cause.
func defectsOf(cells []*history.Cell) []*group {
	groups := grouped(cells, func(c *history.Cell) []string {
		if c.Defect == nil {
			return nil
		}
		return []string{c.Defect.Cause}
	})
	slices.SortStableFunc(groups, func(x, y *group) int { // what nobody can explain may be explained by another one
		return cmp.Compare(len(y.first.Defect.Remedy), 0) - cmp.Compare(len(x.first.Defect.Remedy), 0)
	})
	return groups
}

func meaning(c *history.Cell) string {
	switch {
	case c.Defect != nil:
		return "DEFECT"
	case c.Design != "":
		return "by design"
	case trial.IsUnmeasured(c):
		return "not measured"
	}
	return ""
}

// isInvalid reports whether the machine, and not the shop, decided a cell.
func isInvalid(c *history.Cell) bool { return c.Finding(history.Valid).Result == history.Invalid }

// tell tells the defects, each with the cell that shows it first, what is so by design, remarks, and what was not asked
// or cannot be told, and why. It returns the number of defects.
func (f *tryFlags) tell(stdout io.Writer, cells []*history.Cell) int {
	defects := defectsOf(cells)
	for _, g := range defects {
		fmt.Fprintf(stdout, "\nDEFECT in %s: %s\n  %s: %s\n", g.faults(), g.text, g.first.Scenario,
			history.Plain(g.first.Defect.Shown))
		if remedy := g.first.Defect.Remedy; remedy != "" {
			fmt.Fprintf(stdout, "  %s\n", remedy)
		}
		if line := g.first.Line; line != "" {
			fmt.Fprintf(stdout, "  again: --play '%s'\n", line)
		}
	}
	for _, kind := range []struct {
		word string
		of   func(*history.Cell) []string
	}{
		{"by design in", func(c *history.Cell) []string { return []string{c.Design} }},
		{"remark on", func(c *history.Cell) []string { return c.Remarks }},
		{"unknown in", unknowns},
		{"not asked:", func(c *history.Cell) []string { return []string{c.WhyNot()} }},
	} {
		for _, g := range grouped(cells, kind.of) {
			fmt.Fprintf(stdout, "\n%s %s: %s\n", kind.word, g.faults(), g.text)
		}
	}
	for _, c := range cells {
		for _, one := range c.Findings {
			if f.Verbose && one.Result == history.Broken {
				fmt.Fprintf(stdout, "\n%s, %s %s: %s\n", c.Scenario, one.Verdict, one.Result, history.Plain(one.Because))
			}
		}
	}
	return len(defects)
}

// unknowns says which verdicts of a cell nobody can tell.
func unknowns(c *history.Cell) (all []string) {
	if c.NotAsked != nil {
		return nil
	}
	if isInvalid(c) {
		return []string{c.Finding(history.Valid).Because}
	}
	for _, one := range c.Findings {
		if one.Result == history.Indeterminate && one.Because != c.WhyNot() {
			all = append(all, fmt.Sprintf("%s: %s", one.Verdict, one.Because))
		}
	}
	return all
}

// A group is the cells of which the same is said.
type group struct {
	text  string
	first *history.Cell
	names []string
}

func (g *group) faults() string { return strings.Join(g.names, ", ") }

// grouped groups cells by what is said of them, in their order.
func grouped(cells []*history.Cell, of func(*history.Cell) []string) (groups []*group) {
	for _, c := range cells {
		for _, text := range of(c) {
			if text = history.Plain(text); text == "" {
				continue
			}
			i := slices.IndexFunc(groups, func(g *group) bool { return g.text == text })
			if i < 0 {
				i, groups = len(groups), append(groups, &group{text: text, first: c})
			}
			groups[i].names = append(groups[i].names, c.Scenario)
		}
	}
	return groups
}
