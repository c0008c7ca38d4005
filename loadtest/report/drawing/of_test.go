package drawing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/report/drawing"
)

// orderOf returns the number of an order in a drawing, and the order.
func orderOf(t *testing.T, d *drawing.Drawing, id string) (int, drawing.Order) {
	t.Helper()
	i := slices.IndexFunc(d.Orders, func(o drawing.Order) bool { return o.ID == id })
	require.GreaterOrEqual(t, i, 0, id)
	return i, d.Orders[i]
}

// commandsOf returns an order's commands of a kind.
func commandsOf(t *testing.T, d *drawing.Drawing, id, kind string) (of []drawing.Command) {
	t.Helper()
	order, _ := orderOf(t, d, id)
	for _, cmd := range d.Commands {
		if cmd.Order == order && cmd.Kind == kind {
			of = append(of, cmd)
		}
	}
	return of
}

// commandOf returns the first of them.
func commandOf(t *testing.T, d *drawing.Drawing, id, kind string) drawing.Command {
	t.Helper()
	of := commandsOf(t, d, id, kind)
	require.NotEmpty(t, of, "%s of %s", kind, id)
	return of[0]
}

func lanesOf(d *drawing.Drawing, kind string) (names []string) {
	for _, l := range d.Lanes {
		if l.Kind == kind {
			names = append(names, l.Name)
		}
	}
	return names
}

// An order's bar continues after it lost its lock, and Lost has the time and the reason.
func TestLockIsLost(t *testing.T) {
	inFlight := slow()
	inFlight.Ops[1].Lease, inFlight.Ops[1].Outcome, inFlight.Ops[1].Units = nil, history.Unknown, nil
	inFlight.Ops[1].Trace[3].At, inFlight.Ops[1].Trace[3].End = 30*ms, 31*ms
	inFlight.Ops[1].Trace = slices.Delete(inFlight.Ops[1].Trace, 2, 3)
	unanswered := slow()
	unanswered.Ops[1].Done, unanswered.Ops[1].Lease.ReleasedAt = history.Never, history.Never
	unanswered.Ops[1].Outcome, unanswered.Ops[1].Trace = history.Unknown, unanswered.Ops[1].Trace[:2]
	removed := drawing.Lost{Since: 3000, At: 3001, How: "removed", Why: "removed by order o1"}
	over := &drawing.Lost{Since: 1008, At: 1009, How: "expired", Why: "TTL over"}
	for name, c := range map[string]struct {
		cell     *history.Cell
		order    string
		from, to drawing.Time // -1 is never
		lost     *drawing.Lost
	}{
		"slow":                   {slow(), "1", 10, 2500, over},
		"slow, and not answered": {unanswered, "1", 10, -1, over},
		"slow, and in flight":    {inFlight, "1", 9, 2500, over},
		"in time":                {slow(), "2", 1020, 1030, nil},
		"acquired by another": {paused(), "o1", 10, 3000,
			&drawing.Lost{Since: 9, At: 1999, How: "gone", Why: "lock gone"}},
		"removed by another": {paused(), "o2", 2000, 3500, &removed},
		"removed after some ms": {gap(), "2", 537, 545,
			&drawing.Lost{Since: 540, At: 541, How: "removed", Why: "removed by order 1"}},
		"stopped": {fenced(), "1", 10, 530,
			&drawing.Lost{Since: 509, At: 510, How: "expired", Why: "TTL over"}},
		"lost with the quorum":  {quorum(), "1", 10, 400, &drawing.Lost{Since: 8, At: 375, How: "gone", Why: "lock gone"}},
		"gone after its answer": {quorum(), "2", 380, 390, nil},
		"not at work":           {zookeeper(), "1", -1, -1, nil},
	} {
		_, o := orderOf(t, drawingOf(c.cell), c.order)
		assert.Equal(t, []drawing.Time{c.from, c.to}, []drawing.Time{known(o.From), known(o.To)}, name)
		assert.Equal(t, c.lost, o.Lost, name)
	}
}

