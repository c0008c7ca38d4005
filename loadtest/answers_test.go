package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// receipt returns the line of a sale: the instance sold the unit, between these seconds.
func receipt(order, instance string, unit, sent, received int) string {
	return fmt.Sprintf(`{"sent":"2026-03-01T12:00:%02d.000Z","received":"2026-03-01T12:00:%02d.000Z","status":200,`+
		`"body":{"rung":"v4","product":"p","quantity":1,"left":%d,"units":[%d],"instance":"%s","order":"%s"}}`,
		sent, received, unit-1, unit, instance, order)
}

// refusal returns the line of a refused order.
func refusal(order string, sent, received int) string {
	return fmt.Sprintf(`{"sent":"2026-03-01T12:00:%02dZ","received":"2026-03-01T12:00:%02dZ","status":409,`+
		`"body":"{\"order\":\"%s\",\"instance_name\":\"a\",\"outcome\":\"not-sold\"}","vu":3}`, sent, received, order)
}

// leased adds a lease to a receipt, from one second to another.
func leased(line string, from, to int) string {
	return strings.TrimSuffix(line, "}}") + fmt.Sprintf(
		`,"lease":{"token":"t%d","acquired_at":"2026-03-01T12:00:%02d.5Z","released_at":"2026-03-01T12:00:%02d.25Z"}}}`,
		from, from, to)
}

// reading adds a trace to a receipt, with a command that reads the stock.
func reading(line string) string {
	return strings.TrimSuffix(line, "}}") + `,"trace":[{"cmd":"get","key":"ProductStock_p",` +
		`"at":"2026-03-01T12:00:01.5Z","end":"2026-03-01T12:00:01.6Z","reply":"2"}]}}`
}

// numbered adds a lease with that fencing token to a receipt.
func numbered(line string, token int) string {
	return strings.Replace(leased(line, 1, 3), `"lease":{`, fmt.Sprintf(`"lease":{"fence":%d,`, token), 1)
}

// answersOf writes a file for each generator, judges them, and returns the output.
func answersOf(t *testing.T, generators [][]string, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	args := append([]string{"audit", "--answers"}, flags...)
	for i, lines := range generators {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.jsonl", i))
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		args = append(args, file)
	}
	return loadtest(t, args...)
}

