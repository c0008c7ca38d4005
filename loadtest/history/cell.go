package history

import (
	"fmt"
	"strings"
	"time"
)

// A Cell is one rung under one scenario, run once: on its own instances, with its own product.
type Cell struct {
	Kind Kind `json:"kind,omitempty"`
	// Scenario is that of the ladder, or what its kind of experiment has in its place: see [Kind].
	Scenario string `json:"scenario"`
	// Line is the fault of a trial in the notation of schedule, if it can be said so.
	Line string `json:"line,omitempty"`
	Rung string `json:"rung"`
	Name string `json:"name"`
	// Repetition counts from 1.
	Repetition int    `json:"repetition"`
	Product    string `json:"product"`
	// NotTested is nil if the cell was run. One that was not run, or was inconclusive, has passed nothing.
	NotTested *NotTested `json:"not_asked,omitempty"`

	Start     time.Time  `json:"start"`
	Instances []Instance `json:"instances,omitempty"`
	Initial   int64      `json:"initial"`
	// Left is the stock that was read at the end, nil if it could not be read.
	Left *int64 `json:"left"`
	// Count is nil unless the stock is judged by numbers alone, as nobody sees it written.
	Count *Count `json:"count,omitempty"`
	// TTL is that of a lock in this cell.
	TTL time.Duration `json:"ttl,omitempty"`
	// Limit is the time in which a fresh request has to get through: the TTL and a margin.
	Limit time.Duration `json:"limit"`

	// Aborted says why the scenario was not run to its end, if so: its fault did not happen.
	Aborted string `json:"cut_short,omitempty"`

	// Breaks are the verdicts that the cell is to break, if it is a replay.
	Breaks []Verdict `json:"breaks,omitempty"`

	// Facts are what is known of the lock of somebody's own shop. Strays are commands that may be several orders': they
	// prove nothing of any.
	Facts  *Facts    `json:"facts,omitempty"`
	Strays []Command `json:"strays,omitempty"`

	// Defect is why somebody's own shop breaks the cell, if that is the shop's; nil if it is not. Design is why it breaks
	// what it does, if any shop of its kind does so. Remarks are worth knowing, and break nothing.
	Defect  *Defect  `json:"defect,omitempty"`
	Design  string   `json:"by_design,omitempty"`
	Remarks []string `json:"remarks,omitempty"`

	// InLine means that each order was known to wait before the next one was sent: they arrived in the order of Sent.
	InLine bool `json:"in_line,omitempty"`

	// Waiting counts the orders that had found the lock taken, and waited for it, when it was released; 0 if that is not
	// known.
	Waiting int `json:"waiting,omitempty"`

	// Faults are the faults of the cell's orders, and of the processes that served them.
	Faults []Fault `json:"faults,omitempty"`

	// Ops are the cell's orders; evidence and timelines refer to them by their index. In a file each has a line of its
	// own.
	Ops []Op `json:"-"`
	// Incomplete means that there may have been other orders besides the ops: nothing shows that each has an answer.
	Incomplete bool `json:"-"`

	Elapsed  time.Duration `json:"elapsed"`
	Latency  Latency       `json:"latency"`
	Commands *int64        `json:"redis_commands,omitempty"`

	// Client says how well the client did its part; nil in old files.
	Client *Client `json:"client,omitempty"`
	// Coverage counts the evidence for an "ok" of this cell, as judged at the time.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Longer is the factor by which the leases were lengthened, if the machine was too slow for the scenario's own.
	Longer float64 `json:"longer,omitempty"`

	// Findings are the verdicts as judged at the time, for readers of the file. An audit judges the ops again and
	// compares.
	Findings []Finding `json:"findings,omitempty"`
}

// A Count says how a stock is counted that the load test does not see, such as one in a database.
type Count struct {
	// Sales is how many sales the shop recorded in the cell; nil if nobody asked, and the answers are counted.
	Sales *int64 `json:"sales,omitempty"`
	// Unbalanced says why the count judges nothing: it does not balance without a fault either. It is empty if it does.
	Unbalanced string `json:"unbalanced,omitempty"`
	// Kept means that the database kept the other customer waiting for the one that was held: a balance proves nothing.
	Kept bool `json:"kept,omitempty"`
}

// KeptByDatabase says why a count that balances proves nothing.
const KeptByDatabase = "the database kept Bert waiting"

// A Kind is that of the experiment which a cell records.
type Kind string

// The kinds. Scenario is one of the table; or the trace that was replayed, the title of a round on a stage, or the
// fault that somebody's own shop was tried with.
const (
	Ladder Kind = ""
	Replay Kind = "replay"
	Stage  Kind = "stage"
	Trial  Kind = "try"
)

