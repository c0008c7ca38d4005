package trial

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/schedule"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// options are those of a trial of that command line, as a user has them by default.
func options(t *testing.T, argv ...string) Options {
	t.Helper()
	order, err := shop.ParseRequest("POST /decrease")
	require.NoError(t, err)
	return Options{Shop: shop.Options{Argv: argv, Order: order, Product: "10000", Within: time.Minute,
		Stock: []string{"SET", "ProductStock_{product}", "{n}"}, Say: func(string) {}},
		Selection: Selection{Quick: true, AtOnce: 2}}
}

// broken returns the letters of what is broken.
func broken(c *history.Cell) string { return terminal.LettersOf(c.Findings, history.Broken) }

// try learns what the lock is, and plays cells, as a user has them: nothing is played again but what the trial plays
// again by itself.
func try(t *testing.T, o Options) (p *sale.Passport, cells []*history.Cell) {
	t.Helper()
	trial, ctx, err := New(t.Context(), o)
	require.NoError(t, err)
	p, err = trial.Learn(ctx)
	if err == nil {
		cells, err = trial.Run(ctx, func(*history.Cell) {})
	}
	require.NoError(t, trial.Close())
	require.NoError(t, err)
	return p, cells
}

// agrees asserts that the timeline of a cell has each order hold the lock when the shop says that it did, unless it had
// lost it by then. It returns how many orders said so.
func agrees(t *testing.T, c *history.Cell) (said int) {
	t.Helper()
	line := history.TimelineOf(c, history.Terms{TTL: c.Facts.TTL})
	at := func(seconds float64) history.Instant {
		return history.At(c.Start, time.UnixMicro(int64(seconds*1e6)))
	}
	for i, op := range c.Ops {
		var from, to float64
		if n, _ := fmt.Sscanf(op.Detail, "held from %f to %f", &from, &to); n < 2 || from == 0 || len(op.Trace) == 0 {
			continue
		}
		for _, l := range line.Locks {
			taken, freed := l.HolderAt(at(from)), l.HolderAt(at(to))
			own := l.TenureOf(i, at(max(from, to)))
			if !taken.Known || own == nil {
				continue
			}
			said++
			assert.True(t, taken.Tenure != nil && taken.Tenure.Order == i, "%s: %s has just acquired", c.Scenario, op.Order)
			lost := own.Lost() && own.Since <= at(max(from, to))
			assert.True(t, to == 0 || lost || !freed.Known || freed.Tenure != nil && freed.Tenure.Order == i,
				"%s: %s is about to release", c.Scenario, op.Order)
		}
	}
	return said
}

// Each planted defect is found in its cell, with its cause. A correct shop has none, and slow work breaks what it
// breaks by design. Only the lock's keys are taken for the lock, and the timeline has the holders that the shop
// reports.
func TestTrialsOfShops(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	for _, s := range played() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			o := s.options(t)
			p, cells := try(t, o)
			if s.file == inPython {
				assert.Equal(t, s.locks(), p.Locks, p.String())
				assert.Equal(t, s.kind == "one-value", p.Name, p.String())
			}
			if s.code == 0 && len(p.Locks) == 0 {
				assert.Equal(t, s.kind == "ticket", p.Unseen, p.String())
				assert.Equal(t, sale.Either(p.Unseen, "v4", "v17"), p.Closest(), p.String())
			}
			if s.code == 0 && len(p.Locks) > 0 {
				ttl, inValue := 2.0, 0.0
				if s.kind == "scored" {
					ttl, inValue = inValue, 5
				}
				assert.InDelta(t, ttl, p.TTL.Seconds(), 0.05, p.String())
				assert.InDelta(t, inValue, p.InValue.Seconds(), 0.05, p.String())
			}
			asked, said := 0, 0
			for _, c := range cells {
				if c.NotTested == nil {
					asked++
				}
				if said += agrees(t, c); c.Scenario == plain && !strings.Contains(s.cell, plain) {
					continue
				}
				if s.code == 0 {
					assert.Nil(t, c.Defect, "%s of %s", c.Scenario, p)
					switch name, _, _ := strings.Cut(c.Scenario, " "); name {
					case "slow-work":
						if c.NotTested == nil {
							assert.Equal(t, byDesign(p, c), broken(c), p.String())
						}
					case "delayed-release", "same-instance": // Bert comes while Anna's release is held
						assert.Empty(t, broken(c), c.Scenario)
						if s.kind == "right" || s.kind == "looks-twice" {
							assert.Empty(t, c.WhyNot(), c.Scenario)
						}
					}
				} else if assert.NotNil(t, c.Defect, "%s: %s %s", c.Scenario, c.WhyNot(), p) {
					assert.True(t, strings.HasPrefix(c.Defect.Cause, s.cause), "%s: %s, %s", c.Scenario, c.Defect, p)
					assert.NotEmpty(t, c.Defect.Shown)
					if letters := breaks[s.kind]; letters != "" {
						assert.Equal(t, letters, broken(c), c.Scenario)
					}
				}
			}
			assert.NotZero(t, asked)
			assert.True(t, said > 0 || s.file != inPython || len(p.Locks) == 0, "no order said that it held the lock")
		})
	}
}

