package record_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/forge"
	"stockapi/loadtest/trial/record"
	"stockapi/loadtest/trial/shop"
)

// The writes that the Redis executed decide which units were sold, whatever the answers.
func TestUnitsAreThoseTaken(t *testing.T) {
	for _, one := range []struct {
		what   string
		writes func(*forge.Forgery) written
		want   []int64
	}{
		{"one write", func(f *forge.Forgery) written { return written{f.Wrote(10, 0, 10, 9, false)} }, []int64{10}},
		{"a SET that was sent twice takes one unit", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 10, 9, false), f.Wrote(10, 0, 9, 9, false)}
		}, []int64{10}},
		{"a DECR that was sent twice takes two", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 8, true)}
		}, []int64{10, 9}},
		{"an INCR puts the unit back", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 10, true)}
		}, nil},
		{"an INCR puts one of two back", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 10, 9, true), f.Wrote(10, 0, 9, 8, true), f.Wrote(10, 0, 8, 9, true)}
		}, []int64{10}},
		{"an INCR without a unit taken puts nothing back", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 9, 10, true)}
		}, nil},
		{"a SET of more puts the unit back", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 10, 9, false), f.Wrote(10, 0, 9, 10, false)}
		}, nil},
		{"a write below zero takes unit 0, which does not exist", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 0, 0, -1, true)}
		}, []int64{0}},
		{"a write at another instance", func(f *forge.Forgery) written {
			return written{f.Wrote(10, 1, 10, 9, false)}
		}, nil},
		{"a write of another time", func(f *forge.Forgery) written {
			return written{f.Wrote(500, 0, 10, 9, false)}
		}, nil},
	} {
		f := forge.Begin()
		anna := f.Order("anna", atA, history.Sold, 0, 40, f.Acquire(1), f.Read(5), f.Write(10), f.Release(20))
		assert.Equal(t, one.want, append([]int64(nil), record.UnitsOf(f.Bench, one.writes(f), f.Record)[anna]...), one.what)
	}
}

// Two orders that wrote the same number have sold the same unit.
func TestTwoOrdersSellOneUnit(t *testing.T) {
	f := forge.Begin()
	anna := f.Order("anna", atA, history.Sold, 0, 90, f.Read(5), f.Write(80))
	bert := f.Order("bert", atB, history.Sold, 10, 60, f.Read(20), f.Write(50))
	units := record.UnitsOf(f.Bench, written{f.Wrote(50, 1, 10, 9, false), f.Wrote(80, 0, 9, 9, false)}, f.Record)
	assert.Equal(t, []int64{10}, units[anna])
	assert.Equal(t, []int64{10}, units[bert])
}

// Which order of a crowd sent a write is unknown. Only those open at the time are considered: one that sold rather than
// one of unknown outcome, and the one answered first.
func TestCrowdWritesBelongToOpenOrders(t *testing.T) {
	f := forge.Begin()
	over := f.Order("a-0", atA, history.Sold, 0, 5)
	early := f.Order("a-1", atA, history.Sold, 0, 20)
	unknown := f.Order("a-2", atA, history.Unknown, 0, 0)
	refused := f.Order("a-3", atA, history.Busy, 0, 100)
	sold := f.Order("a-4", atA, history.Sold, 0, 100)
	elsewhere := f.Order("b-1", atB, history.Sold, 0, 100)
	units := record.UnitsOfCrowd(f.Bench, written{
		f.Wrote(10, 0, 10, 9, true), f.Wrote(50, 0, 9, 8, true), f.Wrote(60, 0, 8, 7, true), f.Wrote(70, 0, 7, 6, true),
	})
	assert.Equal(t, map[*shop.Order][]int64{early: {10}, sold: {9}, unknown: {8}}, units)
	assert.Empty(t, units[over])
	assert.Empty(t, units[refused])
	assert.Empty(t, units[elsewhere])
}

// An order that was answered 202 may take its unit later.
func TestCrowdWritesBelongToAcceptedOrders(t *testing.T) {
	f := forge.Begin()
	accepted := f.Order("a-1", atA, history.Sold, 0, 5)
	accepted.Op.Status = 202
	units := record.UnitsOfCrowd(f.Bench, written{f.Wrote(10, 0, 10, 9, true)})
	assert.Equal(t, map[*shop.Order][]int64{accepted: {10}}, units)
}

// A unit that an order of a crowd puts back is the last one taken.
func TestCrowdPutsUnitsBack(t *testing.T) {
	f := forge.Begin()
	sold := f.Order("a-1", atA, history.Sold, 0, 100)
	writes := written{f.Wrote(10, 0, 1, 0, true), f.Wrote(20, 0, 0, -1, true), f.Wrote(30, 0, -1, 0, true)}
	units := record.UnitsOfCrowd(f.Bench, writes)
	assert.Equal(t, map[*shop.Order][]int64{sold: {1}}, units)
}

// A write of a crowd may take a unit for each of several orders.
func TestCrowdWriteMayTakeSeveralUnits(t *testing.T) {
	f := forge.Begin()
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		f.Order(name, atA, history.Sold, 0, 100)
	}
	units := record.UnitsOfCrowd(f.Bench, written{f.Wrote(10, 0, 10, 7, false)})
	assert.Equal(t, map[*shop.Order][]int64{f.Orders[0]: {8}, f.Orders[1]: {9}, f.Orders[2]: {10}}, units)
}

// A write that takes more units than there are orders counts as one, however large the numbers.
func TestCrowdWriteOfTooManyUnitsIsOne(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, w := range [][2]int64{{most, 7}, {most, least}, {10, -10}, {most, most - 2}} {
		f := forge.Begin()
		sold := f.Order("a-1", atA, history.Sold, 0, 100)
		units := record.UnitsOfCrowd(f.Bench, written{f.Wrote(10, 0, w[0], w[1], false)})
		assert.Equal(t, map[*shop.Order][]int64{sold: {w[1] + 1}}, units, w)
	}
	f := forge.Begin()
	sold := f.Order("a-1", atA, history.Sold, 0, 100)
	units := record.UnitsOfCrowd(f.Bench, written{f.Wrote(10, 0, most, most-1, false)})
	assert.Equal(t, map[*shop.Order][]int64{sold: {most}}, units)
}
