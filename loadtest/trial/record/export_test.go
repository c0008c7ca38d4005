package record

import (
	"stockapi/loadtest/rig"
	"stockapi/loadtest/wire"
	"time"
)

// What the tests of this package see besides what it exports: they are in a package of their own, as those who forge
// orders import this one.
var (
	Attribute     = (*Bench).attribute
	UnitsOf       = (*Bench).unitsOf
	UnitsOfCrowd  = (*Bench).unitsOfCrowd
	Op            = (*Bench).op
	AddOps        = (*Bench).addOps
	OnlyFree      = (*Bench).onlyFree
	AssignEnds    = (*Bench).assignEnds
	JobInCell     = (*Bench).jobInCell
	JudgeByWrites = (*Bench).judgeByWrites
	RequestsAt    = (*Bench).requestsAt
	Resolve       = resolve
	Values        = (*Observation).values
)

// Begin is begin.
func (h *Holders) Begin(start time.Time) { h.begin(start) }

// Saw is saw.
func (h *Holders) Saw(s *wire.Sight) { h.saw(s) }

// Holders returns the holders without waiting for the looker.
func (b *Bench) Holders() *Holders { return &b.holders }

// GoToRequest is goToRequest.
func (t *WorkTrap) GoToRequest(d *rig.Database) bool { return t.goToRequest(d) }

// Block makes these the commands that were blocked when the cell began.
func (b *Bench) Block(all ...*wire.Command) { b.blocked = all }