// byDesign returns the letters of what a cell breaks of the best lock of that kind.
func byDesign(p *sale.Passport, c *history.Cell) string {
	switch family := cause.Family(&p.Facts); {
	case family == "v15":
		return "E"
	case family == "v4", family == "v5.5" && c.Scenario != "slow-work":
		return "SE"
	}
	return ""
}

// If a lease is longer than a client waits for a reply, Anna is held at several commands, and the reply has arrived
// when her stopped instance is resumed.
func TestLeaseLongerThanTheClientsPatience(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	for kind, want := range map[string]string{"right": "SE", "renewed": ""} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := options(t, append([]string{"env", "LEASE=8"}, planted{file: inPython, kind: kind}.command(t)...)...)
			o.Only = []string{"slow-work", "pause"}
			p, cells := try(t, o)
			require.Len(t, cells, 2)
			slow, pause := cells[0], cells[1]
			assert.Empty(t, slow.WhyNot(), p.String())
			assert.Equal(t, want, broken(slow), slow.Line)
			assert.Equal(t, want != "", slow.Design != "", slow.Line)
			assert.Nil(t, slow.Defect)
			assert.Nil(t, pause.Defect)
			if kind == "right" {
				assert.Empty(t, pause.WhyNot())
				assert.Equal(t, want, broken(pause))
			} else {
				assert.Contains(t, pause.WhyNot(), "Anna wrote nothing once resumed: the client gives up on a reply after 5")
			}
		})
	}
}

// The trial does not wait for a lease of hours: after a crash it expires the lease, and remarks on it.
func TestLongLeaseAfterCrash(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	const long = "the lease lasts thousands of times as long as a sale"
	for kind, want := range map[string]string{"right": long, "setnx-expire": "a second command sets the TTL"} {
		o := options(t, append([]string{"env", "LEASE=2000"}, planted{file: inPython, kind: kind}.command(t)...)...)
		o.Only = []string{"crash", "pause"}
		_, cells := try(t, o)
		require.Len(t, cells, 4)
		for i, c := range cells[:3] {
			assert.Empty(t, c.WhyNot(), c.Scenario)
			assert.Less(t, c.Elapsed, 20*time.Second)
			if i == 2 { // Anna waited
				assert.Nil(t, c.Defect, c.Scenario)
				assert.Empty(t, broken(c), c.Scenario)
				continue
			}
			assert.Len(t, c.Remarks, 1, c.Scenario) // a slow machine measures a few milliseconds more
			assert.Contains(t, c.Remarks[0], "a crash blocks all orders for 33m20", c.Scenario)
			if assert.NotNil(t, c.Defect, c.Scenario) {
				assert.Equal(t, []string{want, long}[i], c.Defect.Cause, c.Scenario)
			}
		}
		assert.Contains(t, cells[3].WhyNot(), "a lease lasts 33m20")
	}
}

// A lock that is never released makes every order wait: the trial reports only that.
func TestLockThatIsNeverReleased(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	trial, ctx, err := New(t.Context(), options(t, planted{file: inPython, kind: "keeps-it"}.command(t)...))
	require.NoError(t, err)
	_, err = trial.Learn(ctx)
	assert.NoError(t, trial.Close())
	assert.ErrorContains(t, err, "it never releases lock:10000")
}

// The stock is moved to the Redis database in which the first order looks for it.
func TestStockInAnotherDatabase(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	o := options(t, planted{file: inPython, kind: "database2"}.command(t)...)
	o.Only = []string{"two-instances", "delayed-release 1", "server-restart", "key-removed 1"}
	p, cells := try(t, o)
	assert.Equal(t, []string{"lock:10000 of database 2"}, p.Locks)
	require.Len(t, cells, 4)
	for i, c := range cells {
		assert.Empty(t, c.WhyNot(), c.Scenario)
		assert.Nil(t, c.Defect, c.Scenario)
		assert.Equal(t, []string{"", "", "", "SE"}[i], broken(c), c.Scenario)
	}
}

// A Redis that dies during the trial is reported as the cause.
func TestRedisThatDies(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	trial, ctx, err := New(t.Context(), options(t, planted{file: inPython, kind: "kills-server"}.command(t)...))
	require.NoError(t, err)
	_, err = trial.Learn(ctx)
	assert.ErrorContains(t, err, "redis died")
	assert.NoError(t, trial.Close())
}

