package porcupine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/porcupine"
)

const ms = history.Instant(time.Millisecond)

// forge makes a cell that sold n units of as many as it had and one more, one after the other under a lock, over two
// instances of one clock.
func forge(n int) *history.Cell {
	left := int64(1)
	c := &history.Cell{
		Scenario: "pause", Rung: "v5", Name: "watchdog", Product: "p", Initial: int64(n) + 1, Left: &left,
		Instances: []history.Instance{{Name: "a", Clock: "m"}, {Name: "b", Clock: "m"}},
	}
	for i := range n {
		c.Ops = append(c.Ops, forgeSale(fmt.Sprint(i), "ab"[i%2:i%2+1], c.Initial-int64(i), history.Instant(10*i)*ms))
	}
	return c
}

// forgeSale is an order that was sent at some time, held the lock from 2 to 7 ms later, and was answered at 9.
func forgeSale(id, instance string, unit int64, t history.Instant) history.Op {
	return history.Op{
		Order: "p-" + id, Phase: history.Buy, Instance: instance, Outcome: history.Sold, Status: 200,
		Sent: t, Done: t + 9*ms, Quantity: 1, Units: []int64{unit}, Left: unit - 1,
		Lease: &history.Lease{AcquiredAt: t + 2*ms, ReleasedAt: t + 7*ms},
		Trace: []history.Command{
			{Node: "n", Cmd: "set", Key: "lock", At: t + ms, End: t + 2*ms, Reply: "true"},
			{Node: "n", Cmd: "eval:release", Key: "lock", At: t + 7*ms, End: t + 8*ms, Reply: "1"},
		},
	}
}

// twice is forge's history with order 5 selling what order 4 had sold, after a pause.
func twice(n int) *history.Cell {
	c := forge(n)
	c.Ops[5].Units, c.Ops[5].Lease.AcquiredAt = c.Ops[4].Units, 42*ms
	c.Faults = []history.Fault{{Order: "p-5", Instance: "b", Text: "stopped for 3.000 s", At: 51 * ms, End: 53 * ms}}
	return c
}

// shared is forge's history with order 4 holding the lock until order 5 has it too.
func shared() *history.Cell {
	c := forge(10)
	c.Ops[4].Lease.ReleasedAt, c.Ops[4].Done = 53*ms, 60*ms
	return c
}

func lost(id string, sent history.Instant) history.Op {
	return history.Op{
		Order: "p-" + id, Phase: history.Buy, Instance: "a", Outcome: history.Unknown, Quantity: 1,
		Sent: sent, Done: history.Never,
	}
}

func unlocked(c *history.Cell) *history.Cell {
	for i := range c.Ops {
		c.Ops[i].Lease = nil
	}
	return c
}

func first(c *history.Cell) *porcupine.Window {
	c.Findings, c.Coverage = audit.Judge(c)
	return porcupine.First(c)
}

// picture expects that there is a picture, and returns its page.
func picture(t require.TestingT, c *history.Cell) string {
	w := first(c)
	require.NotNil(t, w)
	require.Empty(t, w.NoPicture)
	var page bytes.Buffer
	require.NoError(t, w.Write(&page))
	return page.String()
}

// reason expects that there is no picture, and returns why.
func reason(t *testing.T, c *history.Cell) string {
	t.Helper()
	w := first(c)
	require.NotNil(t, w)
	var page bytes.Buffer
	require.Error(t, w.Write(&page))
	assert.Zero(t, page.Len())
	return w.NoPicture
}

// boxes returns the operations of a page, with their lanes.
func boxes(t *testing.T, page string) (all []box) {
	t.Helper()
	_, data, _ := strings.Cut(page, "const data = ")
	var read struct{ Partitions []struct{ History []box } }
	require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&read))
	return read.Partitions[0].History
}

type box struct {
	Client      int `json:"ClientId"`
	Start, End  int
	Description string
}

func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		assert.Contains(t, html.UnescapeString(page), text)
	}
}