// IsUnlisted reports whether the cell is no scenario of the table. Breaks has what is expected of it.
func (c *Cell) IsUnlisted() bool { return c.Kind != Ladder }

// Heading returns the scenario as it is printed, after the kind of the experiment, if that is not the ladder's.
func (c *Cell) Heading() string { return strings.TrimSpace(string(c.Kind) + " " + c.Scenario) }

// NotTested says why a cell was not run, or was inconclusive.
type NotTested struct {
	Reason string `json:"reason"` // such as "needs 5 nodes"
	// Failed means that it was to be run, and something else than the service failed: the cell is not measured.
	Failed bool `json:"failed,omitempty"`
}

// WhyNot returns why the cell was not tested, "" if it was.
func (c *Cell) WhyNot() string {
	if c.NotTested == nil {
		return ""
	}
	return c.NotTested.Reason
}

// IsVoid reports whether a machine that was busy with something else decided the cell of a trial, and its commands show
// no defect in spite of that.
func (c *Cell) IsVoid() bool { return c.Defect == nil && Worst(c.Findings) == Invalid }

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
	Lines  []string `json:"lines,omitempty"` // of the remedy, to be pasted
	Shown  string   `json:"shown"`           // the orders, and what they did
}

// String returns the cause, what shows it, and what to do.
func (d *Defect) String() string {
	text := d.Cause + ": " + d.Shown
	if d.Remedy != "" {
		text += "; " + d.Remedy
	}
	return text
}

// An Instance is one stockapi process that the cell used. Equal clock ids mean the same clock.
type Instance struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Clock string `json:"clock"`
	// Build names the build of stockapi, if it says so.
	Build string `json:"build,omitempty"`
	// Offsets holds its clock's lead on the client's, as read before the cell's orders and after them.
	Offsets []Offset `json:"offsets,omitempty"`
}

// An Offset bounds how far one clock is ahead of another. The zero Offset says that they are the same clock.
type Offset struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
}

// A Fault is one injected fault, with the order that it affected, by the client's clock.
type Fault struct {
	Order    string `json:"order"`
	Instance string `json:"instance"`
	// On is the target of the fault, if not the order and its process: "network" is the path between the instance and its
	// servers, "locks" and "stock" are servers.
	On   string    `json:"on,omitempty"`
	Kind FaultKind `json:"kind,omitempty"`
	// Text says what happened, so that it reads on after the instance's name: "stopped 0.451 s before set/stock".
	Text string  `json:"text"`
	At   Instant `json:"at"`
	End  Instant `json:"end"`
}

// A FaultKind says what became of the instance's process. It is empty if the process went on.
type FaultKind string

// The kinds of faults of a process.
const (
	FaultStop FaultKind = "stop" // it was stopped from At to End
	FaultKill FaultKind = "kill" // it was killed
	FaultDied FaultKind = "died" // it ended by itself, with Text for its last words
)

// FaultKindOf returns the kind of a fault that an instance notes in a trace, such as "stop@before:set/stock".
func FaultKindOf(point string) FaultKind {
	action, _, _ := strings.Cut(point, "@")
	action, _, _ = strings.Cut(action, ":")
	switch strings.ToLower(action) {
	case "stop", "pause", "sigstop":
		return FaultStop
	case "crash", "kill", "sigkill":
		return FaultKill
	}
	return ""
}

// Latency is the distribution over the buyers, counted from Due.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// OneClock reports whether all instances are known to have the same clock.
func (c *Cell) OneClock() bool {
	for _, in := range c.Instances {
		if in.Clock == "" || in.Clock != c.Instances[0].Clock {
			return false
		}
	}
	return len(c.Instances) > 0
}

// Title returns the cell's scenario, rung and name, such as "two-instances v0.5 mutex".
func (c *Cell) Title() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Heading(), c.Rung, c.Name)) // somebody's own shop has no name
}

// Short returns an order's id without the product's name, which begins it.
func (c *Cell) Short(order string) string { return strings.TrimPrefix(order, c.Product+"-") }

// OrderName returns an order as a sentence names it: "Anna", "Bert", "Clara", or "order 12".
func (c *Cell) OrderName(order string) string {
	switch short := c.Short(order); short {
	case "anna", "bert", "clara":
		return strings.ToUpper(short[:1]) + short[1:]
	default:
		return "order " + short
	}
}

// Finding returns the finding for v, NotApplicable if there is none.
func (c *Cell) Finding(v Verdict) Finding { return FindingOf(c.Findings, v) }