// The error first names a command that the server does not know: the shop may be written for a newer one.
func TestCommandUnknownToServer(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	trial, ctx, err := New(t.Context(), options(t, planted{file: inPython, kind: "newer"}.command(t)...))
	require.NoError(t, err)
	_, err = trial.Learn(ctx)
	require.ErrorIs(t, err, shop.ErrShop)
	assert.Regexp(t, `^the shop cannot be tried: it sends DELMINE, which the trial's Redis [\d.]+ does not know: `+
		`put a newer redis-server on the PATH; POST /decrease was answered 500 `, err.Error())
	assert.NoError(t, trial.Close())
}

// A cell in which Bert slept while Anna's lease was over is not tested. If he comes later, he needs no message.
func TestInconclusiveCells(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	o := options(t, planted{file: inPython, kind: "sleeper"}.command(t)...)
	o.Only, o.AtOnce = []string{"slow-work", "pause", "late"}, 3
	_, cells := try(t, o)
	require.Len(t, cells, 3)
	assert.Equal(t, "Bert did not try the lock between the expiry of Anna's lease and the write: "+cause.Asleep,
		cells[0].WhyNot())
	for _, c := range cells[1:] {
		assert.Empty(t, c.WhyNot(), c.Scenario)
		assert.Equal(t, "SE", broken(c), c.Scenario)
		assert.NotEmpty(t, c.Design, c.Scenario)
	}
}

// The line of each cell can be played, whatever the shop.
func TestLinesOfCells(t *testing.T) {
	renewed := &sale.Passport{Facts: history.Facts{Every: time.Second}}
	for _, p := range []*sale.Passport{{}, {Steps: make([]sale.Step, 12)}, {Slow: true}, renewed} {
		for _, f := range faultsFor(p) {
			lines := f.lines
			if f.play == nil && lines == nil {
				lines = []string{f.line}
			}
			for _, line := range lines {
				_, err := schedule.ParseLine(line)
				assert.NoError(t, err, f.name)
			}
		}
	}
}

// A line is not tested if the shop has no such moment, or an order does not reach it.
func TestLinesThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	trial, ctx := learned(t.Context(), t)
	trial.Play = []string{"a>99.crash-a", "a>release2.crash-a", "b<read.a>write.crash-a"}
	cells, err := trial.Run(ctx, func(*history.Cell) {})
	require.NoError(t, err)
	require.Len(t, cells, 3)
	assert.Regexp(t, `^a sale has \d commands$`, cells[0].WhyNot())
	assert.Equal(t, "the lock is released by one command", cells[1].WhyNot())
	assert.Equal(t, "Anna did not reach the write while another order was held", cells[2].WhyNot())
	assert.Equal(t, trial.Play[2], cells[2].Line)
}

// A cell that a busy machine decided is played again at the end, alone. The second result counts.
func TestVoidCellsArePlayedAgainAlone(t *testing.T) {
	void := []history.Finding{{Verdict: history.Valid, Result: history.Invalid}}
	var mu sync.Mutex
	var finished []string
	played, underWay, atOnce := map[string]int{}, 0, 0
	play := func(f fault) *history.Cell {
		mu.Lock()
		played[f.name]++
		c := &history.Cell{Scenario: f.name, Repetition: played[f.name]}
		underWay++
		if c.Repetition == 1 {
			atOnce = max(atOnce, underWay)
		} else {
			assert.Equal(t, 1, underWay, "%s is not alone", f.name)
			assert.Len(t, played, 5, "%s is played again before all others", f.name)
		}
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		underWay--
		switch {
		case f.name == "busy once" && c.Repetition == 1, f.name == "busy":
			c.Findings = void
		case f.name == "defect":
			c.Findings, c.Defect = void, &history.Defect{Cause: "no TTL, as v1"}
		}
		return c
	}
	var faults []fault
	for _, name := range []string{"busy once", "busy", "quiet", "defect", "quiet too"} {
		faults = append(faults, fault{name: name})
	}
	cells := playAll(t.Context(), faults, 3, play, func(c *history.Cell) {
		mu.Lock()
		defer mu.Unlock()
		finished = append(finished, c.Scenario)
	})
	assert.Equal(t, map[string]int{"busy once": 2, "busy": 2, "quiet": 1, "defect": 1, "quiet too": 1}, played)
	assert.Greater(t, atOnce, 1)
	assert.Equal(t, []string{"busy once", "busy"}, finished[3:], "the others are finished before")
	var unmeasured []string
	for i, c := range cells {
		assert.Equal(t, faults[i].name, c.Scenario)
		assert.Equal(t, played[c.Scenario], c.Repetition, c.Scenario)
		if c.IsUnmeasured() {
			unmeasured = append(unmeasured, c.Scenario)
		}
	}
	assert.Equal(t, []string{"busy"}, unmeasured)
}

