package trial

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/rig"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// Fresh orders are sent to each instance that is up. After a sale at b, the time of those to a runs from that sale.
func TestFreshOrdersAtEachInstance(t *testing.T) {
	f := forge.Begin()
	fault := f.After(100)
	at := func(at, ms int) *shop.Order { return &shop.Order{InFlight: rig.NewInFlight("", at), Over: f.After(ms)} }
	for _, one := range []struct {
		what  string
		a, b  *shop.Order // nil: it is down
		stuck int         // -1: none is
		since []time.Time
		want  int
	}{
		{"both sell", at(shop.AtA, 300), at(shop.AtB, 200), -1, []time.Time{fault, f.After(200)}, 2},
		{"b is stuck", at(shop.AtA, 300), at(shop.AtB, 200), shop.AtB, []time.Time{fault}, 1},
		{"a is stuck", at(shop.AtA, 300), at(shop.AtB, 200), shop.AtA, []time.Time{fault, f.After(200)}, 1},
		{"b is down", at(shop.AtA, 300), nil, -1, []time.Time{fault, fault}, 1},
		{"a is down", nil, at(shop.AtB, 200), -1, []time.Time{fault, f.After(200)}, 1},
	} {
		var asked []int
		var since []time.Time
		probes := eachInTurn(fault, func(at int, then time.Time) (own []*shop.Order, stuck bool) {
			asked, since = append(asked, at), append(since, then)
			if o := [2]*shop.Order{one.a, one.b}[at]; o != nil {
				own = append(own, o)
			}
			return own, at == one.stuck
		})
		assert.Equal(t, []int{shop.AtB, shop.AtA}[:len(one.since)], asked, one.what)
		assert.Equal(t, one.since, since, one.what)
		assert.Len(t, probes, one.want, one.what)
		for _, o := range probes {
			assert.True(t, one.stuck < 0 || o.At == one.stuck, one.what)
		}
	}
}

// An order refused since Anna's end counts like a fresh one; after one that sold, the time of the next one starts anew.
// Anna ends at 1 s.
func TestOrdersBeforeFreshOnes(t *testing.T) {
	for _, one := range []struct {
		what  string
		berts func(*forge.Forgery)
		own   int
		turn  int // in ms
	}{
		{"nobody came", func(*forge.Forgery) {}, 0, 1000},
		{"Bert sold before", func(f *forge.Forgery) { f.Order("bert", shop.AtB, history.Sold, 10, 900) }, 0, 1000},
		{"Bert sold since", func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Busy, 1010, 1500)
			f.Order("bert-2", shop.AtB, history.Sold, 1550, 2000)
		}, 0, 2000},
		{"Bert was refused", func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Busy, 1010, 4000)
			f.Order("bert-2", shop.AtB, history.Unknown, 4050, 0)
		}, 2, 1000},
		{"Bert found an empty shelf", func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Busy, 1010, 4000)
			f.Cell.Left = new(int64(0))
		}, 0, 1000},
		{"Bert ordered at a", func(f *forge.Forgery) { f.Order("bert", shop.AtA, history.Busy, 1010, 4000) }, 0, 1000},
	} {
		f := forge.Begin()
		f.Order("anna", shop.AtA, history.Sold, 0, 1000)
		one.berts(f)
		own, turn := alreadyAt(f.Bench, shop.AtB, f.After(1000))
		assert.Len(t, own, one.own, one.what)
		assert.Equal(t, f.After(one.turn), turn, one.what)
	}
}

