package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Cell is one rung under one scenario, run once: on its own instances, with its own product.
type Cell struct {
	Kind Kind `json:"kind,omitempty"`
	// Scenario is one of the ladder, or its counterpart in another kind of experiment: see [Kind].
	Scenario string `json:"scenario"`
	// Line is the fault of a trial in the notation of package schedule, if that can express it.
	Line string `json:"line,omitempty"`
	Rung string `json:"rung"`
	Name string `json:"name"`
	// Repetition counts from 1.
	Repetition int    `json:"repetition"`
	Product    string `json:"product"`
	// NotTested is nil if the cell was run. One that was not run, or was inconclusive, passes no verdict.
	NotTested *NotTested `json:"not_tested,omitempty"`

	Start     time.Time  `json:"start"`
	Instances []Instance `json:"instances,omitempty"`
	Initial   int64      `json:"initial"`
	// Left is the stock that was read at the end, nil if it could not be read.
	Left *int64 `json:"left"`
	// Count is nil unless the stock is judged by numbers alone, since its writes are not observed.
	Count *Count `json:"count,omitempty"`
	// TTL is the locks' TTL in this cell.
	TTL time.Duration `json:"ttl,omitempty"`
	// Limit is the time within which a fresh request has to get through: the TTL and a margin.
	Limit time.Duration `json:"limit"`

	// Aborted is why the scenario was not completed, "" if it was: its fault did not happen.
	Aborted string `json:"aborted,omitempty"`
	// JobOfOther says that an instance carried out the other one's order, which then proves nothing; "" if none did.
	JobOfOther string `json:"job_of_other,omitempty"`

	// Astray lists the departures of a stage's round from its script.
	Astray []string `json:"astray,omitempty"`

	// Breaks are the verdicts that the cell should break, if it is a replay.
	Breaks []Verdict `json:"breaks,omitempty"`

	// Steps are those of a replay, as they were taken.
	Steps []Step `json:"steps,omitempty"`

	// Facts describe the lock of a shop on trial. Strays are commands that may belong to any of several orders, or
	// to none: they prove nothing about any.
	Facts  *Facts    `json:"facts,omitempty"`
	Strays []Command `json:"strays,omitempty"`
	// Requests are those to the database of a shop on trial, in order of arrival. No verdict depends on them.
	Requests []Request `json:"requests,omitempty"`

	// Defect is the bug by which a shop on trial breaks the cell, nil if there is none. Design is why it breaks verdicts
	// that any shop of its kind breaks. Remarks are worth knowing, and break nothing.
	Defect  *Defect  `json:"defect,omitempty"`
	Design  string   `json:"by_design,omitempty"`
	Remarks []string `json:"remarks,omitempty"`

	// InLine means that each order was known to wait before the next one was sent: they arrived in the order of Sent.
	InLine bool `json:"in_line,omitempty"`

	// Waiting counts the orders that had found the lock taken and were waiting when it was released; 0 if unknown.
	Waiting int `json:"waiting,omitempty"`

	// Faults were injected into the cell's orders, and into the processes that served them.
	Faults []Fault `json:"faults,omitempty"`

	// Ops are the cell's orders; evidence and timelines refer to them by index. In a file each is a line of its own.
	Ops []Op `json:"-"`
	// Incomplete means that there may have been orders without an answer that are not among the ops.
	Incomplete bool `json:"-"`

	Elapsed  time.Duration `json:"elapsed"`
	Latency  Latency       `json:"latency"`
	Commands *int64        `json:"redis_commands,omitempty"`

	// Client describes the quality of the load; nil in old files.
	Client *Client `json:"client,omitempty"`
	// Coverage counts the evidence for an "ok" of this cell, at the time of the run.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Longer is the factor by which the leases were lengthened on a machine too slow for the scenario's own.
	Longer float64 `json:"longer,omitempty"`

	// Findings are the verdicts at the time of the run, for readers of the file. An audit judges the ops again and
	// compares.
	Findings []Finding `json:"findings,omitempty"`
}

