package reporttest

import (
	"fmt"
	"time"

	"stockapi/loadtest/history"
)

const ms = history.Instant(time.Millisecond)

// CellOf returns a cell of two instances with these orders, and 99 of 100 units left.
func CellOf(scenario, rung string, ops ...history.Op) *history.Cell {
	left := int64(99)
	return &history.Cell{
		Scenario: scenario, Rung: rung, Name: "name", Repetition: 1, Product: "lt-beef-3-" + rung, Initial: 100, Left: &left,
		Limit: 7 * time.Second, Ops: ops,
		Instances: []history.Instance{{Name: "a", Clock: "k"}, {Name: "b", Clock: "k"}},
	}
}

// Command returns a command between two times in milliseconds.
func Command(cmd, key string, at, end history.Instant, reply string) history.Command {
	return history.Command{Node: "n", Cmd: cmd, Key: key, At: at * ms, End: end * ms, Reply: reply}
}

// Sale returns an order that held the lock between two times in milliseconds and sold a unit. It was held in
// between.
func Sale(id, instance string, unit int64, from, to history.Instant) history.Op {
	return history.Op{
		Order: id, Phase: history.Buy, Instance: instance, Outcome: history.Sold, Sent: from * ms, Done: (to + 5) * ms,
		Quantity: 1, Units: []int64{unit},
		Lease: &history.Lease{AcquiredAt: from * ms, ReleasedAt: to * ms},
		Trace: []history.Command{
			Command("set", "lock", from-2, from-1, "true"),
			Command("get", "ProductStock_x", from+1, from+2, fmt.Sprint(unit)),
			Command("fault", "hold@before:set/stock", from+2, to-4, ""),
			Command("set", "ProductStock_x", to-3, to-2, "OK"),
			Command("del", "lock", to, to+1, "1"),
		},
	}
}

// Paused returns a cell with two sales of one unit: the first outlives its lease, and then removes the other's lock.
func Paused() *history.Cell {
	return CellOf("two-instances", "v2", Sale("o1", "a", 100, 10, 3000), Sale("o2", "b", 100, 2000, 3500))
}
