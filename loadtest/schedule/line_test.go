package schedule

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseLine(t *testing.T) {
	for text, want := range map[string]Line{
		"a>write.late-a.expiry.b>end.arrive-a": {{"", 0, 0, Write, false, 0}, {"late", 0, 0, "", false, 0},
			{"expiry", -1, 0, "", false, 0}, {"", 1, 1, End, false, 0}, {"arrive", 0, 0, "", false, 0}},
		"a>release2.b@a<read.c@b": {{"", 0, 0, Release2, false, 0}, {"", 1, 0, Read, true, 0},
			{"", 2, 1, "", false, 0}},
		"b<12.stop-b.continue-b": {{"", 1, 1, "12", true, 0}, {"stop", 1, 1, "", false, 0},
			{"continue", 1, 1, "", false, 0}},
		"b>write.late-a": {{"", 1, 1, Write, false, 0}, {"late", 0, 0, "", false, 0}},
		"a>3.a<renewal.lose-reply-a": {{"", 0, 0, "3", false, 0}, {"", 0, 0, Renewal, true, 0},
			{"lose-reply", 0, 0, "", false, 0}},
		"take.a>end.remove": {{"take", -1, 0, "", false, 0}, {"", 0, 0, End, false, 0},
			{"remove", -1, 0, "", false, 0}},
		"crowd-ab": {{"crowd", 1, 0, "", false, 0}},
		"ab.lose-request-b": {{"", 0, 0, Next, false, 0}, {"", 1, 1, Next, false, 0},
			{"lose-request", 1, 1, "", false, 0}},
		"a.lose-request-a2": {{"", 0, 0, Next, false, 0}, {"lose-request", 0, 0, "", false, 1}},
		"a2b<.expiry.a": {{"", 0, 0, Next, false, 1}, {"", 1, 1, Next, true, 0}, {"expiry", -1, 0, "", false, 0},
			{"", 0, 0, Next, false, 0}},
		"a<db2.b>end.b@a>db12": {{"", 0, 0, "db2", true, 0}, {"", 1, 1, End, false, 0}, {"", 1, 0, "db12", false, 0}},
	} {
		line, err := ParseLine(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, line, text)
	}
}

func TestCrowdOfALine(t *testing.T) {
	for text, crowd := range map[string]int{"crowd-a": 1, "crowd-ab": 2, "a>end": 0} {
		line, err := ParseLine(text)
		require.NoError(t, err, text)
		assert.Equal(t, crowd, line.Crowd(), text)
	}
}

func TestInvalidLines(t *testing.T) {
	const words = "use one of arrive-a continue-a crash-a crowd-ab cut-a drop-a expiry give-up-a join-a late-a " +
		"lose-reply-a lose-request-a remove restart stop-a take time, or an order and a mark, such as a>write or b<read"
	for text, wrong := range map[string]string{
		"":                 `"" is not a step of a fault: ` + words,
		"a>write..b>end":   `"" is not a step of a fault: ` + words,
		"pause":            `"pause" is not a step of a fault: ` + words,
		"v4:a>write":       `"v4:a>write" is not a step of a fault: ` + words,
		"c":                `"c" is not a step of a fault: ` + words,
		"abc":              `"abc" is not a step of a fault: ` + words,
		"a0":               `"a0" is not a step of a fault: ` + words,
		"c<":               `the instances are a and b: c@a, c@b`,
		"expiry-a":         `"expiry-a" is not a step of a fault: ` + words,
		"a>wirte":          `unknown mark "wirte": use one of acquire acquired read write release release2 renewal waits `,
		"a>0":              `unknown mark "0": `,
		"a>db":             `unknown mark "db": `,
		"a>db0":            `unknown mark "db0": `,
		"a>db1.late-a":     `no command of a is at the wire`,
		"a>":               `unknown mark "": `,
		"d>write":          `the orders are a, b and c`,
		"c>write":          `the instances are a and b: c@a, c@b`,
		"b@c<read":         `the instances are a and b: b@a, b@b`,
		"b@<read":          `the instances are a and b: b@a, b@b`,
		"a<end":            `write a>end`,
		"b@a<waits":        `write b@a>waits`,
		"a>acquired":       `write a<acquired`,
		"a>renewal":        `write a<renewal`,
		"stop":             `"stop" is not a step of a fault: ` + words,
		"stop-c":           `it takes an instance: stop-a or stop-b`,
		"stop-":            `it takes an instance: stop-a or stop-b`,
		"late-ab":          `it takes an order, such as late-a`,
		"a.late-a1":        `it takes an order, such as late-a`,
		"a.give-up-a2":     `it concerns no single command: give-up-a`,
		"crash-b2":         `it concerns no single command: crash-b`,
		"crowd-b":          `a crowd orders from a or from both: crowd-a, crowd-ab`,
		"a>end.crowd-a":    `a crowd must be the only step`,
		"crowd-a.b>end":    `a crowd must be the only step`,
		"a>end.late-a":     `no command of a is at the wire: put a>write or another mark before it`,
		"a<read.late-a":    `no command of a is at the wire`,
		"a>waits.late-a":   `no command of a is at the wire`,
		"a>write.arrive-a": `put late-a before it`,
		"stop-a.join-a":    `put cut-a before it`,
		"continue-b":       `put stop-b before it`,
		"give-up-a":        `a has not ordered yet`,
		"a>end.a@b":        `a has already ordered`,

		"a>01":                     `unknown mark "01": `,
		"a>+1":                     `unknown mark "+1": `,
		"a>99999999999999999999":   `unknown mark "99999999999999999999": `,
		"a<db99999999999999999999": `unknown mark "db99999999999999999999": `,
	} {
		_, err := ParseLine(text)
		require.ErrorContains(t, err, wrong, text)
		assert.NotContains(t, err.Error(), "\n")
	}
}
