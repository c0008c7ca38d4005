package trial

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/trial/sale"
	"stockapi/loadtest/trial/shop"
)

// They are hidden in everything that is kept of a trial, and words of ours are not taken for them.
func TestMaskOfRecords(t *testing.T) {
	m := shop.NewMask([]shop.Header{{Name: "X-Key", Value: "stock"}})
	cellWith := func(text string) *history.Cell {
		return &history.Cell{
			Ops:      []history.Op{{Detail: text, Trace: []history.Command{{Key: text, Reply: text}}}},
			Findings: []history.Finding{{Verdict: history.Stock, Because: text}},
			Facts:    &history.Facts{Locks: []string{text}}, Defect: &history.Defect{Shown: text}, Remarks: []string{text},
			Faults: []history.Fault{{Text: text}}, NotTested: &history.NotTested{Reason: text},
		}
	}
	cell := cellWith("lock:stock")
	m.All(cell)
	assert.Equal(t, cellWith("lock:***"), cell)
	p := &sale.Passport{Facts: history.Facts{Locks: []string{"lock:stock"}},
		Steps: []sale.Step{{Args: []string{"GET", "lock:stock"}, Queued: [][]string{{"GET", "stock"}}}}}
	MaskPassport(m, p)
	assert.NotContains(t, p.String(), "lock:stock")
	assert.Equal(t, []string{"GET", "lock:***"}, p.Steps[0].Args)
	assert.Equal(t, [][]string{{"GET", "***"}}, p.Steps[0].Queued)
	require.EqualError(t, m.Err(errors.New("no stock")), "no ***")
}
