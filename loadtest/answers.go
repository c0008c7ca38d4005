package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/catalog"
	"stockapi/loadtest/client"
	"stockapi/loadtest/history"
)

// maxAnswer bounds the length of a line. The longest answer that the load test accepts fits, as JSON in JSON.
const maxAnswer = 16 << 20

// judgeAnswers judges the answers in the files, one for each load generator, and returns the exit code: 0 if nothing is
// BROKEN, 1 if something is, 2 if that is unknown.
func (f *auditFlags) judgeAnswers(stdout, stderr io.Writer) int {
	c := &history.Cell{}
	r := &answersReader{
		cell: c, orders: map[string]bool{}, lessors: map[string]bool{}, generators: len(f.Files), stock: f.Stock,
	}
	for _, file := range f.Files {
		if err := r.readFile(file); err != nil {
			return complain(stderr, err)
		}
	}
	if len(c.Ops) == 0 {
		return complain(stderr, errors.New("the files have no answers"))
	}
	if err := r.complete(f.Orders); err != nil {
		return complain(stderr, err)
	}
	c.Initial, c.Left = f.Stock, f.Left
	if f.Left == nil { // lost units are not checked: assume what the sales leave
		rest := f.Stock - r.units
		c.Left = &rest
	}
	c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, catalog.TermsOf(c)))
	return r.print(stdout, f.Left != nil)
}

// An answerLine is a line of a file of answers: see docs/contract.md.
type answerLine struct {
	Sent     time.Time       `json:"sent"`
	Received time.Time       `json:"received"`
	Status   int             `json:"status"`
	Body     json.RawMessage `json:"body"`
	// Order and Quantity describe the request. By default the body names the order, and the quantity is 1.
	Order    string `json:"order"`
	Quantity uint32 `json:"quantity"`
}

// An answersReader turns the answers in several files into one cell.
type answersReader struct {
	cell *history.Cell
	// orders are the answered orders, and lessors the instances with a lease or a trace in an answer.
	orders, lessors map[string]bool
	generators      int
	stock           int64 // before the first order
	units           int64 // in all answers
}

// readFile adds the answers of one generator. Its errors name the file and the line.
func (r *answersReader) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxAnswer)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")) // concatenated files have several
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := r.add(line, fmt.Sprintf("%s:%d", name, n)); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, n, cmp.Or(foreign(line), err))
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it has more than %d MB: write one answer a line", maxAnswer>>20)
	}
	if err != nil {
		return fmt.Errorf("%s, line %d: %w", name, n+1, err)
	}
	return nil
}

// foreign returns an error, with a remedy, if the first bytes of a line are those of a known format without answers.
func foreign(line []byte) error {
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", "{\x00", "\x00{"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return errors.New("this is UTF-16, as PowerShell's > writes: convert it to UTF-8")
		}
	}
	for _, begin := range []string{`time="`, `{"level":`} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return errors.New("this is k6's log: run k6 with --log-format raw")
		}
	}
	return nil
}

// add adds the answer of one line; place is its file and number.
func (r *answersReader) add(line []byte, place string) error {
	a := answerLine{Quantity: 1}
	if err := history.ReadJSON(line, &a); err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	switch {
	case a.Sent.IsZero():
		return errors.New(`no answer: it has no time "sent"`)
	case a.Status != 0 && a.Received.IsZero():
		return errors.New(`a status and no time "received"`)
	case latest(a.Received).Before(a.Sent) && a.Status != 0:
		return errors.New(`"received" is before "sent"`)
	}
	body, err := bodyOf(a.Body)
	if err != nil {
		return err
	}
	order, err := r.orderOf(a.Order, body, place)
	if err != nil {
		return err
	}
	if r.cell.Start.IsZero() {
		r.cell.Start = a.Sent
	}
	op := r.op(&a, order, body)
	if err := op.CheckUnits(r.stock); err != nil {
		return fmt.Errorf("%w: correct --stock or the file", err)
	}
	r.units += int64(len(op.Units))
	r.cell.Ops = append(r.cell.Ops, op)
	return nil
}

