package drawing_test

import (
	"fmt"
	"slices"
	"time"

	"stockapi/loadtest/audit"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
	"stockapi/loadtest/report/reporttest"
)

const ms = history.Instant(time.Millisecond)

// drawingOf judges a cell, and returns its drawing.
func drawingOf(c *history.Cell) *drawing.Drawing {
	c.Findings, c.Coverage = audit.Judge(c, history.TimelineOf(c, history.Terms{}))
	return drawing.Of(c)
}

var cellOf, command, sale, paused = reporttest.CellOf, reporttest.Command, reporttest.Sale, reporttest.Paused

// slow is a cell in which the work of order 1 outlasts its lease, and order 2 sells the same unit meanwhile.
func slow() *history.Cell {
	first, second := sale("lt-beef-3-v4-1", "a", 98, 10, 2500), sale("lt-beef-3-v4-2", "b", 98, 1020, 1030)
	first.Trace[2].Key, second.Trace[2].Key, first.Trace[4].Reply = "hold@after:get/stock", "hold@after:get/stock", "0"
	opening := sale("lt-beef-3-v4-opening-a", "a", 99, 3, 5)
	opening.Trace = slices.Delete(opening.Trace, 2, 3)
	opening.Sent, first.Sent, second.Sent = 0, 7*ms, 20*ms
	c := cellOf("slow-work", "v4", opening, first, second)
	c.TTL, c.Name = time.Second, "lua-release"
	c.Faults = []history.Fault{{
		Order: "lt-beef-3-v4-1", Instance: "a", Text: "working 2.500 s under a lease of 1.000 s", At: 10 * ms, End: 2500 * ms,
	}}
	return c
}

// fenced is a cell in which order 1 is stopped for longer than its lease, and the stock refuses its write.
func fenced() *history.Cell {
	const key = "ProductStock_lt-beef-3-v15"
	opening := sale("lt-beef-3-v15-opening-a", "a", 99, 3, 5)
	opening.Sent, opening.Trace = 0, slices.Delete(opening.Trace, 2, 3)
	first, second := sale("lt-beef-3-v15-1", "a", 98, 10, 525), sale("lt-beef-3-v15-2", "b", 98, 522, 526)
	first.Outcome, first.Units, first.Sent, second.Sent = history.NotSold, nil, 8*ms, 15*ms
	first.Lease.Fence, second.Lease.Fence = 33, 34
	first.Trace = []history.Command{
		command("eval:acquire", "lock", 9, 10, "33"), command("eval:read", key, 10, 11, "98"),
		command("fault", "hold@before:eval:write", 11, 528, ""), command("eval:write", key, 528, 529, ""),
		command("eval:release", "lock", 530, 531, "0"),
	}
	first.Trace[3].Err = "STALE a newer token has been seen"
	first.Lease.ReleasedAt, first.Done = 530*ms, 532*ms
	second.Trace = []history.Command{
		command("eval:acquire", "lock", 520, 522, "34"), command("eval:read", key, 522, 523, "98"),
		command("eval:write", key, 524, 525, "OK"), command("eval:release", "lock", 526, 527, "1"),
	}
	c := cellOf("pause", "v15", opening, first, second)
	left := int64(98)
	c.Left, c.TTL = &left, 500*time.Millisecond
	c.Faults = []history.Fault{{Order: "lt-beef-3-v15-1", Instance: "a", Kind: history.FaultStop,
		Text: "stopped for 0.517 s before eval:write under a lease of 0.500 s", At: 11 * ms, End: 528 * ms}}
	return c
}

// gap is a cell in which order 1 removes the lock of order 2 shortly after its acquire.
func gap() *history.Cell {
	first, second := sale("lt-beef-3-v3-1", "a", 100, 10, 20), sale("lt-beef-3-v3-2", "b", 99, 537, 545)
	first.Trace[2] = command("get", "lock", 20, 21, "token")
	first.Trace[4] = command("del", "lock", 540, 541, "1")
	first.Trace = append(first.Trace, command("fault", "hold@before:del/lock", 21, 540, ""))
	second.Trace[4].Reply, second.Sent = "0", 25*ms
	first.Sent, first.Done, second.Done = 7*ms, 541*ms, 546*ms
	c := cellOf("check-delete-gap", "v3", first, second)
	left := int64(98)
	c.Left, c.TTL = &left, 500*time.Millisecond
	return c
}

// line is a cell in which 30 orders wait for the first one. turns has the orders that acquire the lock out of turn.
func line(rung string, turns map[int]int) *history.Cell {
	c := cellOf("queue-order", rung, sale("lt-beef-3-"+rung+"-first", "a", 98, 10, 1000))
	c.InLine, c.TTL = true, 30*time.Second
	for i := 1; i <= 30; i++ {
		turn := i
		if t, other := turns[i]; other {
			turn = t
		}
		op := sale(fmt.Sprintf("lt-beef-3-%s-%d", rung, i), []string{"b", "a"}[i%2], int64(98-i),
			history.Instant(1000+turn*10), history.Instant(1007+turn*10))
		op.Sent = history.Instant(20*i) * ms
		c.Ops = append(c.Ops, op)
	}
	return c
}