// An order in flight that has sent no release holds its lock until its lease expires.
func TestLockOfAnOrderInFlight(t *testing.T) {
	c := slow()
	op := &c.Ops[1]
	op.Lease, op.Outcome, op.Units, op.Done, op.Trace = nil, history.Unknown, nil, history.Never, op.Trace[:2]
	_, o := orderOf(t, drawingOf(c), "1")
	assert.Equal(t, []drawing.Time{9, -1, -1, -1}, []drawing.Time{o.From, known(o.To), known(o.Done), known(o.Released)})
	assert.Equal(t, &drawing.Lost{Since: 1008, At: 1009, How: "expired", Why: "TTL over"}, o.Lost)
	c.Ops = c.Ops[:2] // no order acquired the lock later
	c.Faults = []history.Fault{{Order: op.Order, Instance: op.Instance, Kind: history.FaultKill,
		At: 500 * ms, End: 500 * ms}}
	for rung, end := range map[string]drawing.Time{"v4": 1009, "v1": -1} { // v1 has no TTL
		c.Rung = rung
		d := drawingOf(c)
		_, o = orderOf(t, d, "1")
		assert.Equal(t, []drawing.Time{9, 500, -1}, []drawing.Time{o.From, o.To, known(o.Released)}, rung)
		assert.Nil(t, o.Lost, rung)
		assert.InDelta(t, float64(end), float64(known(d.Tenures[len(d.Tenures)-1].At)), 0, rung)
	}
}

func TestFence(t *testing.T) {
	d := drawingOf(fenced())
	for i, id := range []string{"1", "2"} {
		_, o := orderOf(t, d, id)
		assert.Equal(t, i+1, o.Fence)
	}
}

// known returns -1 for never, which is NaN and not equal to itself.
func known(at drawing.Time) drawing.Time {
	if !at.Known() {
		return -1
	}
	return at
}

func TestLockWithoutTTLIsNotLost(t *testing.T) {
	for rung, acquire := range map[string]string{"v1": "setnx", "v12-naive": "sql:acquire", "v13": "zk:create"} {
		c := slow()
		c.Rung, c.Ops = rung, c.Ops[:2]
		c.Ops[1].Trace[0].Cmd = acquire
		c.Ops[1].Trace[4] = command("del", "lock", 2500, 2501, "1")
		d := drawingOf(c)
		_, o := orderOf(t, d, "1")
		assert.Nil(t, o.Lost, rung)
		for _, h := range d.Tenures {
			assert.Equal(t, "released", h.How, rung)
		}
	}
}

// A bar begins with the lease: before it, the order did not hold the lock.
func TestBarBeginsWithTheLease(t *testing.T) {
	op := sale("lt-beef-3-v13-1", "a", 99, 500, 600)
	op.Sent = 5 * ms
	op.Trace = append([]history.Command{command("fault", "hold@after:zk:watch", 10, 60, "")}, op.Trace...)
	_, o := orderOf(t, drawingOf(cellOf("crash", "v13", sale("lt-beef-3-v13-0", "b", 100, 1, 490), op)), "1")
	assert.Equal(t, []drawing.Time{5, 500, 600, 605}, []drawing.Time{o.Sent, o.From, o.To, o.Done})
}

// The lane of a lock has a tenure for each holder, with its end and how it ended.
func TestTenures(t *testing.T) {
	waited, heard := crashed(), crashed()
	waited.Ops[1].Sent = 4 * ms
	heard.Ops[1].Trace = []history.Command{command("setnx", "lock", 11, 12, "1")}
	for name, c := range map[string]struct {
		cell *history.Cell
		want []string
	}{
		"an expired TTL": {slow(), []string{
			"opening-a 2-5-6 released", "1 9-1008-1009 expired: TTL over", "2 1019-1030-1031 released"}},
		"an order that removes another's lock": {gap(), []string{
			"1 9-508-509 expired: TTL over", "2 536-540-541 removed: removed by order 1"}},
		"a node that forgets": {quorum(), []string{
			"1 8-30005-30008 expired: TTL over", "1 8-30005-30008 expired: TTL over", "1 8-8-375 gone: lock gone",
			"2 375-30370-30375 expired: TTL over", "2 375-30370-30375 expired: TTL over",
			"2 375-30370-30375 expired: TTL over"}},
		"places of ZooKeeper from the lease on, and that of a dead order": {zookeeper(), []string{
			"opening-a 5-10-11 released", "probe-2 900-910-911 released",
			"1 12-12-900 maybe: possibly held by order 1, which died",
			"? 40-40-540 maybe: order probe-1 found the lock busy"}},
		"a death without a TTL": {crashed(), []string{
			"opening 2-5-6 released", "o1 10-10-never maybe: possibly held by order o1, which died",
			"? 20-20-900 maybe: order probe found the lock busy"}},
		"the death of a waiter": {waited, []string{
			"opening 2-5-6 released", "o1 5-5-never maybe: possibly held by order o1, which died",
			"? 20-20-900 maybe: order probe found the lock busy"}},
		"the death of an order whose acquire is on record": {heard, []string{"opening 2-5-6 released", "o1 12-never-never "}},
	} {
		d := drawingOf(c.cell)
		var tenures []string
		for _, h := range d.Tenures {
			assert.Equal(t, "lock", d.Lanes[h.Lane].Kind, name)
			tenures = append(tenures, words(d, h))
		}
		assert.Equal(t, c.want, tenures, name)
	}
}