// complete adds the orders without a line, of unknown outcome, if the number of orders is known. Each may have been as
// large as the largest order with a line. It returns an error if there are more lines than orders.
func (r *answersReader) complete(orders *int) error {
	if orders == nil {
		r.cell.Incomplete = true
		return nil
	}
	answers := len(r.cell.Ops)
	if answers > *orders {
		return fmt.Errorf("the files have %d answers to %d orders: correct --orders, or judge one run at a time",
			answers, *orders)
	}
	largest := slices.MaxFunc(r.cell.Ops, func(a, b history.Op) int { return cmp.Compare(a.Quantity, b.Quantity) })
	for i := range *orders - answers {
		r.cell.Ops = append(r.cell.Ops, history.Op{
			Order: fmt.Sprintf("missing-%d", i+1), Phase: history.Buy, Outcome: history.Unknown,
			Quantity: largest.Quantity, Sent: longAgo, Done: history.Never,
		})
	}
	return nil
}

// bodyOf returns the body, which is JSON, or a string of JSON.
func bodyOf(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return raw, nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return []byte(text), err
}

// orderOf returns the name of the answered order; an unnamed one is named after its place. It returns an error if the
// order cannot belong to the run: it was answered before, or its product or rung differs from those before it.
func (r *answersReader) orderOf(order string, body []byte, place string) (string, error) {
	var named struct{ Order, Product, Rung string }
	_ = json.Unmarshal(body, &named) // a body of another form names nothing
	order = cmp.Or(order, named.Order, place)
	known := history.Clip(order)
	if r.orders[known] {
		return "", fmt.Errorf("order %q was answered before: judge one run at a time", known)
	}
	r.orders[known] = true
	for _, of := range []struct {
		what, name string
		known      *string
	}{{"product", named.Product, &r.cell.Product}, {"rung", named.Rung, &r.cell.Rung}} {
		if *of.known == "" {
			*of.known = history.Clip(of.name)
		} else if of.name != "" && history.Clip(of.name) != *of.known {
			return "", fmt.Errorf("the %s is %q, and was %q before: judge one run at a time", of.what, of.name, *of.known)
		}
	}
	return order, nil
}

// longAgo is before every other instant, and its distance to each can be computed.
const longAgo = history.Instant(math.MinInt64 / 4)

// op returns the op of an answer.
func (r *answersReader) op(a *answerLine, order string, body []byte) history.Op {
	op := history.Op{
		Order: order, Phase: history.Buy, Quantity: int64(a.Quantity), Sent: history.At(r.cell.Start, a.Sent),
		Done: history.Never,
	}
	if r.generators > 1 { // clocks of generators cannot be compared: any order may have been sent before any other
		op.Sent = longAgo
	}
	if a.Status == 0 {
		op.Outcome, op.Detail = history.Unknown, "no answer"
		op.Bound()
		return op
	}
	op.Done = history.At(r.cell.Start, latest(a.Received))
	client.Classify(&op, r.cell.Product, r.cell.Start, a.Status, body)
	if name := op.Instance; (op.Lease != nil || len(op.Trace) > 0) && !r.lessors[name] {
		r.lessors[name] = true
		r.cell.Instances = append(r.cell.Instances, history.Instance{Name: name})
	}
	if op.Instance == "" { // the clock of its times is unknown
		op.Lease, op.Trace = nil, nil
	}
	return op
}

// latest returns the latest moment that a clock would show as t, assuming that it truncates after the last digit of t
// that is not 0: many show milliseconds.
func latest(t time.Time) time.Time {
	for digit := time.Second; digit > 1; digit /= 10 {
		if t.Nanosecond()%int(digit) == 0 {
			return t.Add(digit - 1)
		}
	}
	return t
}

