package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

// invalid expects that a cell does not measure the service, and that each other verdict is unknown for it.
func invalid(t *testing.T, c *history.Cell) string {
	t.Helper()
	fs := findings(c)
	assert.Equal(t, history.Valid, fs[0].Verdict)
	assert.Equal(t, history.Invalid, fs[0].Result)
	for _, f := range fs[1:] {
		if f.Result != history.NotApplicable {
			assert.Equal(t, history.Indeterminate, f.Result, f.Verdict)
			assert.Contains(t, f.Because, fs[0].Because)
		}
	}
	return fs[0].Because
}

func TestCellWithoutClientFiguresIsValid(t *testing.T) {
	judge(t, forge(5), history.Valid, history.OK)
	c := forge(5)
	c.Client = &history.Client{Asked: 6, Delivered: 6}
	judge(t, c, history.Valid, history.OK)
}

func TestUnsentRequestsAreNoRefusals(t *testing.T) {
	c := forge(5)
	c.Client = &history.Client{Asked: 1000, Delivered: 235, Errors: map[string]int{"dial: too many open files": 765}}
	assert.Equal(t, "765 of 1000 requests never left the client: 765 × dial: too many open files", invalid(t, c))

	c = forge(5)
	c.Ops[4] = history.Op{Order: "p-4", Phase: history.Buy, Outcome: history.NotSent, Detail: "no free port", Quantity: 1}
	assert.Equal(t, "1 of 6 requests never left the client: 1 × no free port", invalid(t, c))
}

func TestStarvedClientMeasuresItself(t *testing.T) {
	c := forge(5)
	c.Elapsed, c.Client = time.Second, &history.Client{Asked: 6, Delivered: 6, Away: 400 * time.Millisecond}
	judge(t, c, history.Valid, history.OK)
	c.Client.Away = 600 * time.Millisecond
	assert.Contains(t, invalid(t, c), "machine too slow for this cell")
	c.Client.Loop = "closed"
	judge(t, c, history.Valid, history.OK)
}

// A violation that a stall explains makes the cell invalid. One that it does not explain stays.
func TestMachineTooSlowForTheLeases(t *testing.T) {
	slow := func(longest time.Duration, outcome history.Outcome) *history.Cell {
		c := forge(5)
		c.TTL, c.Client = time.Second, &history.Client{Asked: 6, Delivered: 6, Longest: longest}
		probe(c).Outcome, probe(c).Status, probe(c).Detail = outcome, 503, "503"
		return c
	}
	judge(t, slow(600*time.Millisecond, history.Refused), history.Valid, history.OK)
	invalid(t, slow(600*time.Millisecond, history.Busy))
	invalid(t, slow(60*time.Millisecond, history.NotSold)) // a node had 50 ms to answer
	judge(t, slow(60*time.Millisecond, history.Busy), history.Liveness, history.Broken)
	judge(t, slow(10*time.Millisecond, history.NotSold), history.Liveness, history.Broken)
}