// An unknown name of a cell is an error that lists the cells.
func TestCellsByName(t *testing.T) {
	trial := &Trial{shop: &shop.Shop{}, passport: forge.Begin().Passport}
	for _, one := range []struct {
		quick bool
		only  []string
		want  []string
	}{
		{only: []string{"busy"}, want: []string{"busy"}},
		{only: []string{"crash"}, want: []string{"crash 1", "crash 2", "crash 3"}},
		{only: []string{"busy", "crash 2"}, want: []string{"busy", "crash 2"}, quick: true},
	} {
		trial.Quick, trial.Only = one.quick, one.only
		faults, err := trial.chosen()
		require.NoError(t, err)
		var names []string
		for _, f := range faults {
			names = append(names, f.name)
		}
		assert.Equal(t, one.want, names)
	}
	for _, name := range []string{"", "cras", "crash 4", "CRASH"} {
		trial.Only = []string{name}
		_, err := trial.chosen()
		assert.ErrorContains(t, err, "no cell \""+name+"\": the cells are one-instance, ")
	}
	trial.Only, trial.Play = []string{"busy"}, []string{"a>write.crash-a", "a>write.crash-a.b>end"}
	faults, err := trial.chosen()
	require.NoError(t, err)
	require.Len(t, faults, 3)
	assert.Equal(t, "crash 2", faults[1].name, "a line that a cell has is that cell")
	assert.Equal(t, trial.Play[1], faults[2].name)
	trial.Only, trial.Play, trial.Quick = nil, nil, true
	quick, err := trial.chosen()
	require.NoError(t, err)
	trial.Quick = false
	all, err := trial.chosen()
	require.NoError(t, err)
	assert.Less(t, len(quick), len(all))
}

// Whether a lock is renewed shows while a request to the database keeps its order at work: a client whose acquire is
// not answered in time renews nothing, and here it leaves its lock. The units of a cell need not be enough to learn.
func TestRenewalsUnderARequestToADatabase(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	database, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close() })
	go func() {
		for {
			c, err := database.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	cli := need(t, "redis-cli", "redis-cli") + " -h {redis_host} -p {redis_port} "
	o := options(t, append([]string{"env", "LEASE=9", "DATABASE={db_host}:{db_port}"},
		planted{file: inPython, kind: "asks-a-database"}.command(t)...)...)
	o.Shop.Stock, o.Shop.Database, o.Shop.Units = nil, database.Addr().String(), 1
	o.Shop.Set, o.Shop.Left = cli+"SET ProductStock_{product} {n}", cli+"GET ProductStock_{product}"
	trial, ctx, err := New(t.Context(), o)
	require.NoError(t, err)
	p, err := trial.Learn(ctx)
	assert.NoError(t, trial.Close())
	require.NoError(t, err)
	assert.Equal(t, []int{1}, p.ToDatabase.Under, p.ToDatabase.String())
	assert.InDelta(t, 5*time.Second, p.Patience, float64(time.Second))
	assert.Positive(t, p.Every, p.String())
}

// A letter carries out the next command of an order: a trace of the explorer is a line. A renewal is no step.
func TestStepsOfAnOrder(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	for _, one := range []struct {
		shop  []string
		lines []string
		want  []string // the broken verdicts, or why it was not tested
	}{
		{[]string{"../../examples/tokenless_shop.py"}, []string{"aaa.expiry.ba", "aaa.lose-request-a.b>end", "aaaa.bbbb",
			"aaaaa"}, []string{"R", "", "", "Anna sent no further command: the order is over"}},
		{[]string{inPython, "renewed"}, []string{"aa.a<renewal.aa.bbbb"}, []string{""}},
	} {
		t.Run(one.shop[len(one.shop)-1], func(t *testing.T) {
			t.Parallel()
			o := options(t, append([]string{need(t, "python3-redis", interpreter("-c", "import redis", "python3",
				"/usr/bin/python3"))}, one.shop...)...)
			o.Play = one.lines
			_, cells := try(t, o)
			for i, c := range cells {
				assert.Equal(t, one.want[i], c.WhyNot()+broken(c), c.Line)
			}
		})
	}
}

// A shop is named after its own file, if the command line has one, and not after its interpreter.
func TestNameOfShop(t *testing.T) {
	for want, argv := range map[string][]string{
		"shop.py":  {"/usr/bin/python3", "-u", inPython, "right"},
		"shop.js":  {"env", "NODE_PATH=testdata", "node", inNode},
		"shop":     {"/opt/shop", "--port={port}", "testdata"},
		"stockapi": {"stockapi"},
	} {
		assert.Equal(t, want, (&shop.Shop{Options: shop.Options{Argv: argv}}).Name())
	}
}
