package catalog

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// longerBy is the factor by which leases are lengthened on a machine that is too slow for the scenario's own.
const longerBy = 4

const (
	// longEnough is a lease that is not lengthened further: no instance lets an order wait for a multiple of it.
	longEnough = 10 * time.Second
	// serverTime is an instance's default timeout for a server.
	serverTime = time.Second
	// nodeTime is the usual timeout for one of several nodes, at most, whatever the lease.
	nodeTime = 50 * time.Millisecond
)

// AgainLonger returns the cell with longer leases, and whether to run it once more. It should if the result is not as
// expected and the machine may have been too slow for the leases; or if the cell could not be completed, which proves
// nothing about the rung and may be due to a server that was slow for a moment.
func (s Spec) AgainLonger(c *history.Cell) (Spec, bool) {
	of := s.Scenario
	if !of.Fault() || s.longer > 0 || c.Aborted == "" && (!of.wasBusy(c) || len(of.excusable(c)) == 0) {
		return s, false
	}
	return s.Longer(longerBy), true
}

// invalid returns why the cell does not measure its rung, "" if it does. A defect needs no valid cell: the commands
// show it.
func (s Scenario) invalid(c *history.Cell) string {
	if c.Defect != nil {
		return ""
	}
	if f := c.Finding(history.Valid); f.Result == history.Invalid {
		return title(c) + ": not valid: " + f.Because
	}
	return s.tooSlow(c)
}

// tooSlow reports that the machine was too slow for a cell that is not as expected. It is "" if the cell is as
// expected, the machine was fast enough, or a slow machine cannot be the reason.
func (s Scenario) tooSlow(c *history.Cell) string {
	said := s.excusable(c)
	if len(said) == 0 || !s.stoodStill(c) {
		return ""
	}
	again := ""
	if c.Longer > 0 {
		again = fmt.Sprintf(", %g times the scenario's own", c.Longer)
	}
	return fmt.Sprintf("%s: machine too slow for this cell: it stalled for %s, under leases of %s%s: %s",
		title(c), c.Client.Longest.Round(time.Millisecond), c.TTL, again, strings.Join(said, "; "))
}

// excusable returns a cell's differences from its expectation, if a slow machine can explain all of them.
func (s Scenario) excusable(c *history.Cell) (said []string) {
	for _, d := range s.differences(c) {
		if !d.excusable {
			return nil
		}
		said = append(said, d.text)
	}
	return said
}

// stoodStill reports whether a stall of the machine was longer than the cell allows.
func (s Scenario) stoodStill(c *history.Cell) bool {
	return c.Client != nil && c.Client.Longest >= s.allowed(c)
}

// busyShare: a machine is busy if the load generator got no processor for this fraction of a cell's time.
const busyShare = 10

// wasBusy reports whether the machine may have been too slow for a cell. On a busy machine an instance may have stalled
// for much longer than the load generator did. That is reason enough to run the cell once more, but not to
// excuse it.
func (s Scenario) wasBusy(c *history.Cell) bool {
	return s.stoodStill(c) || c.Client != nil && c.Client.Away > 0 && c.Client.Away >= c.Elapsed/busyShare
}

// allowed returns the longest stall that cannot affect the cell. A renewal has half of a lease, and a server may take
// its timeout; an instance may have stalled for twice as long as this process did.
func (s Scenario) allowed(c *history.Cell) time.Duration {
	least := min(c.TTL, cmp.Or(s.Timeout, serverTime)) / 4
	if RungOf(c.Rung).OnNodes() {
		least = min(least, max(c.TTL/20, 5*time.Millisecond)/2, cmp.Or(s.NodeTimeout, nodeTime)/2)
	}
	return least
}

// byTheClock reports whether a stall can explain why this verdict differs from its expectation. It can always hide an
// expected violation. It can break a verdict that should hold only if a lease can expire meanwhile: never in a crowd,
// whose leases are long, nor for a verdict that does not depend on leases.
func (s Scenario) byTheClock(c *history.Cell, v history.Verdict, got history.Result) bool {
	if got != history.Broken || v == history.Liveness {
		return true
	}
	rung := RungOf(c.Rung)
	if !s.Fault() || rung.Kind == NoLock {
		return false
	}
	switch v {
	case history.Exclusion, history.Herd:
		return true
	case history.Stock:
		return !rung.Fenced
	case history.OwnRelease:
		return rung.Blind
	default:
		return false // tokens and places in the queue do not depend on time
	}
}