// words returns a tenure in one line.
func words(d *drawing.Drawing, h drawing.Tenure) string {
	order, how := "?", h.How
	if h.Order >= 0 {
		order = d.Orders[h.Order].ID
	}
	if h.Maybe {
		how += "maybe"
	}
	if h.Why != h.How {
		how += ": " + h.Why
	}
	return strings.Replace(fmt.Sprintf("%s %v-%v-%v %s", order, h.From, h.Since, h.At, how), "NaN", "never", 2)
}

func TestLanes(t *testing.T) {
	seven := cellOf("two-instances", "v6", sale("o1", "a", 100, 10, 20))
	for i := range 7 {
		set := command("set", "redlock:x", 1, 2, "true")
		set.Node = fmt.Sprint("node", i)
		seven.Ops[0].Trace = append(seven.Ops[0].Trace, set)
	}
	d := drawingOf(seven)
	assert.Equal(t, []string{"a", "b"}, lanesOf(d, "instance"))
	assert.Len(t, lanesOf(d, "lock"), 5, "of seven nodes and the key of the sale")
	assert.Contains(t, d.Notes, "3 more locks are not drawn.")

	d = drawingOf(zookeeper())
	assert.Equal(t, []string{"lock key"}, lanesOf(d, "lock"), "a queue is one lock, whatever its places are called")
	for _, cmd := range d.Commands {
		if cmd.Kind == "release" {
			assert.Equal(t, 2, cmd.Lock, "a place in it is about that lock: %s", cmd.Text)
		}
	}

	c := unlocked()
	for i := range c.Ops {
		c.Ops[i].Trace = nil
	}
	c.Ops[0].Instance, c.Instances[1].Clock = "stranger", "another"
	d = drawing.Of(c)
	assert.Equal(t, []string{"a", "b", "stranger"}, lanesOf(d, "instance"))
	assert.Equal(t, 2, d.Orders[0].Lane)
	assert.Subset(t, d.Notes, []string{"No lock key: this rung has none, or no command on it was seen.",
		"The instances do not share a clock: their lanes may be offset from each other."})
}

// A write has a kind and a label.
func TestWrites(t *testing.T) {
	for _, c := range []struct {
		err, reply string
		source     history.Source
		kind, says string
	}{
		{"STALE a newer token has been seen", "", history.Told, "refused", "refused: token 1 < 2"},
		{history.StockChanged, "", history.Told, "refused", "refused: the stock has changed"},
		{"READONLY You can't write against a read only replica.", "", history.Told, "refused", "refused: READONLY"},
		{"NOSCRIPT No matching script. Please use EVAL.", "", history.Told, "", ""}, // the client sends it again
		{"i/o timeout", "", history.ReplyLost, "unsure", "no reply to this write"},
		{"", "[0 98]", history.Told, "other", ""}, // too little stock
		{"", "OK", history.Told, "write", ""},
	} {
		cell := fenced()
		cmd := &cell.Ops[1].Trace[3]
		cmd.Err, cmd.Reply, cmd.Source = c.err, c.reply, c.source
		d := drawingOf(cell)
		for _, kind := range []string{"refused", "unsure", "write", "other"} {
			found := commandsOf(t, d, "1", kind)
			if kind != c.kind {
				assert.Empty(t, found, "%s %s: %s", kind, c.err, c.reply)
			} else if assert.Len(t, found, 1, "%s %s: %s", kind, c.err, c.reply) {
				assert.Equal(t, c.says, found[0].Says)
				assert.Equal(t, kind != "write", found[0].Failed)
				assert.Equal(t, c.err+c.reply, found[0].Reply)
			}
		}
	}
	c := fenced()
	c.Ops = append(c.Ops, sale("lt-beef-3-v15-3", "b", 97, 540, 560))
	c.Ops[3].Lease.Fence = 35
	assert.Equal(t, "refused: token 1 < 2", commandOf(t, drawingOf(c), "1", "refused").Says, "the third came later")
	c.Ops[1].Trace[3].End = history.Never
	assert.Len(t, commandsOf(t, drawingOf(c), "1", "other"), 1, "its effect is unknown")
	c = fenced()
	c.Ops[2].Lease.Fence = 0
	assert.Equal(t, "refused: token too old", commandOf(t, drawingOf(c), "1", "refused").Says)
}

