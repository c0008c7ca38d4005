package replay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

func TestReadList(t *testing.T) {
	list, err := parseList(strings.NewReader(`# What the explorer found.

expiry      own-release      v3:aaaa.expiry.ba
clock-jump  stock,exclusion  v4:aa.clock-jump-1.bbba  # virtual only
`))
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "v3:aaaa.expiry.ba", list[0].Trace.String())
	assert.Equal(t, "expiry", list[0].Fault)
	assert.Empty(t, list[0].Not)
	assert.Equal(t, []history.Verdict{history.Stock, history.Exclusion}, list[1].Breaks)
	assert.Equal(t, "stock,exclusion", list[1].Verdicts())
	assert.Equal(t, "virtual only", list[1].Not)
	for text, wrong := range map[string]string{
		"v3:aaaa":               "line 1: a line must have a fault, verdicts and a trace",
		"\nnone luck v0:abba":   `line 2: unknown verdict "luck"`,
		"none stock v0:abba\nx": "line 2",
		"none stock v0:ax":      `"ax" is not a step`,
	} {
		_, err := parseList(strings.NewReader(text))
		assert.ErrorContains(t, err, wrong)
	}
	_, err = ReadList("no such file")
	assert.Error(t, err)
}

func TestBroken(t *testing.T) {
	cell := &history.Cell{Findings: []history.Finding{{Verdict: history.Stock, Result: history.Broken},
		{Verdict: history.Exclusion, Result: history.OK}}}
	assert.Equal(t, []history.Verdict{history.Stock}, Broken(cell))
	assert.Empty(t, Missing(cell, []history.Verdict{history.Stock}))
	both := []history.Verdict{history.Stock, history.Exclusion}
	assert.Equal(t, both[1:], Missing(cell, both))
}