// A Count describes how a stock is counted that the load test does not observe, such as one in a database.
type Count struct {
	// Sales is the number of sales that the shop recorded in the cell; nil if unknown: then the answers are counted.
	Sales *int64 `json:"sales,omitempty"`
	// Unbalanced is why the count proves nothing: it does not balance even without a fault. It is "" if it does.
	Unbalanced string `json:"unbalanced,omitempty"`
	// Kept means that the database made the other customer wait for the held one: a balance proves nothing.
	Kept bool `json:"kept,omitempty"`
}

// KeptByDatabase is why a count that balances proves nothing.
const KeptByDatabase = "the database kept Bert waiting"

// A Step is one of a replay.
type Step struct {
	Client string  `json:"client,omitempty"` // the instance that took it; "" if none did, as when time passes
	What   string  `json:"what"`
	Holds  string  `json:"holds"` // the holders of locks afterwards, and the stock
	At     Instant `json:"at"`
}

// A Request is one to a database, whose content is not parsed.
type Request struct {
	Order    string `json:"order,omitempty"` // "" if it may be one of several
	Instance string `json:"instance"`
	// Number counts the requests of the order, from 1; 0 if unknown.
	Number int `json:"number,omitempty"`
	// Came is when it arrived at the proxy, Sent when it was passed on, Answered and Heard the same of the reply.
	Came     Instant `json:"came"`
	Sent     Instant `json:"sent"`
	Answered Instant `json:"answered"`
	Heard    Instant `json:"heard"`
}

// IsObserved reports whether commands were observed, as they are not in the crowd of a trial.
func (c *Cell) IsObserved() bool {
	return len(c.Strays) > 0 || slices.ContainsFunc(c.Ops, func(op Op) bool { return op.For == "" && len(op.Trace) > 0 })
}

// RequestAt returns the number of an order's last request that had arrived by then, 0 if it is unknown.
func (c *Cell) RequestAt(order string, then Instant) (number int) {
	for _, r := range c.Requests {
		if r.Order == order && r.Came <= then {
			number = r.Number
		}
	}
	return number
}

// A Kind is the kind of experiment that a cell records.
type Kind string

// The kinds. By kind, [Cell.Scenario] is a scenario of the table, a replayed trace, the title of a round on a stage, or
// the fault injected into a shop on trial.
const (
	Ladder Kind = ""
	Replay Kind = "replay"
	Stage  Kind = "stage"
	Trial  Kind = "try"
)

// IsUnlisted reports whether the cell is no scenario of the table. Then Breaks is what is expected of it.
func (c *Cell) IsUnlisted() bool { return c.Kind != Ladder }

// Label returns what tells the cell from others of its kind, for print.
func (c *Cell) Label() string { return c.Scenario }

// Heading returns the scenario for print, after the kind of experiment unless that is the ladder, or a stage, whose
// rounds have titles.
func (c *Cell) Heading() string {
	if c.Kind == Stage {
		return c.Scenario
	}
	return strings.TrimSpace(string(c.Kind) + " " + c.Scenario)
}

// NotTested is the reason why a cell was not run, or was inconclusive.
type NotTested struct {
	Reason string `json:"reason"` // such as "needs 5 nodes"
	// Failed means that something other than the service failed, so the cell is not measured.
	Failed bool `json:"failed,omitempty"`
}

// WhyNot returns why the cell was not tested, "" if it was.
func (c *Cell) WhyNot() string {
	if c.NotTested == nil {
		return ""
	}
	return c.NotTested.Reason
}

// TooLate is why a crash shows nothing, such as on a busy machine.
const TooLate = "no order tried the lock before the lease of the killed one was over"

// IsVoid reports whether a busy machine decided the cell of a trial, and its commands nevertheless show no defect.
func (c *Cell) IsVoid() bool {
	return c.Defect == nil && (Worst(c.Findings) == Invalid || c.WhyNot() == TooLate)
}

// IsUnmeasured reports whether the cell of a trial is void, or could not be played though the shop allows it.
func (c *Cell) IsUnmeasured() bool {
	if c.NotTested != nil {
		return c.NotTested.Failed
	}
	return c.IsVoid()
}