// A command has the text and the times from a wire or, without one, those that its sender reported.
func TestCommands(t *testing.T) {
	c := slow()
	first := c.Ops[1].Trace
	first[0].Source, first[0].Effect = history.Looked, history.EffectAcquired
	first[1].Effect = history.EffectAcquired
	first[0].Wire = &history.Carried{Came: 8*ms + 1500, Heard: 9 * ms, Text: "SET lock token NX PX 1000"}
	c.Ops[1].Trace = slices.Concat(first, []history.Command{
		command("eval:renew", "lock", 500, 501, "1"), command("eval:renew", "lock", 1500, 1501, "0")})
	c.Strays = []history.Command{command("del", "lock", 1500, 1501, "1")}
	d := drawingOf(c)
	got := commandOf(t, d, "1", "acquire")
	assert.Equal(t, "SET lock token NX PX 1000", got.Text)
	assert.Equal(t, []drawing.Time{8.002, 8, 9, 9}, []drawing.Time{got.Came, got.At, got.End, got.Heard})
	assert.Equal(t, []int{0, 2}, []int{got.Lane, got.Lock})
	assert.Equal(t, "acquires done", got.Effect)
	assert.Empty(t, commandOf(t, d, "1", "read").Effect, "there was no look")
	got = commandOf(t, d, "2", "acquire")
	assert.Equal(t, "set lock", got.Text)
	assert.Equal(t, []drawing.Time{-1, -1}, []drawing.Time{known(got.Came), known(got.Heard)})
	assert.Equal(t, "reads 98", commandOf(t, d, "1", "read").Says)
	renewals := commandsOf(t, d, "1", "renew")
	require.Len(t, renewals, 2)
	assert.Equal(t, []bool{false, true}, []bool{renewals[0].Failed, renewals[1].Failed})
	assert.Equal(t, -1, d.Commands[len(d.Commands)-1].Order, "the sender of a stray is unknown")
}

// An order's outcome is a predicate, in which # is its first unit.
func TestOrderPredicate(t *testing.T) {
	by := func(outcome history.Outcome, units ...int64) history.Op {
		return history.Op{Order: "o2", Phase: history.Buy, Instance: "a", Outcome: outcome, Sent: 12 * ms, Done: 40 * ms,
			Units: units, SoldBy: "o1"}
	}
	alone := by(history.Sold, 3)
	alone.SoldBy = ""
	anna := by(history.Sold, 3, 4, 5)
	anna.Order = "anna"
	reader := by(history.Sold)
	reader.Phase = history.Reading
	for _, c := range []struct {
		op         history.Op
		name, does string
	}{
		{by(history.Sold, 99), "", "sells unit #, by order o1"},
		{by(history.Refused), "", "is refused, by order o1"},
		{alone, "", "sells unit #"},
		{anna, "Anna", "sells units # to 5, by order o1"},
		{reader, "", "reads the stock, by order o1"},
		{by(history.Unknown), "", "has an unknown outcome, by order o1"},
		{by("else"), "", "else, by order o1"},
	} {
		o := drawingOf(cellOf("two-instances", "v19", sale("o1", "a", 100, 10, 30), c.op)).Orders[1]
		assert.Equal(t, []string{c.name, c.does}, []string{o.Name, o.Does})
	}
	d := drawingOf(slow())
	var said []string
	for _, o := range d.Orders {
		said = append(said, o.Name+o.ID+": "+o.Does)
	}
	assert.Equal(t, []string{"opening orderopening-a: sells unit #", "1: sells unit # again", "2: sells unit #"}, said)
}

