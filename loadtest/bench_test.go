package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBenchmarkMeasuresRungsAndLimits(t *testing.T) {
	t.Parallel()
	path, file, tmp := stockapi(t), filepath.Join(t.TempDir(), "bench.json"), ownTemp(t)
	code, stdout, stderr := tmp.loadtest(t, "bench", "--stockapi", path, "--backend", "embedded", "--rungs", "v0,v17,v6",
		"--for", "100ms", "--concurrency", "4", "--json", file)
	require.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "closed loop over HTTP: 2 instances, 4 at once, 100ms for each after 25ms")
	assert.Contains(t, stdout, "Do not compare the rungs' speed here")
	for _, line := range []string{"limit: bare route", "limit: GET and SET", "v0 nolock", "v6 redlock", "v17 atomic"} {
		assert.Regexp(t, `(?m)^`+line+` +[1-9]\d* `, stdout)
	}
	var result benchResult
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &result))
	require.Len(t, result.Figures, 5)
	for _, f := range result.Figures {
		assert.Positive(t, f.Latency.P50, f.Name)
		assert.GreaterOrEqual(t, f.Latency.P99, f.Latency.P50, f.Name)
		assert.Zero(t, f.Others, f.Name)
		if f.Rung == "v17" {
			assert.Zero(t, f.Twice)
			assert.InDelta(t, 2, f.Commands, 1.1, "one script, and what it does")
		}
	}
}

// A rung that sells a unit twice, and is expected not to, is a surprise. What is expected to is none.
func TestTheBenchmarkLooksAtTheBooks(t *testing.T) {
	for rung, want := range map[string]int{"v0": asExpected, "v4": surprised} {
		var out strings.Builder
		var result benchResult
		require.NoError(t, json.Unmarshal([]byte(`{"figures":[{"rung":"`+rung+`","twice":3}]}`), &result))
		assert.Equal(t, want, result.code(&out))
		assert.Equal(t, want == surprised, strings.Contains(out.String(), "v4 sold 3 units twice"))
	}
}

func TestTheBenchmarkRefusesWhatCannotBeMeasured(t *testing.T) {
	for args, want := range map[string]string{
		"--for 1ms": "--for must lie between", "--concurrency 0": "--concurrency must lie between",
		"--wait 2m": "--wait must lie between", "--rungs= --for 1ms": "--rungs names none",
		"--rungs v44": `there is no rung "v44"`, "--backend redis://127.0.0.1:1 --stockapi go": "no Redis at",
	} {
		code, _, stderr := loadtest(t, append([]string{"bench"}, strings.Fields(args)...)...)
		assert.Equal(t, couldNotRun, code, args)
		assert.Contains(t, stderr, want)
	}
}
