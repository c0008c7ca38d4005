package main

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/catalog"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
)

// counted is an environment that runs no cell. It counts the cells under way.
type counted struct {
	environment
	now, most, ensembles, mostEnsembles atomic.Int64
}

func (c *counted) prepare(_ context.Context, spec catalog.Spec) cellEnvironment {
	enter := func(now, most *atomic.Int64, by int64) { most.Store(max(most.Load(), now.Add(by))) }
	enter(&c.now, &c.most, 1)
	if spec.OnEnsemble() {
		enter(&c.ensembles, &c.mostEnsembles, 1)
	}
	time.Sleep(time.Millisecond)
	return cellEnvironment{notRun: "needs more", close: func() {
		c.now.Add(-1)
		if spec.OnEnsemble() {
			c.ensembles.Add(-1)
		}
	}}
}

// At most atOnce cells run at a time, and at most one on an ensemble.
func TestCellsRunSideBySide(t *testing.T) {
	specs, err := scenario.Table.Select([]string{"crash", "minority-down", "majority-down"}, nil, 2, 1)
	require.NoError(t, err)
	progress := terminal.NewProgress(io.Discard, nil)
	for _, atOnce := range []int{1, 4} {
		env := &counted{}
		s := &session{specs: specs, progress: progress, environment: env, history: &history.Run{}}
		done := make([]*history.Cell, len(specs))
		require.NoError(t, s.sideBySide(t.Context(), done, 0, len(specs), atOnce))
		assert.NotContains(t, done, (*history.Cell)(nil))
		assert.EqualValues(t, atOnce, env.most.Load())
		assert.EqualValues(t, 1, env.mostEnsembles.Load())
	}
	why, cancel := context.WithCancel(t.Context())
	cancel()
	s := &session{specs: specs, progress: progress, environment: &counted{}, history: &history.Run{}}
	assert.Error(t, s.sideBySide(why, make([]*history.Cell, len(specs)), 0, len(specs), 4))
}
