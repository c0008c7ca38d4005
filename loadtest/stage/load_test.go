package stage_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Thirty phones and three walls of the real program. Each tap is sent twice, and a third of the phones and a wall have
// no network for most of the time. It is measured if somebody asks for it, on Linux:
//
//	STOCKAPI_STAGE=100s go test ./loadtest/stage -run Load -v
func TestLoad(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("STOCKAPI_STAGE"))
	if err != nil {
		t.Skip("set STOCKAPI_STAGE to a duration")
	}
	out := t.ArtifactDir()
	c, pid := start(t, out)
	var lags lags
	for range 2 {
		stream(t, http.DefaultClient, c.teacher+"/events", lags.heard)
	}
	third := stream(t, http.DefaultClient, c.teacher+"/events", lags.heard)
	var phones []*phone
	for range 30 {
		phones = append(phones, c.join())
	}
	names := map[*phone]string{}
	for _, p := range phones {
		names[p] = p.await(func(s *state) bool { return s.Here == len(phones) }).Person
	}

	begun, cpu, taken := time.Now(), cpuTime(t, pid), int64(0)
	var taps sync.WaitGroup
	for i, p := range phones {
		taps.Go(func() {
			away := i%3 == 0
			for n := 0; time.Since(begun) < lasts; n++ {
				if away && time.Since(begun) > lasts/5 {
					p.leave()
					time.Sleep(lasts * 3 / 5)
					p.leave = p.open()
					away = false
				}
				if p.tap(fmt.Sprint(n)) {
					atomic.AddInt64(&taken, 1)
				}
				time.Sleep(1500 * time.Millisecond)
			}
		})
	}
	taps.Go(func() {
		time.Sleep(lasts / 5)
		third()
		time.Sleep(lasts * 3 / 5)
		stream(t, http.DefaultClient, c.teacher+"/events", lags.heard)
	})
	largest := int64(0)
	for rounds := 1; time.Since(begun) < lasts; rounds++ { // what the teacher does
		c.do("vote")
		for _, p := range phones {
			assert.Equal(t, http.StatusNoContent, p.vote("S", "1"))
		}
		c.do("vote")
		for range 12 {
			time.Sleep(time.Second)
			largest = max(largest, memory(t, pid))
		}
		assert.Empty(t, c.judge().broken(), "no work outlasts its lease")
		c.do("reset")
	}
	taps.Wait()
	share := (cpuTime(t, pid) - cpu).Seconds() / time.Since(begun).Seconds()
	for _, p := range phones {
		assert.Equal(t, names[p], p.await(func(s *state) bool { return s.Here == len(phones) }).Person)
	}
	ended := ordersIn(t, out)
	p99 := lags.quantile(0.99)
	t.Logf("%v: %.1f %% of a core, %d MB at most, %d orders, %d commands, to the wall within %.0f ms (median %.0f)",
		lasts, 100*share, largest>>20, ended, len(lags.all), p99, lags.quantile(0.5))
	assert.Less(t, share, 0.25)
	assert.Less(t, largest, int64(60<<20))
	assert.Less(t, p99, 200.0)
	assert.Equal(t, int(taken), ended, "no tap is lost, and none counts twice")
}

// start starts the real program, and returns the class and the id of its process.
func start(t *testing.T, out string) (c *class, pid int) {
	t.Helper()
	service, err := build()
	require.NoError(t, err)
	program, rounds := filepath.Join(t.TempDir(), "loadtest"), filepath.Join(t.TempDir(), "rounds.yaml")
	said, err := exec.Command("go", "build", "-o", program, "stockapi/loadtest").CombinedOutput()
	require.NoError(t, err, string(said))
	require.NoError(t, os.WriteFile(rounds, []byte("- {title: busy, rung: v4, lease: 2s, work: 20ms, wait: 10s}"), 0o600))
	cmd := exec.Command(program, "stage", "--backend", "embedded", "--port", "0", "--rounds", rounds, "--out", out)
	cmd.Env = append(os.Environ(), "LOADTEST_STOCKAPI="+service)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		assert.NoError(t, cmd.Wait())
	})
	text := ""
	for lines := bufio.NewScanner(stdout); !strings.Contains(text, "Ctrl-C") && lines.Scan(); {
		text += lines.Text() + "\n"
	}
	found := regexp.MustCompile(`(http://\S+)/\n.*(http://\S+)/([A-Z]{4})\n`).FindStringSubmatch(text)
	require.NotNil(t, found, text)
	c = &class{t: t, teacher: found[1], phones: found[2], code: found[3]}
	c.wall = watch(t, c.teacher)
	return c, cmd.Process.Pid
}

// tap sends a tap twice, as a network does that has lost the answer, and reports whether it was taken.
func (p *phone) tap(id string) bool {
	var twice sync.WaitGroup
	var taken atomic.Bool
	for range 2 {
		twice.Go(func() {
			if p.buy(id) == http.StatusAccepted {
				taken.Store(true)
			}
		})
	}
	twice.Wait()
	return taken.Load()
}

// lags are the times from the answers of commands at the wire until walls heard of them, in milliseconds, longer by how
// much the fastest message took.
type lags struct {
	mu  sync.Mutex
	all []lag
	gap float64 // least time from the server's clock to ours
}

type lag struct{ heard, done float64 }

func (l *lags) heard(data []byte) {
	now := float64(time.Now().UnixMicro()) / 1000
	var message struct {
		Now    float64
		Fresh  bool
		Events []struct {
			Kind, State string
			Done        float64
		}
	}
	_ = json.Unmarshal(data, &message)
	l.mu.Lock()
	defer l.mu.Unlock()
	if gap := now - message.Now; l.gap == 0 || gap < l.gap {
		l.gap = gap
	}
	for _, e := range message.Events {
		if e.Kind == "cmd" && e.State == "done" && !message.Fresh {
			l.all = append(l.all, lag{now, e.Done})
		}
	}
}

func (l *lags) quantile(q float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.all, func(a, b lag) int { return cmp.Compare(a.heard-a.done, b.heard-b.done) })
	at := l.all[int(q*float64(len(l.all)-1))]
	return at.heard - at.done - l.gap
}

// ordersIn returns how many orders of persons ended, and asserts that none was sent and did not end.
func ordersIn(t *testing.T, out string) (ended int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "stage.jsonl"))
	require.NoError(t, err)
	open := 0
	for _, e := range eventsOf(t, string(text)) {
		assert.NotEqual(t, "trouble", e.Kind, e.text)
		switch {
		case e.Kind == "order" && e.State == "sent":
			open++
		case e.Kind == "order":
			open, ended = open-1, ended+1
		}
	}
	assert.Zero(t, open)
	return ended
}

// cpuTime returns what a process has computed, and memory how much it has in memory, in bytes.
func cpuTime(t *testing.T, pid int) time.Duration {
	fields := proc(t, pid, "stat")
	sum := 0
	for _, field := range fields[13:15] {
		ticks, err := strconv.Atoi(field)
		require.NoError(t, err)
		sum += ticks
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

func memory(t *testing.T, pid int) int64 {
	pages, err := strconv.ParseInt(proc(t, pid, "statm")[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

func proc(t *testing.T, pid int, file string) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	require.NoError(t, err)
	return strings.Fields(string(text))
}