// Faults of an order or its process are described in the words of the client's notes, if any.
func TestFaults(t *testing.T) {
	twice := slow()
	twice.Ops[1].Trace = append(twice.Ops[1].Trace, command("fault", "hold@before:del/lock", 2497, 2499, ""))
	noted := crashed()
	noted.Faults = append([]history.Fault{{Order: "o1", Instance: "a", Kind: history.FaultStop, Text: "stopped",
		At: 11 * ms, End: 12 * ms}}, noted.Faults...)
	for name, c := range map[string]struct {
		cell  *history.Cell
		order string
		want  []string
	}{
		"in the trace": {slow(), "2", []string{"b 1022-1026: held after get/stock"}},
		"noted":        {slow(), "1", []string{"a 12-2496: working 2.500 s under a lease of 1.000 s"}},
		"noted, one of two": {twice, "1", []string{
			"a 12-2496: working 2.500 s under a lease of 1.000 s", "a 2497-2499: held before del/lock"}},
		"a stop, noted": {fenced(), "1", []string{
			"a 11-528 stop: stopped for 0.517 s before eval:write under a lease of 0.500 s"}},
		"a death":            {zookeeper(), "1", []string{"a 20-30 kill: killed before set/stock"}},
		"a stop and a death": {noted, "o1", []string{"a 11-12 stop: stopped", "a 12-13 kill: killed"}},
	} {
		d := drawingOf(c.cell)
		order, _ := orderOf(t, d, c.order)
		var faults []string
		for _, f := range d.Faults {
			if f.Order == order {
				kind := strings.TrimRight(" "+f.Kind, " ")
				faults = append(faults, fmt.Sprintf("%s %v-%v%s: %s", d.Lanes[f.Lane].Name, f.From, f.To, kind, f.Text))
				assert.LessOrEqual(t, len([]rune(f.Short)), 40)
			}
		}
		assert.Equal(t, c.want, faults, name)
	}
}

// A fault of the network or of a server has a lane of its own, and is not drawn on the order.
func TestFaultsOfNetworkAndServersHaveLanes(t *testing.T) {
	c := cellOf("cut-off", "v5", sale("lt-beef-3-v5-1", "a", 98, 10, 90), sale("lt-beef-3-v5-2", "network", 98, 50, 60))
	c.Faults = []history.Fault{
		{Order: "lt-beef-3-v5-1", Instance: "a", On: "stock", Text: "stopped", At: 30 * ms, End: history.Never},
		{Order: "lt-beef-3-v5-1", Instance: "a", On: "network", Text: "cut off from its lock", At: 20 * ms, End: 80 * ms},
		{Order: "lt-beef-3-v5-2", Instance: "b", On: "network", Text: "slow", At: 21 * ms, End: 81 * ms},
		{Order: "lt-beef-3-v5-2", Instance: "b", On: "locks", Text: "not known to have come", At: history.Never},
	}
	d := drawingOf(c)
	assert.Equal(t, []string{"a", "b", "network"}, lanesOf(d, "instance"), "an instance may have any name")
	assert.Equal(t, []string{"network", "stock's server"}, lanesOf(d, "around"))
	var around []string
	for _, f := range d.Faults {
		if f.Order < 0 {
			around = append(around, fmt.Sprintf("%d %v-%v %s", f.Lane, f.From, known(f.To), f.Text))
		}
	}
	assert.Equal(t, []string{"3 20-80 a, cut off from its lock", "3 21-81 b, slow", "4 30--1 a, stopped"}, around)
}

// Each broken verdict has its first piece of evidence, the worst first.
func TestViolations(t *testing.T) {
	for name, c := range map[string]struct {
		cell *history.Cell
		want []string
	}{
		"a unit sold twice": {slow(), []string{
			"stock S stock-broken: unit 98 was sold twice [2 1] [1028 2498] 98",
			"exclusion E lock-broken: two orders held the lock at once [1 2] [1020 1030] 0"}},
		"a refused write": {fenced(), []string{"exclusion E lock-broken: two orders held the lock at once; " +
			"the stock refused the late write of order 1 [1 2] [522 526] 0"}},
		"a lock removed by another": {gap(), []string{
			"own-release R lock-broken: an order removed a lock that was not its own [0 1] [540 536] 0"}},
		"a lock of two, removed": {paused(), []string{
			"stock S stock-broken: unit 100 was sold twice [0 1] [2998 3498] 100",
			"exclusion E lock-broken: two orders held the lock at once [0 1] [2000 3000] 0",
			"own-release R lock-broken: an order removed a lock that was not its own [0 1] [3000 1999] 0"}},
		"none": {cellOf("two-instances", "v4", sale("o1", "a", 100, 10, 20)), nil},
	} {
		var found []string
		for _, v := range drawingOf(c.cell).Violations {
			found = append(found,
				fmt.Sprintf("%s %s %s: %s %v %v %d", v.Verdict, v.Letter, v.Sign, v.What, v.Orders, v.At, v.Unit))
			assert.NotEmpty(t, v.Text)
		}
		assert.Equal(t, c.want, found, name)
	}
}

