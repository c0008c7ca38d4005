package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
)

// TestStoryNamesTheFault forges that order 1, stopped on b, sold order 0's unit again.
func TestStoryNamesTheFault(t *testing.T) {
	c := forge(2)
	c.Ops[1].Units = c.Ops[0].Units
	c.Faults = []history.Fault{{Order: "p-1", Instance: "b", Text: "stopped for 3.000 s under a lease of 2.000 s",
		At: 4 * ms}}
	assert.Equal(t, "a sold unit 10 to order 0 at +0.009 s; "+
		"b, stopped for 3.000 s under a lease of 2.000 s, sold unit 10 again to order 1 at +0.019 s",
		audit.Story(findings(c)))
}

func TestStoryOfStuckLockBeginsWithTheFault(t *testing.T) {
	c := forge(2)
	c.Faults = []history.Fault{{Order: "p-1", Instance: "b", Kind: history.FaultKill, Text: "killed", At: 4 * ms}}
	probe := &c.Ops[2]
	probe.Outcome, probe.Status, probe.Detail = history.Busy, 423, "423 lock-busy"
	assert.Equal(t, "order 1 on b, killed at +0.004 s: a fresh request did not get through in 9ms, "+
		"a answered: 423 lock-busy",
		audit.Story(findings(c)))
	probe.Detail = "" // the service sends nothing besides its status
	assert.Equal(t, "order 1 on b, killed at +0.004 s: a fresh request did not get through in 9ms, a answered: 423",
		audit.Story(findings(c)))
}