// An order was kept waiting if it had not acquired the lock although it had had its time, 4 s: since Anna's end at 1 s,
// its first try, and the last turn of another order. It does not matter when it was sent, or at which instance.
func TestOrderThatWasKeptWaiting(t *testing.T) {
	for _, one := range []struct {
		what string
		kept bool
		cell func(*forge.Forgery)
	}{
		{"Bert came before Anna's end", true, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Sold, 10, 6500, f.Tried(20), f.Tried(5500), f.Acquire(6000))
		}},
		{"he came after it", true, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Sold, 1010, 6500, f.Tried(1020), f.Tried(5500), f.Acquire(6000))
		}},
		{"he came to a", true, func(f *forge.Forgery) {
			f.Order("bert", shop.AtA, history.Sold, 1010, 6500, f.Tried(1020), f.Tried(5500), f.Acquire(6000))
		}},
		{"he was refused", true, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Busy, 1010, 5600, f.Tried(1020), f.Tried(5500))
		}},
		{"it is unknown what he was answered", false, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Unknown, 1010, 5600, f.Tried(1020), f.Tried(5500))
		}},
		{"he first tried late", false, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Sold, 1010, 6500, f.Tried(2000), f.Tried(5500), f.Acquire(6000))
		}},
		{"he slept", true, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Sold, 10, 6500, f.Tried(20), f.Acquire(6000))
		}},
		{"he found it taken after his own sale", false, func(f *forge.Forgery) {
			f.Order("bert", shop.AtB, history.Sold, 10, 2500, f.Tried(20), f.Acquire(2000), f.Tried(2100))
		}},
		{"Clara had her turn", false, func(f *forge.Forgery) {
			f.Order("clara", shop.AtA, history.Sold, 10, 1600, f.Acquire(1200))
			f.Order("bert", shop.AtB, history.Sold, 1010, 6500, f.Tried(1020), f.Tried(5500), f.Acquire(5550))
		}},
		{"Clara is at work", false, func(f *forge.Forgery) {
			f.Order("clara", shop.AtA, history.Sold, 10, 5900, f.Acquire(1100))
			f.Order("bert", shop.AtB, history.Sold, 1010, 6500, f.Tried(1020), f.Tried(5500), f.Acquire(6000))
		}},
		{"Clara waits, too", true, func(f *forge.Forgery) {
			f.Order("clara", shop.AtA, history.Busy, 10, 5900, f.Tried(1100))
			f.Order("bert", shop.AtB, history.Sold, 1010, 6500, f.Tried(1020), f.Tried(5500), f.Acquire(6000))
		}},
	} {
		f := forge.Begin()
		f.Order("anna", shop.AtA, history.Sold, 0, 1000, f.Acquire(10))
		one.cell(f)
		kept := waitedLong(f.Bench, f.After(1000), f.Record)
		assert.Equal(t, one.kept, kept != nil, one.what)
		for _, o := range kept {
			assert.Equal(t, "bert", o.Name, one.what)
		}
	}
}

// An order ends with its answer, or, if its customer had left, with its release.
func TestEndOfOrder(t *testing.T) {
	f := forge.Begin()
	commands := []record.Observation{f.Acquire(10), f.Release(150)}
	anna := f.Order("anna", shop.AtA, history.Sold, 0, 90, commands...)
	anna.Over = anna.Ended
	assert.Equal(t, f.After(90), endOf(anna, commands))
	anna.Left = true
	assert.Equal(t, f.After(150), endOf(anna, commands))
	assert.Equal(t, f.After(90), endOf(anna, nil))
}

// Package cause judges by the kinds of faults and by courses: none of its literals is the name of a cell.
func TestCausesNameNoCell(t *testing.T) {
	var names []string
	for _, f := range faultsFor(&sale.Passport{Steps: make([]sale.Step, 1)}) {
		fault, _, _ := strings.Cut(f.name, " ")
		names = append(names, strconv.Quote(f.name), strconv.Quote(fault))
	}
	assert.Contains(t, names, `"pause"`)
	files, err := filepath.Glob("../cause/*.go")
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if one, is := n.(*ast.BasicLit); is {
				assert.NotContains(t, names, one.Value, path)
			}
			return true
		})
	}
}

// Programs of a crowd overlap if two are at work at once: the time before they ask for the lock does not count.
func TestProgramsThatOverlap(t *testing.T) {
	f := forge.Begin()
	f.Order("a-1", shop.AtA, history.Sold, 0, 100)
	f.Order("b-1", shop.AtB, history.Sold, 50, 200)
	f.Order("a-2", shop.AtA, history.Sold, 300, 400)
	assert.Equal(t, 2, overlapped(f.Orders, 0))
	assert.Zero(t, overlapped(f.Orders, 60*time.Millisecond))
}