// herd is a line in which each release wakes all waiters.
func herd() *history.Cell {
	c := line("v13", nil)
	c.Scenario, c.InLine, c.Waiting = "herd", false, 30
	for i := range c.Ops[1:] {
		op := &c.Ops[i+1]
		for turn := range i + 1 {
			at := history.Instant(1002 + 10*turn)
			op.Trace = append(op.Trace, command("woken", "lock", at, at, ""))
		}
	}
	return c
}

// zookeeper is a cell of v14: order 1 dies while it holds the lock, and the next ones queue behind it.
func zookeeper() *history.Cell {
	place := func(n int) string { return fmt.Sprintf("/stockapi/sequential/DistributedLock_p/_c_x-lock-%010d", n) }
	opening, fresh := sale("opening-a", "b", 99, 5, 10), sale("probe-2", "b", 98, 900, 910)
	for n, op := range []*history.Op{&opening, &fresh} {
		op.Trace[0] = command("zk:create", place(n*3), op.Lease.AcquiredAt/ms-3, op.Lease.AcquiredAt/ms-2, "ok")
		op.Trace[4] = command("zk:delete", place(n*3), op.Lease.ReleasedAt/ms, op.Lease.ReleasedAt/ms+1, "true")
	}
	fresh.Phase = history.Probe
	unnumbered := command("zk:create", "/stockapi/sequential/DistributedLock_p/_c_x-lock-", 0, 1, "")
	unnumbered.Err, unnumbered.Source = "zk: node does not exist", history.ReplyLost
	opening.Trace = append(opening.Trace, unnumbered)
	c := cellOf("crash", "v14", opening,
		history.Op{Order: "1", Phase: history.Buy, Instance: "a", Outcome: history.NotSold, Sent: 12 * ms, Done: 30 * ms},
		history.Op{
			Order: "probe-1", Phase: history.Probe, Instance: "b", Outcome: history.Busy, Sent: 40 * ms, Done: 540 * ms,
			Trace: []history.Command{
				command("zk:watch", place(1), 45, 46, ""), command("zk:delete", place(2), 530, 535, "true"),
			},
		},
		fresh)
	c.Faults = []history.Fault{{Order: "1", Instance: "a", Kind: history.FaultKill,
		Text: "killed before set/stock", At: 20 * ms, End: 30 * ms}}
	c.TTL = 500 * time.Millisecond
	return c
}

// crashed is a cell in which order 1 dies without an answer, and a fresh request finds the lock busy.
func crashed() *history.Cell {
	c := cellOf("crash", "v1", sale("opening", "b", 100, 3, 5),
		history.Op{
			Order: "o1", Phase: history.Buy, Instance: "a", Outcome: history.Unknown, Sent: 10 * ms, Done: history.Never,
		},
		history.Op{Order: "probe", Phase: history.Probe, Instance: "b", Outcome: history.Busy, Sent: 20 * ms, Done: 900 * ms})
	c.Faults = []history.Fault{{Order: "o1", Instance: "a", Kind: history.FaultKill, Text: "killed",
		At: 12 * ms, End: 13 * ms}}
	return c
}

// quorum is a cell of Redlock on five nodes, of which node 2 forgets the lock of order 1.
func quorum() *history.Cell {
	first, second := sale("1", "a", 98, 10, 400), sale("2", "b", 98, 380, 390)
	first.Trace, second.Trace = first.Trace[1:4], second.Trace[1:4]
	for n := range 5 {
		set := command("set", "redlock:p", 5, 8, "true")
		set.Node = fmt.Sprint("n", n)
		if n < 3 {
			first.Trace = append(first.Trace, set)
		}
		set.At, set.End = 370*ms, 375*ms
		if n >= 2 {
			second.Trace = append(second.Trace, set)
		}
	}
	c := cellOf("node-restart", "v6", first, second)
	c.TTL = 30 * time.Second
	return c
}

// crowd is a cell of 200 sales, one after the other.
func crowd(rung string) *history.Cell {
	c := cellOf("two-instances", rung)
	c.Initial = 1000
	for i := range 200 {
		at := history.Instant(i * 20)
		c.Ops = append(c.Ops, sale(fmt.Sprint("o", i), "a", 100+int64(i), at+10, at+18))
	}
	return c
}

// unlocked is a cell of 30 orders without a lock, all of which buy unit 100. The audit names orders 7 and 20.
func unlocked() *history.Cell {
	c := cellOf("one-instance", "v0")
	for i := range 30 {
		op := sale(fmt.Sprint("o", i), "a", 100, history.Instant(10+i), history.Instant(100+i))
		op.Lease = nil
		c.Ops = append(c.Ops, op)
	}
	c.Findings = []history.Finding{{Verdict: history.Stock, Result: history.Broken, Evidence: []history.Evidence{
		{Text: "unit 100", Unit: 100, Orders: []string{"o7", "o20"}, At: []history.Instant{107 * ms, 120 * ms}},
	}}}
	return c
}
