package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-isatty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startTelling is start on an embedded Redis, with the standard output.
func startTelling(t *testing.T, args ...string) (*running, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	return startOn(t, out, append(args, "--redis", "embedded", "--embedded-addr", "127.0.0.1:0")...), out
}

var toldLine = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} order-\d+ +v5\.5 +\+\d+ ms [ !] \w[^\x1b]*$`)

// A hundred concurrent orders are narrated in whole lines on standard output, each in order. The log is unchanged.
func TestNarrationOfConcurrentOrders(t *testing.T) {
	in, out := startTelling(t, "--narrate")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.url+"/v5.5/decrease?wait=20s", nil)
			if !assert.NoError(t, err) {
				return
			}
			request.Header.Set("X-Request-ID", fmt.Sprint("order-", i))
			assert.Equal(t, 200, in.send(t, request).status)
		})
	}
	all.Wait()
	in.end()
	require.NoError(t, in.wait())
	steps := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		require.Regexp(t, toldLine, strings.TrimSuffix(line, "\n"))
		order := strings.Fields(line)[1]
		steps[order] = append(steps[order], strings.Fields(line)[5])
	}
	assert.Len(t, steps, 100)
	for order, told := range steps {
		if len(told) == 6 {
			assert.Equal(t, "waits", told[1], order)
			told = append(told[:1:1], told[2:]...)
		}
		assert.Equal(t, []string{"wants", "holds", "read", "sold", "released"}, told, order)
	}
	assert.NotContains(t, in.logs.text(), "wants 1 of")
}

func TestNothingIsNarratedWithoutTheFlag(t *testing.T) {
	in, out := startTelling(t)
	assert.Equal(t, 200, in.post(t, "/v4/decrease").status)
	in.end()
	require.NoError(t, in.wait())
	assert.Empty(t, out.String())
}

// Narrated steps are not logged; others still are.
func TestLogOmitsWhatIsNarrated(t *testing.T) {
	for narrates, logged := range map[bool][]string{
		true:  {"no-such-rung"},
		false: {"lease lost", "lease lost", "lease-lost", "no-such-rung"},
	} {
		in, out := startTelling(t, fmt.Sprintf("--narrate=%t", narrates))
		before := in.logs.len()
		assert.Equal(t, 200, in.post(t, "/v4/decrease?ttl=10ms&work=100ms").status)
		assert.Equal(t, "lease-lost", in.post(t, "/v15/decrease?ttl=20ms&work=1s&renew=false").problem())
		assert.Equal(t, "no-such-rung", in.post(t, "/v99/decrease").problem())
		in.end()
		require.NoError(t, in.wait())
		assert.Equal(t, append(logged, "draining", "stopped"), in.logs.since(before))
		assert.Equal(t, narrates, strings.Contains(out.String(), "! lease lost: the key was gone or another's\n"))
		assert.Equal(t, narrates, strings.Contains(out.String(), "! not sold: lease lost\n"))
	}
}

func TestNarrationByEnvironment(t *testing.T) {
	t.Setenv("STOCKAPI_NARRATE", "true")
	in, out := startTelling(t)
	assert.Equal(t, 200, in.post(t, "/v4/decrease").status)
	in.end()
	require.NoError(t, in.wait())
	assert.Contains(t, out.String(), "sold unit 100, wrote 99\n")
}

// Only a terminal gets colours, and only if its user has not declined them.
func TestColorsAreForTerminals(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	assert.False(t, takesColor(io.Discard))
	file, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, takesColor(file))
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer terminal.Close()
	if !isatty.IsTerminal(terminal.Fd()) {
		t.Skip("this end of a pseudo-terminal is none on this system")
	}
	assert.True(t, takesColor(terminal))
	assert.True(t, takesColor(&output{Writer: terminal}))
	t.Setenv("TERM", "dumb")
	assert.False(t, takesColor(terminal))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	assert.False(t, takesColor(terminal))
}
