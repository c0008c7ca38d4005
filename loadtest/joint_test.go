package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
	"stockapi/loadtest/latch/latchtest"
)

// output is the result of one of several load generators.
type output struct {
	code           int
	stdout, stderr string
}

// joined runs so many load generators at the same time, each with arguments of its own.
func joined(t *testing.T, run program, parties int, args func(i int) []string) []output {
	t.Helper()
	all := make([]output, parties)
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			common := []string{"--join", "test", "--parties", fmt.Sprint(parties)}
			code, stdout, stderr := run(t, append(common, args(i)...)...)
			all[i] = output{code, stdout, stderr}
		})
	}
	running.Wait()
	return all
}

// Two load generators with two instances each, on a Redis that they share.
func TestTwoLoadGeneratorsMakeOneRun(t *testing.T) {
	t.Parallel()
	path, url, dir, tmp := stockapi(t), foreignRedis(t), t.TempDir(), ownTemp(t)
	file := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	all := joined(t, tmp.loadtest, 2, func(i int) []string {
		return []string{"--stockapi", path, "--backend", url, "--rungs", "v0,v4,v6,v12", "--json", file(i)}
	})
	for _, o := range all {
		assert.Equal(t, asExpected, o.code, o.stdout+o.stderr)
		assert.Equal(t, all[0].stdout, o.stdout, "all come to the same verdict")
	}
	stdout := all[0].stdout
	assert.Contains(t, stdout, "load      600 buyers of 100 units, 200 at once, closed loop; wait 20s, ttl 30s, "+
		"work 1ms; from 2 parties")
	assert.Regexp(t, `parties +p1 on .*\n +p2 on `, stdout)
	assert.Regexp(t, `v0 nolock +4 BROKEN stock`, stdout)
	assert.Regexp(t, `v4 lua-release +4 ok +100 +500 +0 +0 +0 +0`, stdout)
	assert.Regexp(t, `v6 redlock +needs shared nodes`, stdout)
	assert.Regexp(t, `v12 sql-row +needs a shared --sql`, stdout)
	assert.Contains(t, stdout, "as expected (2 of 2 cells; 2 not run)")
	for i := range all {
		code, again, _ := loadtest(t, "audit", file(i))
		assert.Equal(t, asExpected, code)
		assert.Equal(t, stdout, again)
	}
	recorded, err := history.Read(file(1))
	require.NoError(t, err)
	assert.NotEmpty(t, soldByBoth(recorded.Cells[0]), "a unit of which one party alone sees nothing wrong")
	assert.Empty(t, soldByBoth(recorded.Cells[1]))
	assert.Empty(t, keysOn(t, url))
	assert.Empty(t, tmp.left(t))
}

// soldByBoth returns the units that buyers of both parties got.
func soldByBoth(c *history.Cell) []int64 {
	buyers := map[int64]map[string]bool{}
	var both []int64
	for _, op := range c.Ops {
		party, _, _ := strings.Cut(c.Short(op.Order), "-")
		for _, u := range op.Units {
			if buyers[u] == nil {
				buyers[u] = map[string]bool{}
			}
			if buyers[u][party] = true; len(buyers[u]) == 2 {
				both = append(both, u)
			}
		}
	}
	return both
}

func TestThreeLoadGeneratorsOnTheSameTargets(t *testing.T) {
	t.Parallel()
	shop, meet := newFakeShop(t), latchtest.Embedded(t)
	for _, o := range joined(t, loadtest, 3, func(int) []string {
		return []string{"--targets", shop.URL, "--meet", meet, "--rungs", "v4", "--requests", "70"}
	}) {
		assert.Equal(t, asExpected, o.code, o.stdout+o.stderr)
		assert.Regexp(t, `v4 lua-release +1 ok +100 +110 +0 +0 +0 +0`, o.stdout)
		assert.Contains(t, o.stdout, "needs two targets")
		assert.Contains(t, o.stdout, "as expected (1 of 1 cells; 1 not run)")
	}
	assert.Equal(t, 3*70+1, shop.orders, "exactly as many as asked, and one probe")
	assert.Empty(t, keysOn(t, meet))

	shop.oversell = true
	for _, o := range joined(t, loadtest, 3, func(int) []string {
		return []string{"--targets", shop.URL, "--meet", meet, "--rungs", "v4", "--scenarios", "one-instance"}
	}) {
		assert.Equal(t, surprised, o.code, "all of them are surprised")
		assert.Regexp(t, `fake sold unit \d1 to order p\d-\d+ at .* again to order p\d-\d+ at`, o.stdout)
	}
}

func TestPartiesWithShelvesOfTheirOwnProveNothing(t *testing.T) {
	t.Parallel()
	shops, meet := []*fakeShop{newFakeShop(t), newFakeShop(t)}, latchtest.Embedded(t)
	var told strings.Builder
	for _, o := range joined(t, loadtest, 2, func(i int) []string {
		url := shops[i].URL
		return []string{"--targets", url + "," + url, "--meet", meet, "--rungs", "v4", "--scenarios", "two-instances"}
	}) {
		assert.Equal(t, couldNotRun, o.code)
		assert.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
		told.WriteString(o.stderr)
	}
	assert.Contains(t, told.String(), "does not have what the first party put on its shelf")
	assert.Regexp(t, `party 2 \(.*\) is gone`, told.String())
}

func TestAPartyThatDiesEndsTheRunForAll(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a lease has ended")
	}
	t.Parallel()
	shop, meet, file := newFakeShop(t), latchtest.Embedded(t), filepath.Join(t.TempDir(), "h.json")
	args := []string{"--join", "test", "--targets", shop.URL, "--meet", meet, "--rungs", "v4",
		"--scenarios", "one-instance",
		"--repeat", "500"}
	doomed := exec.Command(os.Args[0], args...)
	doomed.Env = append(os.Environ(), "LOADTEST_TEST_MAIN=1")
	lines, err := doomed.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, doomed.Start())
	var killed sync.WaitGroup
	killed.Go(func() {
		_, _ = bufio.NewReader(lines).ReadString('\n') // the first cell is done
		_ = doomed.Process.Kill()
		_ = doomed.Wait()
	})
	var out, errs bytes.Buffer
	code := execute(context.Background(), append(args, "--json", file), &out, &errs)
	killed.Wait()
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, fmt.Sprintf(`loadtest: party [12] \(.*, process %d\) is gone: unless it was killed, `+
		`it says why itself, with \d+ of 500 cells measured\n$`,
		doomed.Process.Pid), errs.String())
	recorded, err := history.Read(file)
	require.NoError(t, err)
	assert.NotEmpty(t, recorded.Cells, "what all had measured is kept")
	assert.Len(t, recorded.Cells[0].Parties, 2)
}

func TestAPartyThatIsInterruptedEndsTheRunForAll(t *testing.T) {
	t.Parallel()
	shop, meet := newFakeShop(t), latchtest.Embedded(t)
	args := []string{"--join", "test", "--targets", shop.URL, "--meet", meet, "--rungs", "v4",
		"--scenarios", "one-instance",
		"--repeat", "500"}
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := &trigger{after: "2/", then: cancel}
	var first sync.WaitGroup
	first.Go(func() {
		var out bytes.Buffer
		assert.Equal(t, couldNotRun, execute(ctx, args, &out, interrupted))
	})
	code, _, stderr := loadtest(t, args...)
	first.Wait()
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, interrupted.String(), "loadtest: interrupted, with ")
	assert.Regexp(t, `party [12] \(.*\) is gone`, stderr)
}