// print prints a row for each verdict, and returns the exit code.
func (r *answersReader) print(stdout io.Writer, leftKnown bool) int {
	tally := r.cell.Tally()
	said := fmt.Sprintf("%s %d answers", r.cell.Rung, len(r.orders))
	if tally.Buyers > len(r.orders) {
		said += fmt.Sprintf(" to %d orders", tally.Buyers)
	}
	said += fmt.Sprintf(": %d sold, %d refused, %d busy, %d not sold, %d unknown",
		tally.Sold, tally.Refused, tally.Busy, tally.NotSold, tally.Unknown)
	fmt.Fprintln(stdout, strings.TrimSpace(said))
	table, code := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0), asExpected
	for _, v := range history.Verdicts {
		f := r.cell.Finding(v)
		result, because := string(f.Result), f.Because
		switch why := r.notJudged(&f); {
		case why != "":
			result, because = "not judged", why
		case f.Result == history.Broken:
			code, because = surprised, evidence(&f)
		case f.Result == history.Indeterminate && code == asExpected:
			code = couldNotRun
		case f.Result == history.OK:
			because = basisOf(v, r.cell.Coverage, leftKnown)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", v, result, because)
	}
	_ = table.Flush()
	return code
}

// notJudged returns why that verdict cannot be judged from answers, "" if it can.
func (r *answersReader) notJudged(f *history.Finding) string {
	switch {
	case f.Verdict == history.Stock, f.Verdict == history.Fence && f.Result == history.Broken:
		return "" // a token that was issued twice is wrong by any clock
	case f.Verdict == history.Liveness:
		return "no order is known to have been sent after a fault"
	case f.Verdict == history.InOrder, f.Verdict == history.Herd:
		return "it is unknown which orders waited for the lock, and since when"
	case r.lessors[""]:
		return "the instances of some leases are unknown"
	case f.Result == history.NotApplicable && f.Because == "":
		return cmp.Or(memberless(f.Verdict, r.cell), "no receipt has the evidence for it")
	case len(r.lessors) > 1:
		return fmt.Sprintf("the leases are from %d instances, which may not read the same clock", len(r.lessors))
	case r.generators > 1:
		return fmt.Sprintf("the %d load generators may not read the same clock", r.generators)
	}
	return ""
}

// memberless names the member that a verdict needs and no answer has, or returns "".
func memberless(v history.Verdict, c *history.Cell) string {
	name, has := "lease", func(op history.Op) bool { return op.Lease != nil }
	switch v {
	case history.OwnRelease:
		name, has = "trace", func(op history.Op) bool { return len(op.Trace) > 0 }
	case history.Fence:
		name, has = "lease.fence", func(op history.Op) bool { return op.Lease != nil && op.Lease.Fence != 0 }
	}
	if slices.ContainsFunc(c.Ops, has) {
		return ""
	}
	return "no answer had the member " + name
}

// basisOf returns the evidence for an ok.
func basisOf(v history.Verdict, c *history.Coverage, leftKnown bool) string {
	switch {
	case v == history.OwnRelease:
		return fmt.Sprintf("%d of %d releases judged", c.Judged, c.Removals)
	case v != history.Stock:
		return fmt.Sprintf("%d of %d leases", c.Leases, c.Expected)
	}
	text := fmt.Sprintf("%d sales, %d refusals", c.Sales, c.Refusals)
	if busy := c.WereBusy(); busy != "" {
		text += ", " + busy
	}
	if !leftKnown {
		text += "; lost units were not checked: add --left"
	}
	return text
}

// evidence returns the first piece of a finding's evidence. For a unit that was sold twice it names both orders,
// without times: clocks of two generators cannot be compared.
func evidence(f *history.Finding) string {
	if len(f.Evidence) == 0 || f.Evidence[0].Unit == 0 || len(f.Evidence[0].Orders) < 2 {
		return f.Because
	}
	one := f.Evidence[0]
	buyer := func(i int) string {
		if one.Instances[i] == "" {
			return "order " + one.Orders[i]
		}
		return "order " + one.Orders[i] + " on " + one.Instances[i]
	}
	text := fmt.Sprintf("unit %d was sold twice, to %s and to %s", one.Unit, buyer(0), buyer(1))
	if _, more, yes := strings.Cut(f.Because, " (the first of "); yes {
		text += " (the first of " + more
	}
	return text
}