func TestAnswersOfAnotherLoadGenerator(t *testing.T) {
	sold2, sold1 := receipt("x", "a", 2, 0, 1), receipt("y", "b", 1, 1, 2)
	page := `{"sent":"2026-03-01T12:00:01Z","received":"2026-03-01T12:00:02Z","status":200,"body":"<html>back soon"}`
	noAnswer := `{"sent":"2026-03-01T12:00:00Z","status":0,"body":null}`
	busy := strings.Replace(refusal("z", 3, 4), "409", "423", 1)
	leases := func(a, b int) [][]string { // of one instance: seconds 1 to a, and b to 4
		return [][]string{{
			leased(receipt("x", "a", 2, 0, 9), 1, a), leased(receipt("y", "a", 1, 0, 9), b, 4),
		}}
	}
	for name, c := range map[string]struct {
		generators [][]string
		flags      string
		code       int
		says       string
	}{
		"sound": {
			[][]string{{sold1, sold2, refusal("z", 3, 4)}}, "--left 0", asExpected, `stock +ok +2 sales, 1 refusals\n`,
		},
		"busy, with stock left": {
			[][]string{{sold2, busy}}, "--left 1", asExpected,
			`stock +ok +1 sales, 0 refusals, 1 of 2 orders busy though stock was left\n`,
		},
		"busy, without --left": {
			[][]string{{sold2, busy}}, "", asExpected,
			`stock +ok +1 sales, 0 refusals, 1 of 2 orders busy though stock was left; lost units were not checked`,
		},
		"sound, without --left": {
			[][]string{{sold1}}, "", asExpected, `stock +ok +1 sales.* lost units were not checked`,
		},
		"sound, two generators": {
			[][]string{{sold1}, {sold2}}, "--left 0", asExpected, `stock +ok`,
		},
		"a unit is sold twice": {
			[][]string{{receipt("y", "b", 2, 1, 2), sold2}}, "", surprised,
			`BROKEN +unit 2 was sold twice, to order x on a and to order y on b\n`,
		},
		"a unit is sold twice, two generators": {
			[][]string{{sold2}, {sold1, receipt("z", "b", 2, 1, 2)}}, "", surprised,
			`BROKEN +unit 2 was sold twice, to order x on a and to order z on b\n`,
		},
		"a unit beyond the stock": {
			[][]string{{receipt("x", "a", 3, 0, 1)}}, "", surprised, `BROKEN +a sold unit 3 to order x, of a stock of 2`,
		},
		"a unit is lost": {
			[][]string{{sold2}}, "--left 0 --orders 1", surprised, `BROKEN +1 sold, but the stock went from 2 to 0`,
		},
		"a unit is gone, maybe to an order without an answer": {
			[][]string{{sold2}}, "--left 0", couldNotRun,
			`stock +unknown +1 more unit is gone than the answers account for; was a generator cut short\?`,
		},
		"a unit is gone, and an order has no answer": {
			[][]string{{sold2}}, "--left 0 --orders 2", couldNotRun,
			`1 answers to 2 orders: 1 sold.* 1 unknown\n(?s:.*)stock +unknown +1 unit is of unknown outcome`,
		},
		"fewer units are gone than were sold": {
			[][]string{{sold2, sold1}}, "--left 1", surprised, `BROKEN +2 sold, but the stock went from 2 to 1`,
		},
		"sound, and an order has no answer": {
			[][]string{{sold2}}, "--left 1 --orders 2", couldNotRun, `stock +unknown +1 unit is of unknown outcome`,
		},
		"refused falsely": {
			[][]string{{refusal("z", 0, 1), receipt("x", "a", 2, 5, 6)}}, "", surprised,
			`BROKEN +a refused order z .* although at least 2 of 2 were left`,
		},
		"refused, by a clock that may be seconds behind": {
			[][]string{{refusal("z", 0, 1)}, {receipt("x", "a", 2, 5, 6), receipt("y", "b", 1, 6, 7)}}, "--left 0",
			asExpected, `stock +ok`,
		},
		"no answer": {
			[][]string{{sold2, noAnswer}}, "", couldNotRun, `stock +unknown +1 unit is of unknown outcome`,
		},
		"another's receipt": {
			[][]string{{strings.Replace(sold2, `{"sent"`, `{"order":"k6-7","sent"`, 1)}}, "", couldNotRun, `1 unknown`,
		},
		"a unit as a text": {
			[][]string{{sold2, strings.Replace(sold1, "[1]", `["1"]`, 1)}}, "", couldNotRun,
			`first answer without an outcome, to order .*: 200, but no sale: its member units is a string, not a whole number`,
		},
		"created": {
			[][]string{{sold2, strings.Replace(sold1, `:200`, `:201`, 1)}}, "", couldNotRun, `, to order y: 201 Created`,
		},
		"a page, success: false, no units, with status 200": {
			[][]string{{sold2, sold1, page, strings.Replace(page, `"<html>back soon"`, `{"success":false}`, 1),
				strings.Replace(page, `"<html>back soon"`, `{"quantity":0,"units":[]}`, 1)}}, "--left 0", couldNotRun,
			`stock +unknown +3 units are of unknown outcome`,
		},
		"a byte order mark": {
			[][]string{{"\ufeff" + sold1, "\ufeff" + sold2}}, "--left 0", asExpected, `stock +ok`,
		},
		"nothing sold": {[][]string{{noAnswer}}, "", couldNotRun, `stock +unknown`},
		"no leases":    {[][]string{{sold1}}, "", asExpected, `exclusion +not judged +no answer had the member lease\n`},
		"no commands":  {[][]string{{sold1}}, "", asExpected, `own-release +not judged +no answer had the member trace\n`},
		"no units": {[][]string{{strings.Replace(sold1, `"units":[1],`, "", 1)}}, "", couldNotRun,
			`stock +unknown .*: 200, but without the member units\n`},
		"leases": {leases(2, 3), "", asExpected, `exclusion +ok +2 of 2 leases\n`},
		"leases overlap": {
			leases(3, 2), "", surprised, `exclusion +BROKEN +order x on a and order y on a both held the lock for 750.000 ms`,
		},
		"leases by two clocks": {
			[][]string{{leased(sold2, 1, 3), leased(sold1, 2, 4)}}, "", asExpected,
			`exclusion +not judged +the leases are from 2 instances`,
		},
		"no leases, but commands": {
			[][]string{{reading(sold2), reading(sold1)}}, "", asExpected,
			`exclusion +not judged +no answer had the member lease\n`,
		},
		"leases by an unknown clock": {
			[][]string{{leased(receipt("x", "", 2, 0, 9), 1, 3), leased(receipt("y", "", 1, 0, 9), 2, 4)}}, "", asExpected,
			`exclusion +not judged +the instances of some leases`,
		},
		"a refusal that the leases of two unknown clocks would contradict": {
			[][]string{{leased(receipt("x", "", 2, 0, 9), 4, 5), leased(receipt("y", "", 1, 0, 9), 4, 6),
				leased(strings.NewReplacer(`200`, `409`, `[1]`, `[]`).Replace(receipt("z", "", 1, 0, 9)), 1, 2)}},
			"--left 0", asExpected, `stock +ok`,
		},
		"a token is given twice, by two clocks": {
			[][]string{{numbered(sold2, 7), numbered(sold1, 7)}}, "", surprised,
			`fence +BROKEN +order x and order y both got token`,
		},
		"an instance without a name": {
			[][]string{{receipt("x", "", 3, 0, 1)}}, "", surprised,
			`BROKEN +an instance without a name sold unit 3 to order x`,
		},
		"leases by one clock, two generators": {
			[][]string{{leased(sold2, 1, 3)}, {leased(receipt("y", "a", 1, 1, 2), 2, 4)}}, "", asExpected,
			`exclusion +not judged +the 2 load generators may not read the same clock`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := answersOf(t, c.generators, append(strings.Fields(c.flags), "--stock", "2")...)
			assert.Equal(t, c.code, code, stdout+stderr)
			assert.Regexp(t, c.says, stdout)
			assert.Regexp(t, `liveness +not judged`, stdout)
		})
	}
}

