package trial

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// The most telling cell of a row: one with a defect, a broken stock, another broken verdict, one to be played again,
// and then one that was tested.
func TestRowTakesMostTellingCell(t *testing.T) {
	found := func(v history.Verdict, r history.Result) func() *history.Cell {
		return func() *history.Cell { return &history.Cell{Findings: []history.Finding{{Verdict: v, Result: r}}} }
	}
	stock, exclusion := found(history.Stock, history.Broken), found(history.Exclusion, history.Broken)
	void, ok := found(history.Valid, history.Invalid), found(history.Stock, history.OK)
	defect := func() *history.Cell { return &history.Cell{Defect: &history.Defect{Shown: "shown"}} }
	notTested := func() *history.Cell {
		return &history.Cell{NotTested: &history.NotTested{Reason: "asleep"}, Count: &history.Count{}}
	}
	kept := func() *history.Cell {
		return &history.Cell{NotTested: &history.NotTested{Reason: "kept"}, Count: &history.Count{Kept: true}}
	}
	keptOK := func() *history.Cell { return &history.Cell{Count: &history.Count{Kept: true}} }
	type row []func() *history.Cell
	for what, c := range map[string]struct {
		cells        row
		quick        bool
		left         string // counts the stock
		told, played int
		shown        string
	}{
		"a defect": {cells: row{stock, defect, defect}, told: 1, played: 3,
			shown: "shown; tried at 3, 5, 7: a defect at 5, 7"},
		"one moment":               {cells: row{defect}, told: 0, played: 1, shown: "shown"},
		"a broken stock":           {cells: row{ok, exclusion, stock}, told: 2, played: 3},
		"another broken verdict":   {cells: row{void, exclusion}, told: 1, played: 2},
		"one to be played again":   {cells: row{ok, notTested, void}, told: 2, played: 3},
		"Bert was kept waiting":    {cells: row{notTested, ok, kept}, told: 2, played: 3},
		"kept, or played again":    {cells: row{kept, void}, told: 1, played: 2},
		"tested, though kept":      {cells: row{ok, keptOK}, told: 0, played: 2},
		"the first that was asked": {cells: row{notTested, ok, ok}, told: 1, played: 3},
		"quick":                    {cells: row{ok, exclusion, defect}, quick: true, told: 1, played: 2},
		"quick, with a defect": {cells: row{ok, defect, ok}, quick: true, told: 1, played: 2,
			shown: "shown; tried at 3, 5: a defect at 5"},
		"quick, until the stock breaks": {cells: row{exclusion, stock, ok}, quick: true, left: "count", told: 1, played: 2},
		"quick, as no stock breaks":     {cells: row{exclusion, ok, ok}, quick: true, left: "count", told: 0, played: 3},
		"quick, and a defect comes later": {cells: row{exclusion, ok, defect}, quick: true, left: "count", told: 2,
			played: 3},
	} {
		t.Run(what, func(t *testing.T) {
			f := fault{name: "late", lines: linesAt("a>db%d.b>end.a>end", []int{3, 5, 7}[:len(c.cells)])}
			var played []*history.Cell
			trial := &Trial{shop: &shop.Shop{Options: shop.Options{Left: c.left}}, Selection: Selection{Quick: c.quick}}
			told, err := trial.each(f, func(one fault) (*history.Cell, error) {
				assert.Equal(t, f.lines[len(played)], one.line)
				assert.Empty(t, one.lines)
				played = append(played, c.cells[len(played)]())
				return played[len(played)-1], nil
			})
			require.NoError(t, err)
			assert.Len(t, played, c.played)
			require.Same(t, played[c.told], told)
			if c.shown != "" {
				assert.Equal(t, c.shown, told.Defect.Shown)
			}
		})
	}
}

func TestRowWithoutMoments(t *testing.T) {
	f := forge.Begin()
	trial := &Trial{shop: f.Pair.Shop, passport: f.Passport}
	played := func(fault) (*history.Cell, error) { return nil, errors.New("no Redis") }
	for _, c := range []struct{ fault, whyNone, want string }{
		{fault: "after-release", want: "a sale sends nothing after its release"},
		{fault: "late", want: "a sale sends 0 requests to the database, 0 of them under the lock and 0 after its release"},
		{fault: "late", whyNone: "no pattern", want: "no pattern"},
		{fault: "after-release", whyNone: "no pattern", want: "no pattern"},
	} {
		trial.passport.Elsewhere, trial.passport.ToDatabase.Why = true, c.whyNone
		cell, err := trial.each(fault{name: c.fault, lines: []string{}}, played)
		require.NoError(t, err)
		assert.Equal(t, c.want, cell.WhyNot())
	}
	_, err := trial.each(fault{name: "late", lines: []string{"a>db1.b>end.a>end"}}, played)
	assert.ErrorContains(t, err, "no Redis")
}

