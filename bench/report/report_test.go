package report

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
	"stockapi/bench/worker"
)

// forged returns a report of two contenders and a limit, with three numbers of waiters.
func forged() *Report {
	r := &Report{About: "2 cores", Processes: 2}
	rates := map[string]float64{"redsync": 2000, "v4": 4000, "mutex": 80000}
	for _, c := range contender.All() {
		if rates[c.Name] == 0 {
			continue
		}
		r.Contenders = append(r.Contenders, c)
		for _, waiters := range []int{32, 1, 512} {
			for round := range 3 {
				rate := rates[c.Name] + float64(round)
				r.Samples = append(r.Samples, Sample{Contender: c.Name, Kind: c.Kind, Workload: worker.Hot,
					Waiters: waiters, Round: round, Values: map[string]float64{Rate.ID: rate, P99.ID: 1e6 / rate}})
			}
		}
	}
	return r
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	forged().Print(&out)
	text := out.String()
	assert.Contains(t, text, "2 cores; × is the ratio to the best peer\n\n32 waiters in each of 2 processes:\n\n")
	assert.Regexp(t, `(?m)^\| v4 +\| 4,001 · 2\.00× +\| 250 · 0\.50× +\|$`, text)
	assert.Regexp(t, `(?m)^\| mutex +\| 80,001 · 40\.0× +\|`, text)
	assert.NotContains(t, text, "commands/sale", "nobody counted them")
	assert.Less(t, strings.Index(text, " v4 "), strings.Index(text, " redsync "), "ours come first")
}

func TestPrintSaysWhatIsBroken(t *testing.T) {
	r := forged()
	r.Samples[0].Broken, r.Samples[1].Broken = "unit 7 was sold twice", "unit 8 was sold twice"
	r.Samples[10].Failed, r.Samples[10].Error = 3, "away"
	var out strings.Builder
	r.Print(&out)
	assert.Contains(t, out.String(), r.Samples[0].Contender+" is BROKEN with 32 waiters in each of 2 processes: unit 7")
	assert.NotContains(t, out.String(), "unit 8", "once is enough")
	assert.Contains(t, out.String(), r.Samples[10].Contender+": 3 operations failed; the first of them: away")
}

func TestFiles(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "new"), forged()
	r.Samples[0].Values[Rate.ID] = 0 // has no place on a logarithmic axis
	require.NoError(t, r.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, "bench.csv"))
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	assert.Len(t, lines, 1+3*3*3)
	assert.Equal(t, []string{"v4", "hot", "2", "32", "1", "", "4001", "", "249.938", "", "", "", "0", ""}, lines[2])
	assert.NoFileExists(t, filepath.Join(dir, "commands.svg"), "nobody counted them")
	for _, name := range []string{"sales", "p99"} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		require.NoError(t, err)
		assert.Contains(t, string(svg), "waiters in each process")
		assert.Contains(t, string(svg), "redsync")
	}
}

func TestNumbers(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0.00", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 1234567: "1,234,567",
	} {
		assert.Equal(t, want, number(value))
	}
}