func TestCellWithoutOrders(t *testing.T) {
	d := drawingOf(cellOf("pause", "v4"))
	assert.Empty(t, d.Orders)
	assert.Less(t, d.First.From, d.First.To)
	assert.Equal(t, []string{"a", "b"}, lanesOf(d, "instance"))
}

func TestFirstFrameOfASmallCellIsTheWholeCell(t *testing.T) {
	d := drawingOf(slow())
	assert.Equal(t, []int{0, 1, 2}, d.First.Orders)
	assert.Contains(t, d.Notes, "All 3 orders of the cell.")
	for _, o := range d.Orders {
		assert.True(t, d.First.From < o.Sent && o.Done < d.First.To)
	}
}

// The first frame of a crowd has the first sales or, with a violation, the orders around it.
func TestFirstFrameOfACrowd(t *testing.T) {
	d := drawingOf(crowd("v4"))
	assert.Contains(t, d.Notes, "The first 20 of the 200 sales, of 200 orders in the cell.")
	assert.Len(t, d.First.Orders, 20)
	assert.Equal(t, 19, slices.Max(d.First.Orders))
	assert.Len(t, d.Orders, 200, "all are in the drawing")

	broken := crowd("v0.5")
	broken.Ops = append(broken.Ops, sale("again", "b", 150, 1005, 1021))
	d = drawingOf(broken)
	assert.True(t, slices.ContainsFunc(d.Notes, func(s string) bool {
		return strings.HasPrefix(s, "Around the first violation: ")
	}))
	assert.Subset(t, d.First.Orders, []int{50, 200}, "those that sold unit 150")
	assert.LessOrEqual(t, len(d.First.Orders), 20)
	assert.Equal(t, []drawing.Time{1004.52, 1021.48}, []drawing.Time{d.First.From, d.First.To})
}

// Without a lock all buyers of a crowd read the same number, so the first frame has only a few of them.
func TestFirstFrameWithoutALock(t *testing.T) {
	d := drawing.Of(unlocked())
	assert.Contains(t, d.Notes, "5 of the 30 orders that bought unit 100, of 30 orders in the cell.")
	assert.Equal(t, []int{5, 6, 7, 8, 20}, slices.Sorted(slices.Values(d.First.Orders)),
		"the violation's, and those beside the first of them")
	for _, order := range d.First.Orders {
		assert.Equal(t, "reads 100", commandOf(t, d, d.Orders[order].ID, "read").Says)
	}
}

// A lease in the value of a lock on trial expires in the drawing, as it does for its verdict.
func TestLeaseInTheValueExpires(t *testing.T) {
	acquire := history.Command{Cmd: "set", Key: "lock", Source: history.Looked, At: 10, End: 20,
		Effect: history.EffectAcquired | history.Endless}
	d := drawing.Of(&history.Cell{Kind: history.Trial, TTL: time.Second, Facts: &history.Facts{InValue: time.Second},
		Instances: []history.Instance{{Name: "a"}}, Ops: []history.Op{{Order: "1", Instance: "a", Sent: 5, Done: 30,
			Trace: []history.Command{acquire}}}})
	require.Len(t, d.Tenures, 1)
	assert.Equal(t, "expired", d.Tenures[0].How)
}

func TestQueueIsByArrival(t *testing.T) {
	d := drawingOf(line("v8", nil))
	assert.True(t, d.Queue)
	require.Len(t, d.First.Orders, 24, "the first one, and 23 that came after it")
	for i, order := range d.First.Orders {
		o := d.Orders[order]
		assert.Equal(t, fmt.Sprintf("turn %d", i+1), o.Turn)
		assert.False(t, o.Overtaken)
		if i > 0 {
			assert.Equal(t, []string{fmt.Sprint(i), []string{"b", "a"}[i%2]}, []string{o.ID, d.Lanes[o.Lane].Name})
			assert.Equal(t, []drawing.Time{drawing.Time(20 * i), drawing.Time(1000 + 10*i)}, []drawing.Time{o.Sent, o.From})
		}
	}
	assert.Equal(t, "turn 31", d.Orders[30].Turn, "one that is not shown first has its turn as well")
	assert.Less(t, d.First.From, drawing.Time(10))
	assert.False(t, drawingOf(slow()).Queue)
}

