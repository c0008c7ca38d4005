package schedule

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTraceRoundTrips(t *testing.T) {
	texts := []string{
		"v3:aaaa.expiry.ba", "v6:a2ab3.time.hold-a.crash-b.crash-after-a2", "v4:", "v7:lose-request-a.lose-reply-b.drop-a",
		"v6:node-down-1.node-back-1.node-empty-2.clock-jump-3.give-up-a", "v5.5:abc",
		"v9-naive/two-products:abab", "v5:late-a.time.arrive-a.late-b2.arrive-b2",
	}
	file, err := os.ReadFile("../replay/counterexamples.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(file)) {
		if fields := strings.Fields(line); fields[0] != "#" {
			texts = append(texts, fields[2])
		}
	}
	require.Greater(t, len(texts), 100)
	for _, text := range texts {
		trace, err := ParseTrace(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, trace.String())
	}
}

func TestParseTrace(t *testing.T) {
	trace, err := ParseTrace(" v6/queue:ab2.a.crash-after-c3.node-empty-12\n")
	require.NoError(t, err)
	assert.Equal(t, Trace{"v6", "queue", []Step{
		{Grant, 0, 0}, {Grant, 1, 1}, {Grant, 0, 0}, {CrashAfter, 2, 2}, {NodeEmpty, 11, 0},
	}}, trace)
}

func TestInvalidTraces(t *testing.T) {
	const noStep = "it names neither a client of abc nor a kind of step"
	for text, wrong := range map[string]string{
		"":                    `not ""`,
		"v4":                  `not "v4"`,
		":a":                  `not ":a"`,
		"v4/:a":               `not "v4/:a"`,
		"v4:ax":               `"ax" is not a step: ` + noStep,
		"v4:d":                `"d" is not a step: ` + noStep,
		"v4:1a":               `"1a" is not a step: ` + noStep,
		"v4:a0":               `"a0" is not a step: ` + noStep,
		"v4:a..b":             `"" is not a step: ` + noStep,
		"v4:a.":               `"" is not a step: ` + noStep,
		"v4:-":                `"-" is not a step: ` + noStep,
		"v4:-a":               `"-a" is not a step: ` + noStep,
		"v4:times":            `"times" is not a step: ` + noStep,
		"v4:crasha":           `"crasha" is not a step: ` + noStep,
		"v4:crash-aftera":     `"crash-aftera" is not a step: it takes one client, such as crash-a`,
		"v4:node-down1":       `"node-down1" is not a step: ` + noStep,
		"v4:no-such-fault-a":  `"no-such-fault-a" is not a step: ` + noStep,
		"v4:crash":            `"crash" is not a step: it takes one client, such as crash-a`,
		"v4:crash-after":      `"crash-after" is not a step: it takes one client, such as crash-after-a`,
		"v4:drop-":            `"drop-" is not a step: it takes one client, such as drop-a`,
		"v4:crash-ab":         `"crash-ab" is not a step: it takes one client`,
		"v4:crash--a":         `"crash--a" is not a step: ` + noStep,
		"v4:crash-1":          `"crash-1" is not a step: it takes one client`,
		"v4:time-a":           `"time-a" is not a step: time takes no client`,
		"v4:expiry-":          `"expiry-" is not a step: time takes no client`,
		"v4:node-down":        `"node-down" is not a step: it takes the number of a lock server, such as node-down-1`,
		"v4:node-down-":       `"node-down-" is not a step: it takes the number of a lock server`,
		"v4:node-down-0":      `"node-down-0" is not a step: it takes the number of a lock server`,
		"v4:node-down-01":     `"node-down-01" is not a step: it takes the number of a lock server`,
		"v4:node-down-+1":     `"node-down-+1" is not a step: it takes the number of a lock server`,
		"v4:node-down--1":     `"node-down--1" is not a step: ` + noStep,
		"v4:node-down-a":      `"node-down-a" is not a step: it takes the number of a lock server`,
		"v4:clock-jump-1a":    `"clock-jump-1a" is not a step: it takes the number of a lock server`,
		"v4:aaaa expiry":      `"aaaa expiry" is not a step: ` + noStep,
		"v4:a.CRASH-a":        `"CRASH-a" is not a step: ` + noStep,
		"v4:lose-request-a:b": `"lose-request-a:b" is not a step`,
	} {
		_, err := ParseTrace(text)
		require.ErrorIs(t, err, ErrTrace, text)
		assert.ErrorContains(t, err, wrong, text)
	}
}

func TestStepSubjects(t *testing.T) {
	for text, is := range map[string]struct{ fault, byClient, client, server bool }{
		"a": {false, true, true, false}, "time": {}, "expiry": {fault: true}, "hold-a": {true, false, true, false},
		"crash-a": {true, true, true, false}, "crash-after-a": {true, true, true, false},
		"lose-request-a": {true, true, true, false}, "lose-reply-a": {true, true, true, false},
		"late-a": {true, true, true, false}, "arrive-a": {false, true, true, false}, "drop-a": {true, true, true, false},
		"give-up-a": {true, true, true, false}, "node-down-1": {true, false, false, true},
		"node-back-1": {false, false, false, true}, "node-empty-1": {true, false, false, true},
		"clock-jump-1": {true, false, false, true},
	} {
		trace, err := ParseTrace("v4:" + text)
		require.NoError(t, err)
		step := trace.Steps[0]
		assert.Equal(t, is.fault, step.IsFault(), text)
		assert.Equal(t, is.byClient, step.ByClient(), text)
		assert.Equal(t, is.client, step.NamesClient(), text)
		assert.Equal(t, is.server, step.OfServer(), text)
	}
}

func TestVirtualOnly(t *testing.T) {
	for text, why := range map[string]string{
		"v4:aa.expiry.bbba":       "",
		"v4:aa.clock-jump-1.bbba": "the clock of one real server",
		"v2:aaa.late-a.arrive-a":  "",
		"v9-naive/two-products:a": "two orders of one unit each",
	} {
		trace, err := ParseTrace(text)
		require.NoError(t, err)
		assert.Equal(t, why == "", trace.VirtualOnly() == "", text)
		assert.Contains(t, trace.VirtualOnly(), why)
	}
}

func TestCommandText(t *testing.T) {
	assert.Equal(t, "set lock", CommandText("set", "lock"))
	assert.Equal(t, "get stock", CommandText("get", "stock"))
	assert.Equal(t, "set on node 2", CommandText("set", "2"))
}

func TestWaitingCommandsAreOrdered(t *testing.T) {
	command := func(server int, name, key string, nth int) *Command {
		return &Command{Server: &Server{Index: server}, Name: name, Keys: []string{key}, Nth: nth}
	}
	commands := []*Command{command(0, "set", "", 0), command(1, "get", "b", 0), command(1, "set", "a", 7),
		command(1, "set", "b", 0), command(1, "set", "b", 1)}
	for i, c := range commands {
		for j, other := range commands {
			assert.Equal(t, i < j, c.compare(other) < 0, "%d %d", i, j)
		}
	}
}