// Truncated to milliseconds, an answer may have the time of an event that it reports.
func TestAnswersTimedInMilliseconds(t *testing.T) {
	line := leased(receipt("x", "a", 1, 1, 1), 1, 2)
	line = strings.NewReplacer("01.5Z", "01.0001Z", "02.25Z", "01.0009Z").Replace(line)
	other := strings.NewReplacer(`"x"`, `"y"`, `12:00:01`, `12:00:03`, `[1]`, `[2]`).Replace(line)
	code, stdout, stderr := answersOf(t, [][]string{{line, other}}, "--stock", "2")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `exclusion +ok`, stdout)
}

func TestAnswersErrors(t *testing.T) {
	good := receipt("x", "a", 2, 0, 1)
	const sent = `{"sent":"2026-03-01T12:00:00Z",`
	for line, says := range map[string]string{
		"bogus":                `0.jsonl, line 2: no answer: it is not JSON from byte 1 on`,
		"null":                 `line 2: no answer: it has no time "sent"`,
		`{"sent":3}`:           `line 2: no answer: a time in it is not a string such as "2026-03-01T12:00:00Z"`,
		`{"sent":"noon"}`:      `line 2: no answer: "noon" is not a time such as 2026-03-01T12:00:00Z`,
		"[]":                   `line 2: no answer: it is an array, not an object`,
		sent + `"status":200}`: `line 2: a status and no time "received"`,
		strings.Replace(good, "12:00:01.", "11:59:59.", 1): `line 2: "received" is before "sent"`,
		sent + `"quantity":-1}`:                            `line 2: no answer: its member quantity is -1, not a whole`,
		sent + `"quantity":1e30}`:                          `line 2: no answer: its member quantity is 1e30, not a`,
		"\xff\xfe{\x00":                                    `line 2: this is UTF-16, as PowerShell's > writes: convert it`,
		"\xfe\xff\x00{":                                    `line 2: this is UTF-16`,
		"{\x00\"\x00":                                      `line 2: this is UTF-16`,
		"\x00{\x00\"":                                      `line 2: this is UTF-16`,
		`time="2026-03-01" level=info`:                     `line 2: this is k6's log: run k6 with --log-format raw`,
		`{"level":"info","msg":"{}"}`:                      `line 2: this is k6's log`,
		good[:40]:                                          `line 2: no answer: its JSON is cut short`,
		strings.Repeat("x", maxAnswer+1):                   `line 2: it has more than 16 MB: write one answer a line`,
		good:                                               `line 2: order "x" was answered before: judge one run`,
		strings.NewReplacer(`"v4"`, `"v0"`, `"x"`, `"y"`).Replace(good): `the rung is "v0", and was "v4" before`,
		strings.NewReplacer(`"p"`, `"q"`, `"x"`, `"y"`).Replace(good):   `the product is "q", and was "p" before`,
	} {
		code, _, stderr := answersOf(t, [][]string{{good, line}}, "--stock", "2")
		assert.Equal(t, couldNotRun, code)
		assert.Contains(t, stderr, says)
	}
	units := strings.Trim(strings.ReplaceAll(fmt.Sprint(make([]int64, 1_000_000)), " ", ","), "[]")
	many := strings.NewReplacer(`{"sent"`, `{"quantity":1000000,"sent"`, `[2]`, "["+units+"]").Replace(good)
	code, _, stderr := answersOf(t, [][]string{{many}}, "--stock", "2")
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "line 1: order x names 1000000 units, and the stock had 2: "+
		"it is no receipt of this stock: correct --stock or the file")
	code, stdout, stderr := answersOf(t, [][]string{{good, "", " \t\r"}}, "--stock", "2")
	assert.Equal(t, asExpected, code, stdout+stderr)
	nameless := strings.Replace(good, `,"order":"x"`, "", 1)
	file := filepath.Join(t.TempDir(), "twice.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(nameless), 0o600))
	code, _, stderr = loadtest(t, "audit", "--answers", "--stock", "2", file, file)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, `twice.jsonl:1" was answered before`)
	code, _, stderr = answersOf(t, [][]string{{good}, {receipt("y", "a", 1, 0, 1)}}, "--stock", "2", "--orders", "1")
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "the files have 2 answers to 1 orders: correct --orders")
	code, _, stderr = answersOf(t, [][]string{nil}, "--stock", "2")
	assert.Equal(t, couldNotRun, code, stderr)
	for flags, says := range map[string]string{
		"audit --answers f":                      "--answers needs --stock",
		"audit --answers --stock 2 --left 3 f":   "--left must lie between 0 and --stock",
		"audit --stock 2 f":                      "are for --answers",
		"audit --orders 2 f":                     "are for --answers",
		"audit --answers --stock 2 --orders 0 f": "--orders must lie between 1 and 1000000",
		"audit f g":                              "several files are for --answers",
		"audit --answers --stock 2 /no/such.js":  "no such file",
	} {
		code, _, stderr := loadtest(t, strings.Fields(flags)...)
		assert.Equal(t, couldNotRun, code)
		assert.Contains(t, stderr, says)
	}
}