// The moments of a fault are the last requests of a sale, at most twelve: the commit is among them.
func TestRequestsAreMomentsOfFaults(t *testing.T) {
	p := &sale.Passport{Facts: history.Facts{Elsewhere: true},
		ToDatabase: sale.Requests{All: 17, Answered: 16, After: []int{16}}}
	for k := 2; k <= 15; k++ {
		p.ToDatabase.Under, p.ToDatabase.Replies = append(p.ToDatabase.Under, k), append(p.ToDatabase.Replies, k)
	}
	assert.Equal(t, "a sale sends 17 requests to the database, 14 of them under the lock and 1 after its release",
		p.ToDatabase.String())
	lines := map[string][]string{}
	for _, f := range faultsFor(p) {
		if len(f.lines) > 0 {
			lines[f.name] = f.lines
		}
		for _, line := range f.lines {
			_, err := schedule.ParseLine(line)
			assert.NoError(t, err, line)
		}
	}
	assert.Len(t, lines, 4)
	for name, line := range map[string]string{"slow-work": "a<db%d.b>end.a>end", "late": "a>db%d.b>end.a>end"} {
		assert.Equal(t, linesAt(line, p.ToDatabase.Under[2:]), lines[name], name)
		assert.Len(t, lines[name], 12, name)
	}
	crashes := linesAt("a>db%d.crash-a", []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	assert.Equal(t, append(crashes, "a<db16.crash-a"), lines["crash 2"])
	assert.Equal(t, []string{"a>db16.b>end.a>end"}, lines["after-release"])
}

// An order at its work is held at a request or, before that, at the reply to its acquire.
func TestNameOfWork(t *testing.T) {
	of, work := schedule.Move{Mark: schedule.Read, Reply: true}, &record.WorkTrap{}
	name, reply := newPlayedLine(forge.Begin().Bench).Name(of, work)
	assert.Equal(t, schedule.Read, name)
	assert.True(t, reply)

	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	d, err := rig.NewDatabase(server.Addr().String())
	require.NoError(t, err)
	defer d.Close()
	work.Request = d.Trap(d.BeginOrder(), 1, false)
	c, err := net.Dial("tcp", d.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("BEGIN"))
	require.NoError(t, err)
	<-work.Request.Caught()
	name, reply = newPlayedLine(forge.Begin().Bench).Name(of, work)
	assert.Equal(t, "request 1 to the database", name)
	assert.False(t, reply)
}

// A line of a row is played as a cell of that row: a crash at a request is no late write.
func TestLineOfARowHasItsName(t *testing.T) {
	f := forge.Begin()
	trial := &Trial{shop: f.Pair.Shop, passport: f.Passport}
	trial.passport.Elsewhere, trial.passport.ToDatabase = true, sale.Requests{All: 2, Answered: 2, Under: []int{1, 2}}
	trial.Play = []string{"a>db2.crash-a", "a>db2.b>end.a>end", "a>db2.crash-b"}
	chosen, err := trial.chosen()
	require.NoError(t, err)
	var names []string
	for i, f := range chosen {
		names = append(names, f.name)
		assert.Equal(t, trial.Play[i], f.line)
		assert.Nil(t, f.lines)
	}
	assert.Equal(t, []string{"crash 2", "late", "a>db2.crash-b"}, names)
}

// A crash in the row has two moments at the last request: before it, and after its reply.
func TestMomentsOfACrash(t *testing.T) {
	r := sale.Requests{Answered: 2}
	assert.Equal(t, []string{"a>db1.crash-a", "a>db2.crash-a", "a<db2.crash-a"}, crashes(&r))
	ok, defect := &history.Cell{}, &history.Cell{Defect: &history.Defect{}}
	assert.Equal(t, "tried at 1, 2, 2 answered: a defect at 2 answered",
		moments(crashes(&r), []*history.Cell{ok, ok, defect}))
	assert.Empty(t, crashes(&sale.Requests{}))
}

// Without a lock an order is at work from its first request on.
func TestRequestsWithoutALock(t *testing.T) {
	f := forge.Begin()
	p := newPlayedLine(f.Bench)
	p.bench.Passport.Elsewhere, p.bench.Passport.ToDatabase = true, sale.Requests{All: 2, Under: []int{1, 2}}
	p.bench.Passport.Locks = nil
	f.Order("anna", shop.AtA, history.Sold, 0, 90)
	assert.Empty(t, p.misplaced(schedule.Move{Who: shop.AtA, At: shop.AtA, Mark: "db2"}))
	assert.Empty(t, aWindow(p.bench.Passport))
	p.bench.Passport.ToDatabase = sale.Requests{Why: "no pattern"}
	assert.Equal(t, "no pattern", aWindow(p.bench.Passport))
}

// A sale that opens a connection sends more requests, so that a number that plain sales send after the lock falls under
// it.
func TestRequestsTooEarly(t *testing.T) {
	of := sale.Requests{All: 5, Under: []int{2, 3, 4}, After: []int{5}}
	for number, want := range map[int][3]string{ // no lock, the lock, released
		1: {},
		2: {"before the lock was acquired"},
		5: {"before the lock was released", "before the lock was released"},
		6: {},
	} {
		for i, released := range []bool{false, false, true} {
			assert.Equal(t, want[i], comesTooEarly(&of, number, i > 0, released), "%d, %d", number, i)
		}
	}
}

// A customer who did not reach a request does not order again: two orders at one instance would share the blame for
// what each of them sent.
func TestOrderThatDoesNotReachARequest(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	b := forge.NewDrawer(t).Counting(backendtest.StartRedis(t).URL)
	for _, e := range b.Pair.Rig.Ends {
		var err error
		e.Database, err = rig.NewDatabase("127.0.0.1:1")
		require.NoError(t, err)
		t.Cleanup(e.Database.Close)
	}
	b.Begin("", "")
	line, err := schedule.ParseLine("b@a>db1")
	require.NoError(t, err)
	p, s := newPlayedLine(b), rig.Scene{Open: true}
	trap := p.Catch(line[0], s)
	p.Send(t.Context(), line[0], s, trap.Caught())
	require.EqualError(t, p.Stuck(line[0], s, trap), "Bert did not reach request 1 to the database")
	assert.Len(t, b.Orders, 1, "one order of Bert's")
}