// A Defect is a bug of the shop on trial.
type Defect struct {
	Cause  string   `json:"cause"`
	Remedy string   `json:"remedy,omitempty"`
	Lines  []string `json:"lines,omitempty"` // of the remedy, for pasting
	Shown  string   `json:"shown"`           // the orders and their commands
}

// String returns the cause, the orders that show it, and the remedy.
func (d *Defect) String() string {
	text := d.Cause + ": " + d.Shown
	if d.Remedy != "" {
		text += "; " + d.Remedy
	}
	return text
}

// An Instance is a stockapi process that the cell used. Equal clock ids mean the same clock.
type Instance struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Clock string `json:"clock"`
	// Build is the build of stockapi, if it reports one.
	Build string `json:"build,omitempty"`
	// Offsets bound how far its clock is ahead of the client's, before and after the cell's orders.
	Offsets []Offset `json:"offsets,omitempty"`
}

// An Offset bounds how far one clock is ahead of another. The zero Offset means that they are the same clock.
type Offset struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
}

// A Fault is an injected fault, with the order that it affected and times by the client's clock.
type Fault struct {
	Order    string `json:"order"`
	Instance string `json:"instance"`
	// On is the target of the fault, if not the order and its process: "network" is the path between the instance and its
	// servers, "locks" and "stock" are servers.
	On   string    `json:"on,omitempty"`
	Kind FaultKind `json:"kind,omitempty"`
	// Command is the one that was meant, such as [CommandWrite] or "command 3"; "" if the fault was not one of a command.
	Command string `json:"command,omitempty"`
	// Text describes the fault, and follows the instance's name: "stopped 0.451 s before set/stock".
	Text string  `json:"text"`
	At   Instant `json:"at"`
	End  Instant `json:"end"`
}

// A FaultKind is the kind of a fault, "" for one that needs none.
type FaultKind string

// The kinds of faults: of the instance's process, of its network, and of a command.
const (
	FaultStop    FaultKind = "stop"    // it was stopped from At to End
	FaultKill    FaultKind = "kill"    // it was killed
	FaultDied    FaultKind = "died"    // it exited by itself; Text has its last words
	FaultCut     FaultKind = "cut"     // it could not reach its servers
	FaultRestart FaultKind = "restart" // a server of its restarted, and lost what it kept
	FaultHeld    FaultKind = "held"    // the command, or its reply, was held
	FaultLate    FaultKind = "late"    // the command arrived when its client no longer waited
	FaultLost    FaultKind = "lost"    // the command, or its reply, was lost
)

// Commands that a fault may have been meant for.
const (
	CommandWrite   = "write"
	CommandRenewal = "renewal"
)

// Latency is the distribution over the buyers, counted from Due.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// OneClock reports whether all instances are known to read the same clock.
func (c *Cell) OneClock() bool {
	for _, in := range c.Instances {
		if in.Clock == "" || in.Clock != c.Instances[0].Clock {
			return false
		}
	}
	return len(c.Instances) > 0
}

// Title returns the cell's scenario, rung and name, such as "two-instances v0.5 mutex", or the title of a round.
func (c *Cell) Title() string {
	if c.Kind == Stage {
		return c.Heading()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Heading(), c.Rung, c.Name)) // a shop on trial has no name
}

// Short returns an order's id without its prefix, the product's name.
func (c *Cell) Short(order string) string { return strings.TrimPrefix(order, c.Product+"-") }

// OfTrial is the name of the order by which a trial holds the lock itself.
const OfTrial = "us"

// OrderName returns an order as a sentence names it: "Anna", "Bert", "Clara", "order 12", or "the trial" itself.
func (c *Cell) OrderName(order string) string {
	switch short := c.Short(order); short {
	case "anna", "bert", "clara":
		return strings.ToUpper(short[:1]) + short[1:]
	case OfTrial:
		return "the trial"
	default:
		return "order " + short
	}
}

// Finding returns the finding for v, NotApplicable if there is none.
func (c *Cell) Finding(v Verdict) Finding { return FindingOf(c.Findings, v) }
