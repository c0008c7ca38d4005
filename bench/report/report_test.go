package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/bench/contender"
	"stockapi/bench/figures"
	"stockapi/bench/worker"
)

// forged returns a report of two contenders and a limit, at three numbers of waiters.
func forged() *Report {
	r := &Report{Cores: 2, Rounds: 3, Length: "2s", Redis: "7.0.15", Contenders: []Contender{
		{"v4", contender.Ours, "compare & delete"}, {"redsync", contender.Peer, ""}, {"mutex", contender.Limit, ""},
	}}
	rates := map[string]float64{"v4": 4000, "redsync": 2000, "mutex": 80000}
	for _, waiters := range []int{32, 1, 512} {
		p := figures.Point{Workload: worker.Hot, Processes: 2, Waiters: waiters}
		if waiters == 32 {
			r.Main = append(r.Main, p)
		}
		for _, c := range r.Contenders {
			for round := range 3 {
				rate := rates[c.Name] + float64(round)
				p99 := 1e6 / rate
				r.Add(p, c.Name, c.Kind, figures.Sample{Round: round,
					Values: map[string]*float64{figures.Rate: &rate, figures.P99: &p99}})
			}
		}
	}
	r.Summarize()
	return r
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	forged().Print(&out)
	text := out.String()
	assert.Contains(t, text, "2 cores, Redis 7.0.15, ; medians of 3 rounds of 2s")
	assert.Regexp(t, `(?m)^ v4 +4,001 +2\.00 +– +250 +0\.50 `, text)
	assert.Regexp(t, `(?m)^ mutex +80,001 +40 `, text)
	assert.Regexp(t, `(?m)^ +2 × 1 +2 × 32 +2 × 512 $`, text)
	assert.Less(t, strings.Index(text, " v4 "), strings.Index(text, " redsync "), "ours come first")
}

func TestPrintSaysWhatIsBroken(t *testing.T) {
	r := forged()
	r.Tables[0].Rows[0].Samples[1].Broken = "unit 7 was sold twice"
	r.Tables[1].Rows[1].Samples[0].Failed, r.Tables[1].Rows[1].Samples[0].Error = 3, "away"
	var out bytes.Buffer
	r.Print(&out)
	assert.Contains(t, out.String(), "v4 is BROKEN at hot, 2 × 32: unit 7 was sold twice")
	assert.Contains(t, out.String(), "redsync: operations failed, 3 at hot, 2 × 1; the first of them: away")
	out.Reset()
	require.NoError(t, r.WriteHTML(&out))
	assert.Contains(t, out.String(), `<p class="broken">v4 is BROKEN`)
}

func TestPageStandsAlone(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, forged().WriteHTML(&out))
	text := out.String()
	assert.NotRegexp(t, `<script|<link|<img|https?://|url\(`, text, "it asks for nothing, and runs nothing")
	assert.Contains(t, text, "prefers-color-scheme: dark")
	assert.Contains(t, text, "compare &amp; delete")
	assert.NotContains(t, text, "NaN")
	assert.NotContains(t, text, "Inf")
	assert.Len(t, regexp.MustCompile(`class="line"`).FindAllString(text, -1), 2*2, "rate and p99, of v4 and redsync")
}

func TestBars(t *testing.T) {
	svg := string(bars(forged().Tables[0], figures.Metrics[0]))
	order := regexp.MustCompile(`class="name"[^>]*>(\w+)<`).FindAllStringSubmatch(svg, -1)
	require.Len(t, order, 3)
	assert.Equal(t, []string{"mutex", "v4", "redsync"}, []string{order[0][1], order[1][1], order[2][1]}, "best first")
	assert.Equal(t, 1, strings.Count(svg, `class="cut"`), "the mutex would make the others tiny")
}

func TestNumbers(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0.00", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 1234567: "1,234,567",
	} {
		assert.Equal(t, want, number(&figures.Figure{Median: value}))
	}
	assert.Equal(t, "–", number(nil))
}
