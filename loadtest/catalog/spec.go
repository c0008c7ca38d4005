package catalog

import (
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

// A Spec is one cell that is to be run.
type Spec struct {
	Scenario   Scenario
	Rung       Rung
	Instances  int
	Repetition int

	longer float64 // the factor by which its leases are lengthened, 0 if they are not
}

// Title names the cell as histories do.
func (s Spec) Title() string {
	return fmt.Sprintf("%s %s %s", s.Scenario.Name, s.Rung.Number, s.Rung.Name)
}

// NewCell returns the cell before anything is recorded of it.
func (s Spec) NewCell(product string) *history.Cell {
	return &history.Cell{
		Scenario: s.Scenario.Name, Rung: s.Rung.Number, Name: s.Rung.Name, Repetition: s.Repetition, Product: product,
	}
}

// OnEnsemble reports whether the cell runs on an ensemble of ZooKeeper servers.
func (s Spec) OnEnsemble() bool { return s.Scenario.Topology.Ensemble && s.Rung.OnZooKeeper() }

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
