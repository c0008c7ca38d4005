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

// Longer returns the cell with leases and timeouts so many times as long. The usual timeouts of its instances grow by
// the same factor: see [Spec.Patience].
func (s Spec) Longer(by float64) Spec {
	times := func(d time.Duration) time.Duration { return time.Duration(by * float64(d)) }
	lease := s.Scenario.Lease()
	s.Scenario.TTL, s.Scenario.Within = max(lease, min(times(lease), longEnough)), times(s.Scenario.Within)
	s.Scenario.Session, s.Scenario.Timeout = times(s.Scenario.Session), times(s.Scenario.Timeout)
	s.Scenario.NodeTimeout = times(s.Scenario.NodeTimeout)
	s.longer = by
	return s
}

// Patience returns the factor by which the timeouts of the cell's instances are multiplied; 0 if they are as usual.
func (s Spec) Patience() float64 { return s.longer }

// AgainLonger returns the cell as it is to be run once more, and whether it is to be. It is if it is not as expected
// and the machine may have been too slow for its leases. It also is if it could not be played to its end: that says
// nothing of the rung, and a server that was slow for a moment may be the reason.
func (s Spec) AgainLonger(c *history.Cell) (Spec, bool) {
	if !s.Scenario.Fault() || s.longer > 0 || c.Aborted == "" && (!wasBusy(c) || len(excusable(c)) == 0) {
		return s, false
	}
	return s.Longer(longerBy), true
}

// Invalid returns why the cell is no measurement of its rung, empty if it is one: the client did not do its part, or
// the machine was too slow for the cell. That does not excuse what is proven all the same.
func Invalid(c *history.Cell) string {
	if f := c.Finding(history.Valid); f.Result == history.Invalid {
		return title(c) + ": not valid: " + f.Because
	}
	return tooSlow(c)
}

// tooSlow says that the machine was too slow for a cell that is not as expected. It is empty if the cell is as
// expected, or the machine was fast enough, or a slow machine cannot be the reason.
func tooSlow(c *history.Cell) string {
	said := excusable(c)
	if len(said) == 0 || !stoodStill(c) {
		return ""
	}
	again := ""
	if c.Longer > 0 {
		again = fmt.Sprintf(", %g times as long as they were first", c.Longer)
	}
	return fmt.Sprintf("%s: machine too slow for this cell: nothing ran for %s at once, under leases of %s%s: %s",
		title(c), c.Client.Longest.Round(time.Millisecond), c.TTL, again, strings.Join(said, "; "))
}

// excusable lists in what a cell is not as expected, if a machine that was too slow can be the reason for all of it.
func excusable(c *history.Cell) (said []string) {
	for _, d := range differences(c) {
		if !d.excusable {
			return nil
		}
		said = append(said, d.text)
	}
	return said
}

// stoodStill reports whether the machine stood still for longer than the cell allows.
func stoodStill(c *history.Cell) bool { return c.Client != nil && c.Client.Longest >= allowed(c) }

// busyShare is the share of a cell's time for which the generator of a busy machine does not get the processor.
const busyShare = 10

// wasBusy reports whether the machine may have been too slow for a cell. If it was busy, one of the instances may have
// stood still for much longer than the generator did. That is reason enough to run the cell once more, and too little
// to excuse it.
func wasBusy(c *history.Cell) bool {
	return stoodStill(c) || c.Client != nil && c.Client.Away > 0 && c.Client.Away >= c.Elapsed/busyShare
}

// allowed returns how long the machine may stand still before the cell has to reckon with it. A renewal has half of a
// lease, and a server may take its timeout; an instance may have stood still for twice as long as this process did.
func allowed(c *history.Cell) time.Duration {
	s, _ := Find(c.Scenario)
	least := min(c.TTL, cmp.Or(s.Timeout, serverTime)) / 4
	if RungOf(c.Rung).OnNodes() {
		least = min(least, max(c.TTL/20, 5*time.Millisecond)/2, cmp.Or(s.NodeTimeout, nodeTime)/2)
	}
	return least
}

// byTheClock reports whether a machine that stands still can be the reason why a cell differs in that verdict from what
// is expected of it. It can always be the reason why less shows than should. It can only break what should hold if a
// lease can run out meanwhile: never in a crowd, whose leases are long, and never what holds without leases.
func byTheClock(c *history.Cell, v history.Verdict, got history.Result) bool {
	if got != history.Broken || v == history.Liveness {
		return true
	}
	s, _ := Find(c.Scenario)
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
