package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
)

func parsed(t *testing.T, args ...string) *runFlags {
	t.Helper()
	c, _, _, err := parse(args, nil)
	require.NoError(t, err)
	return &c.Run
}

func TestRoundsAreInterleaved(t *testing.T) {
	f := parsed(t, "--contenders", "v4,redsync,alone", "--processes", "2,1", "--waiters", "8,64", "--rounds", "2")
	assert.Equal(t, []figures.Point{
		{Workload: "free", Processes: 2, Waiters: 8}, {Workload: "free", Processes: 1, Waiters: 8},
		{Workload: "hot", Processes: 2, Waiters: 8}, {Workload: "hot", Processes: 1, Waiters: 8},
		{Workload: "hot", Processes: 2, Waiters: 64},
	}, f.points())
	plan := f.plan(f.contenders)
	times := map[string]int{}
	for i, s := range plan {
		times[s.contender.Name]++
		assert.Equal(t, i, s.number)
		assert.Equal(t, 1+i/(len(plan)/2), s.round, "one round after the other")
	}
	assert.Equal(t, map[string]int{"v4": 10, "redsync": 10, "alone": 2}, times, "one worker is the same at every point")
	assert.NotEqual(t, plan[0].contender.Name, plan[len(plan)/2].contender.Name, "another comes first")
	assert.Equal(t, 22*3*time.Second, f.lasts(len(plan)))
}

func TestDefaults(t *testing.T) {
	f := parsed(t)
	var ours []string
	for _, c := range f.contenders {
		if c.Kind == contender.Ours {
			ours = append(ours, c.Name)
		}
	}
	assert.Subset(t, ours, []string{"v4", "v5", "v5.5", "v7", "v8", "v15"})
	assert.NotContains(t, ours, "v0")
	assert.NotContains(t, ours, "v17", "it takes no lock")
	assert.Len(t, f.contenders, len(ours)+6+2)
}

func TestShapes(t *testing.T) {
	for shape, want := range map[contender.Shape][2]int{
		contender.Spread: {2, 32}, contender.OneProcess: {1, 64}, contender.OneWorker: {1, 1},
	} {
		processes, workers := shape.Of(2, 32)
		assert.Equal(t, want, [2]int{processes, workers}, shape)
	}
}
