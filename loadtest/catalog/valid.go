package catalog

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stockapi/loadtest/history"
)

// longerBy is the factor by which leases are lengthened if the machine was too slow for those of the scenario.
const longerBy = 4

const (
	// longEnough is a lease that need not be lengthened further: no instance lets anybody wait for a multiple of it.
	longEnough = 10 * time.Second
	// serverTime is an instance's default timeout for a server.
	serverTime = time.Second
	// nodeTime is the usual timeout for one of several nodes, at most, whatever the lease.
	nodeTime = 50 * time.Millisecond
)

// AgainLonger returns the cell as it is to be run once more, and whether it is to be. It is if it is not as expected
// and the machine may have been too slow for its leases. It also is if it could not be completed: that says
// nothing of the rung, and a server that was slow for a moment may be the reason.
func (s Spec) AgainLonger(c *history.Cell) (Spec, bool) {
	of := s.Scenario
	if !of.Fault() || s.longer > 0 || c.Aborted == "" && (!of.wasBusy(c) || len(of.excusable(c)) == 0) {
		return s, false
	}
	return s.Longer(longerBy), true
}

// invalid returns why the cell is no measurement of its rung; empty if it is one. A defect is shown by the commands
// themselves.
func (s Scenario) invalid(c *history.Cell) string {
	if c.Defect != nil {
		return ""
	}
	if f := c.Finding(history.Valid); f.Result == history.Invalid {
		return title(c) + ": not valid: " + f.Because
	}
	return s.tooSlow(c)
}

// tooSlow says that the machine was too slow for a cell that is not as expected. It is empty if the cell is as
// expected, or the machine was fast enough, or a slow machine cannot be the reason.
func (s Scenario) tooSlow(c *history.Cell) string {
	said := s.excusable(c)
	if len(said) == 0 || !s.stoodStill(c) {
		return ""
	}
	again := ""
	if c.Longer > 0 {
		again = fmt.Sprintf(", %g times as long as they were first", c.Longer)
	}
	return fmt.Sprintf("%s: machine too slow for this cell: nothing ran for %s at once, under leases of %s%s: %s",
		title(c), c.Client.Longest.Round(time.Millisecond), c.TTL, again, strings.Join(said, "; "))
}

// excusable lists how a cell differs from its expectation, if a machine that was too slow can explain all of it.
func (s Scenario) excusable(c *history.Cell) (said []string) {
	for _, d := range s.differences(c) {
		if !d.excusable {
			return nil
		}
		said = append(said, d.text)
	}
	return said
}

// stoodStill reports whether the machine stood still for longer than the cell allows.
func (s Scenario) stoodStill(c *history.Cell) bool {
	return c.Client != nil && c.Client.Longest >= s.allowed(c)
}

// busyShare is the share of a cell's time for which the generator of a busy machine does not get the processor.
const busyShare = 10

// wasBusy reports whether the machine may have been too slow for a cell. If it was busy, one of the instances may have
// stood still for much longer than the generator did. That is reason enough to run the cell once more, and too little
// to excuse it.
func (s Scenario) wasBusy(c *history.Cell) bool {
	return s.stoodStill(c) || c.Client != nil && c.Client.Away > 0 && c.Client.Away >= c.Elapsed/busyShare
}

// allowed returns how long the machine may stand still before the cell has to reckon with it. A renewal has half of a
// lease, and a server may take its timeout; an instance may have stood still for twice as long as this process did.
func (s Scenario) allowed(c *history.Cell) time.Duration {
	least := min(c.TTL, cmp.Or(s.Timeout, serverTime)) / 4
	if RungOf(c.Rung).OnNodes() {
		least = min(least, max(c.TTL/20, 5*time.Millisecond)/2, cmp.Or(s.NodeTimeout, nodeTime)/2)
	}
	return least
}

// byTheClock reports whether a machine that stands still can be the reason why a cell differs in that verdict from what
// is expected of it. It can always be the reason why less shows than should. It can only break what should hold if a
// lease can run out meanwhile: never in a crowd, whose leases are long, and never what holds without leases.
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
		return false // tokens and places in line do not depend on how long anything takes
	}
}
