package catalog

import (
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

// A Spec is a cell to run.
type Spec struct {
	Scenario   Scenario
	Rung       Rung
	Instances  int
	Repetition int

	longer float64 // the factor by which its leases are lengthened, 0 for none
}

// Title names the cell as histories do.
func (s Spec) Title() string {
	return fmt.Sprintf("%s %s %s", s.Scenario.Name, s.Rung.Number, s.Rung.Name)
}

// NewCell returns the cell before the run.
func (s Spec) NewCell(product string) *history.Cell {
	return &history.Cell{
		Scenario: s.Scenario.Name, Rung: s.Rung.Number, Name: s.Rung.Name, Repetition: s.Repetition, Product: product,
	}
}

// OnEnsemble reports whether the cell runs on an ensemble of ZooKeeper servers.
func (s Spec) OnEnsemble() bool { return s.Scenario.Topology.Ensemble && s.Rung.OnZooKeeper() }

// Longer returns the cell with leases and timeouts multiplied by a factor. The default timeouts of its instances grow
// by the same factor: see [Spec.Patience].
func (s Spec) Longer(by float64) Spec {
	times := func(d time.Duration) time.Duration { return time.Duration(by * float64(d)) }
	lease := s.Scenario.Lease()
	s.Scenario.TTL, s.Scenario.Within = max(lease, min(times(lease), longEnough)), times(s.Scenario.Within)
	s.Scenario.Session, s.Scenario.Timeout = times(s.Scenario.Session), times(s.Scenario.Timeout)
	s.Scenario.NodeTimeout = times(s.Scenario.NodeTimeout)
	s.longer = by
	return s
}

// Patience returns the factor by which the timeouts of the cell's instances are multiplied, 0 for none.
func (s Spec) Patience() float64 { return s.longer }