func TestQueueOutOfTurn(t *testing.T) {
	d := drawingOf(line("v4", map[int]int{3: 28, 28: 3}))
	var overtaken []string
	for _, o := range d.Orders {
		if o.Overtaken {
			overtaken = append(overtaken, o.ID+": "+o.Turn)
		}
	}
	assert.Equal(t, []string{"3: turn 29 instead of 4", "28: turn 4 instead of 29"}, overtaken)
	first := slices.IndexFunc(d.Violations, func(v drawing.Violation) bool { return len(v.Orders) > 0 })
	require.GreaterOrEqual(t, first, 0)
	assert.Equal(t, []string{"unfair", "orders acquired the lock out of turn"},
		[]string{d.Violations[first].Sign, d.Violations[first].What})
	assert.Subset(t, d.First.Orders, d.Violations[first].Orders)
}

// The first frame of a long queue is around the violation. It omits an order that was alone, and so did not queue.
func TestQueueFirstFrame(t *testing.T) {
	c := line("v4", map[int]int{14: 30, 30: 14})
	alone := sale("lt-beef-3-v4-opening", "b", 99, 3, 5)
	alone.Done, alone.Trace = 8*ms, nil
	c.Ops = append([]history.Op{alone}, c.Ops...)
	d := drawingOf(c)
	assert.Len(t, d.First.Orders, 24)
	assert.Equal(t, 3, d.First.Orders[0], "twelve before order 14")
	assert.Equal(t, []string{"", "turn 1"}, []string{d.Orders[0].Turn, d.Orders[1].Turn})
}

// Each wake-up in vain is a mark on the wait of its order.
func TestQueueOfAHerd(t *testing.T) {
	d := drawingOf(herd())
	woken, overtaken := 0, 0
	for _, order := range d.First.Orders {
		o := d.Orders[order]
		marks := commandsOf(t, d, o.ID, "woken")
		for _, cmd := range marks {
			assert.False(t, cmd.Failed)
			assert.True(t, cmd.At > o.Sent && cmd.At < o.From, "the lock has no holder while it waits")
		}
		woken += len(marks)
		if o.Overtaken {
			overtaken++
		}
	}
	assert.Equal(t, 23*24/2, woken)
	assert.Equal(t, 22, overtaken)
	assert.Equal(t, []string{"turn 2, woken once", "turn 3, woken 2 times"}, []string{d.Orders[1].Turn, d.Orders[2].Turn})
	assert.Contains(t, d.Notes[0], "Each stroke on it is a wake-up.")
}

// Tenures may overlap where an acquire is no proof that the lock was free.
func TestTenuresOverlap(t *testing.T) {
	c := cellOf("two-instances", "v10", sale("o1", "a", 100, 10, 40), sale("o2", "b", 99, 15, 45))
	c.TTL = time.Second
	for i := range c.Ops {
		c.Ops[i].Trace[0].Cmd, c.Ops[i].Trace[0].Reply = "eval:acquire-read", "1"
	}
	for _, h := range drawingOf(c).Tenures {
		assert.True(t, h.Beside)
	}
	for _, h := range drawingOf(slow()).Tenures {
		assert.False(t, h.Beside)
	}
}

// Requests to a database are among the commands, also one that may be of several orders.
func TestDrawingHasRequestsToDatabase(t *testing.T) {
	c := slow()
	c.Requests = []history.Request{
		{Order: c.Ops[1].Order, Instance: "a", Number: 4, Came: 20 * ms, Sent: 340 * ms, Answered: 341 * ms, Heard: 342 * ms},
		{Instance: "b", Came: 21 * ms, Sent: 21 * ms, Answered: history.Never, Heard: history.Never},
	}
	d := drawingOf(c)
	requests := d.Commands[len(d.Commands)-2:]
	assert.Equal(t, drawing.Command{Order: 1, Lane: 0, Lock: -1, Kind: "other", Text: "request 4 to the database",
		Came: 20, At: 340, End: 341, Heard: 342}, requests[0])
	assert.Equal(t, "request to the database", requests[1].Text)
	assert.Equal(t, []int{-1, 1}, []int{requests[1].Order, requests[1].Lane})
	assert.False(t, requests[1].End.Known())
}
