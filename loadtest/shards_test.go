package main

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// A sharded product comes to the same verdicts as any other, under a crowd and under faults.
func TestShards(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be stopped here")
	}
	t.Parallel()
	path, dir, tmp := stockapi(t), t.TempDir(), ownTemp(t)
	code, stdout, stderr := tmp.measured(t, "--stockapi", path, "--backend", "embedded", "--at-once", "4", "--out", dir,
		"--shards", "8", "--scenarios", "two-instances,crash,pause", "--rungs", "v1,v4,v5.5,v15,v18,v19")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `(?m)^crash +L +ok +ok +ok +ok +ok$`, stdout)
	assert.Regexp(t, `(?m)^pause +ok +SE +SE +E +E +E$`, stdout)
	assert.Contains(t, stdout, " units in 8 shards, ")

	run, err := history.Read(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	for _, cell := range run.Cells {
		shards := map[string]bool{}
		for _, op := range cell.All() {
			if op.Outcome == history.Sold {
				shards[op.Shard] = true
			}
		}
		assert.NotContains(t, shards, "", cell.Title())
		if cell.Scenario == "two-instances" {
			assert.Len(t, shards, 8, cell.Title())
		} else {
			assert.Len(t, shards, 1, "orders with faults come to one shard: "+cell.Title())
		}
	}
}

func TestScenariosThatAShardedProductCannotBeIn(t *testing.T) {
	code, _, stderr := loadtest(t, "--shards", "8", "--scenarios", "opposite-order")
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "--shards: not with opposite-order: an order of several products")
	code, _, stderr = loadtest(t, "--shards", "33")
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "--shards must lie between 1 and 32")
}
