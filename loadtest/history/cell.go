package history

import (
	"fmt"
	"strings"
	"time"
)

// Cell is one rung under one scenario, once: on its own instances, with its own product.
type Cell struct {
	Scenario string `json:"scenario"`
	Rung     string `json:"rung"`
	Name     string `json:"name"`
	// Repetition counts from 1.
	Repetition int    `json:"repetition"`
	Product    string `json:"product"`
	// NotRun is why the cell was not run, such as "needs 5 nodes". A cell that did not run has passed nothing.
	NotRun string `json:"not_run,omitempty"`

	Start     time.Time  `json:"start"`
	Instances []Instance `json:"instances,omitempty"`
	Initial   int64      `json:"initial"`
	// Left is the stock as read at the end, nil if it could not be read.
	Left *int64 `json:"left"`
	// TTL is how long a lock lasts in this cell.
	TTL time.Duration `json:"ttl,omitempty"`
	// Limit is how soon a fresh request has to get through: the TTL and a margin.
	Limit time.Duration `json:"limit"`

	// Aborted is why the scenario could not be played to its end, if it could not: its fault did not come to pass.
	Aborted string `json:"cut_short,omitempty"`

	// InLine says that each order was known to wait before the next one was sent: they arrived in the order of Sent.
	InLine bool `json:"in_line,omitempty"`

	// Waiting is how many orders had found the lock taken, and would wait for it, when it was released; 0 if nobody knows.
	Waiting int `json:"waiting,omitempty"`

	// Faults is what was done to orders of this cell, or to the process that served them.
	Faults []Fault `json:"faults,omitempty"`

	// Ops are the cell's orders if they are few: [Cell.All] returns them wherever they are.
	Ops      []Op          `json:"ops,omitempty"`
	Elapsed  time.Duration `json:"elapsed"`
	Latency  Latency       `json:"latency"`
	Commands *int64        `json:"redis_commands,omitempty"`

	// Parties are the shares of the load generators that ran the cell together, if several did.
	Parties []Share `json:"parties,omitempty"`

	// Client is what the client saw of itself while the cell ran; nil in files of before it looked.
	Client *Client `json:"client,omitempty"`
	// Coverage is how much an "ok" of this cell rests on, as judged at the time.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Longer is by how much the leases were lengthened, if the machine was too slow for those that the scenario has.
	Longer float64 `json:"longer,omitempty"`

	// Findings are the verdicts as judged at the time. They are there for readers of the file; an audit judges
	// the ops again and only compares.
	Findings []Finding `json:"findings,omitempty"`

	stored *stored // where the orders are that are not in Ops; nil if nobody said
}

// Instance is one stockapi process that the cell drove. Equal clocks are the same clock.
type Instance struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Clock string `json:"clock"`
	// Build is which stockapi it is, if it says so.
	Build string `json:"build,omitempty"`
	// Offsets are by how much its clock was ahead of the client's when it was asked, before the cell's orders and after them.
	Offsets []Offset `json:"offsets,omitempty"`
}

// Offset is by how much one clock is ahead of another: it lies between the two.
type Offset struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
}

// Share is what one of several load generators did of a cell.
type Share struct {
	// Party is its name, with which its orders' ids begin.
	Party   string        `json:"party"`
	Buyers  int           `json:"buyers"`
	Elapsed time.Duration `json:"elapsed"`
	// Began is when it did, and Within how well that is known: by so much its orders' times were widened.
	Began  Instant       `json:"began"`
	Within time.Duration `json:"within"`
}

// Fault is what was done to one order, or around it, by the client's clock.
type Fault struct {
	Order    string `json:"order"`
	Instance string `json:"instance"`
	// On is what it was brought upon, if not the order and its process: "network" is the way between the instance and
	// its servers, "locks" and "stock" are servers.
	On string `json:"on,omitempty"`
	// Text says what, so that it reads on after the instance's name: "stopped 0.451 s before set/stock".
	Text string `json:"text"`
	// Stopped is whether the process stood still from At to End.
	Stopped bool    `json:"stopped,omitempty"`
	At      Instant `json:"at"`
	End     Instant `json:"end"`
}

// Latency is the distribution over the buyers, counted from Due.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// Tally is the ops of a cell's buyers, counted by outcome.
type Tally struct{ Buyers, Sold, Refused, Busy, NotSold, NotSent, Unknown int }

// Title names the cell in one word pair, such as "two-instances v0.5 mutex".
func (c *Cell) Title() string { return fmt.Sprintf("%s %s %s", c.Scenario, c.Rung, c.Name) }

// Short is an order's id without the product's name, which it begins with and the reader of a cell knows.
func (c *Cell) Short(order string) string { return strings.TrimPrefix(order, c.Product+"-") }

// Tally counts the buyers, not the probes.
func (c *Cell) Tally() Tally {
	if c.onDisk() {
		return once(c.stored, &c.stored.tally, c.count)
	}
	return c.count()
}

// once computes what is asked for again and again from ops that lie on disk, until there are others.
func once[T any](s *stored, known **T, compute func() T) T {
	s.mu.Lock()
	was := *known
	s.mu.Unlock()
	if was != nil {
		return *was
	}
	v := compute()
	s.mu.Lock()
	*known = &v
	s.mu.Unlock()
	return v
}

func (c *Cell) count() Tally {
	var t Tally
	for _, op := range c.All() {
		if op.Phase == Buy {
			t.Buyers++
			t.add(op.Outcome)
		}
	}
	return t
}

func (t *Tally) add(o Outcome) {
	switch o {
	case Sold:
		t.Sold++
	case Refused:
		t.Refused++
	case Busy:
		t.Busy++
	case NotSold:
		t.NotSold++
	case NotSent:
		t.NotSent++
	default:
		t.Unknown++
	}
}

// SoldTwice returns how many units were named by more than one sale.
func (c *Cell) SoldTwice() int {
	if c.onDisk() {
		return once(c.stored, &c.stored.twice, c.soldTwice)
	}
	return c.soldTwice()
}

// page is how often each of 64 neighbouring units was named, up to 2. Most of a large stock is sold, one by one.
type page [64]uint8

func (c *Cell) soldTwice() int {
	seen := map[int64]*page{}
	twice := 0
	for _, op := range c.All() {
		if op.Outcome != Sold {
			continue
		}
		for _, u := range op.Units {
			p := seen[u>>6]
			if p == nil {
				p = &page{}
				seen[u>>6] = p
			}
			n := &p[u&63]
			if *n == 1 {
				twice++
			}
			*n = min(*n+1, 2)
		}
	}
	return twice
}

// Finding returns what was found for v, NotApplicable if nothing was.
func (c *Cell) Finding(v Verdict) Finding { return FindingOf(c.Findings, v) }
