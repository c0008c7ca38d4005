package history_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/loadtest/history"
)

func TestDefectsOfCellsByCause(t *testing.T) {
	assert.Equal(t, []history.FoundDefect{}, history.DefectsOf([]*history.Cell{{Scenario: "busy"}}))
	cell := func(name, cause, remedy string) *history.Cell {
		return &history.Cell{Scenario: name, Defect: &history.Defect{Cause: cause, Remedy: remedy, Shown: "in " + name}}
	}
	cells := []*history.Cell{cell("late", "unknown cause", ""), cell("crash 1", "no TTL", "set one"), {Scenario: "busy"},
		cell("pause", "no token", "compare"), cell("crash 2", "no TTL", "set one")}
	found := history.DefectsOf(cells)
	assert.Equal(t, []history.FoundDefect{
		{Defect: *cells[1].Defect, Cells: []string{"crash 1", "crash 2"}, First: cells[1]},
		{Defect: *cells[3].Defect, Cells: []string{"pause"}, First: cells[3]},
		{Defect: *cells[0].Defect, Cells: []string{"late"}, First: cells[0]},
	}, found)
}
