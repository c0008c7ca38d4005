package scenario

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stoppable is a process that notes what is done to it. It stops only when somebody has looked twice.
type stoppable struct {
	Process
	cannot error
	looks  int
	done   []string
}

func (p *stoppable) Stop() error { p.done = append(p.done, "stop"); return p.cannot }

func (p *stoppable) Stopped() (bool, error) { p.looks++; return p.looks > 2, nil }

func (p *stoppable) Continue() error { p.done = append(p.done, "continue"); return nil }

func TestInstancesStandStillForAMoment(t *testing.T) {
	a, b := &stoppable{}, &stoppable{cannot: errors.New("not on this system")}
	goOn := (&FaultTargets{Processes: []Process{a, b}}).standStill()
	assert.Equal(t, []string{"stop"}, a.done)
	assert.Equal(t, 3, a.looks, "it stands still")
	assert.Zero(t, b.looks)
	goOn()
	assert.Equal(t, []string{"stop", "continue"}, a.done)
	assert.Equal(t, []string{"stop"}, b.done, "what could not be stopped need not be continued")
	var others *FaultTargets
	others.standStill()() // the instances are not ours
}
