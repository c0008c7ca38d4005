package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
)

func parsed(t *testing.T, args ...string) *flags {
	t.Helper()
	f := flags{}
	require.NoError(t, f.parse(append(args, "--redis", "redis://127.0.0.1:1"), nil))
	return &f
}

func TestRoundsAreInterleaved(t *testing.T) {
	f := parsed(t, "--contenders", "v4,redsync,alone", "--waiters", "8,64", "--rounds", "2")
	plan := f.plan(f.contenders)
	times := map[string]int{}
	for i, s := range plan {
		times[fmt.Sprint(s.contender.Name, " ", s.workload, " ", s.waiters)]++
		assert.Equal(t, i, s.number)
		assert.Equal(t, 1+i/(len(plan)/2), s.round, "one round after the other")
	}
	assert.Equal(t, map[string]int{"v4 free 8": 2, "v4 hot 8": 2, "v4 hot 64": 2, "redsync free 8": 2,
		"redsync hot 8": 2, "redsync hot 64": 2, "alone hot 8": 2}, times)
	assert.NotEqual(t, plan[0].contender.Name, plan[len(plan)/2].contender.Name, "another comes first")
	assert.Equal(t, 14*1500*time.Millisecond, f.lasts(len(plan)))
}

func TestDefaults(t *testing.T) {
	f := parsed(t)
	var ours []string
	for _, c := range f.contenders {
		if c.Kind == contender.Ours {
			ours = append(ours, c.Name)
		}
	}
	assert.Subset(t, ours, []string{"v4", "v5", "v5.5", "v7", "v8", "v15", "v18", "v19"})
	assert.NotContains(t, ours, "v0")
	assert.NotContains(t, ours, "v17", "it takes no lock")
	assert.Len(t, f.contenders, len(ours)+5+2)
}

func TestShapes(t *testing.T) {
	for shape, want := range map[contender.Shape][2]int{
		contender.Spread: {2, 32}, contender.OneProcess: {1, 64}, contender.OneWorker: {1, 1},
	} {
		processes, workers := shape.Of(2, 32)
		assert.Equal(t, want, [2]int{processes, workers}, shape)
	}
}
