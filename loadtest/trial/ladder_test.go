package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cause"
	"stockapi/loadtest/history"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/trial/shop"
)

// An exception is a cell in which a trial of a rung breaks other verdicts than the scenario of that name does.
type exception struct {
	letters string
	atMost  bool // a race decides: it may break fewer
	why     string
}

// The reasons for the exceptions.
var (
	writtenBefore = exception{"", false, "the release is held after the write: the second reads what the first wrote"}
	thirdSells    = exception{"SER", false, "a third order comes while the second is at work, and sells the same unit"}
	mayNotice     = exception{"SE", true, "it is stopped before its last look at its lease, and may notice the loss"}
	mayNoticeToo  = exception{"E", true, mayNotice.why}
)

// ladder lists the rungs, each tried as a foreign service without hooks and traces: the closest rung that the trial
// finds, where its letters differ from the matrix, and whether its lock is learned as another rung's is. Such a rung is
// tried in a run of the league alone.
var ladder = []struct {
	rung, closest string
	not           map[string]exception
	again         bool
}{
	{"v1", "v1", nil, false},
	{"v2", "v2", nil, true},
	{"v3", "v3", map[string]exception{"delayed-release": writtenBefore, "check-delete-gap": thirdSells}, false},
	{"v4", "v4", map[string]exception{"delayed-release": writtenBefore}, false},
	{"v5", "v5.5", nil, true},
	{"v5.5", "v5.5", map[string]exception{"pause": mayNotice}, false},
	{"v7", "v5.5", map[string]exception{"pause": mayNotice}, true},
	{"v15", "v15", map[string]exception{"pause": mayNoticeToo}, false},
	{"v17", "v17", nil, false},
}

// ofMatrix lists the cells that a trial shares with the matrix. The counterpart of delayed-release is late-release:
// there the work outlasts the lease, here the release is held, and in both the release comes under the next holder.
const ofMatrix = "one-instance,two-instances,slow-work,pause,crash 1,crash 2,delayed-release,check-delete-gap"

// The rungs, tried as a user's shop, break the same verdicts as in the matrix.
func TestTrialsOfTheLadder(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	stockapi, err := buildStockapi()
	require.NoError(t, err)
	for _, one := range ladder {
		if one.again && !isLeague() {
			continue
		}
		t.Run(one.rung, func(t *testing.T) {
			t.Parallel()
			o := options(t, stockapi, "--redis-timeout", "4s", "--addr", "127.0.0.1:{port}", "--redis", "{redis}")
			order, err := shop.ParseRequest("POST /" + one.rung + "/decrease?product={product}&ttl=2s&wait=5s")
			require.NoError(t, err)
			o.Shop.Order, o.Only = order, strings.Split(ofMatrix, ",")
			p, cells := try(t, o)
			assert.Equal(t, one.closest, p.Closest(), p.String())
			asked := 0
			for _, c := range cells {
				name, _, _ := strings.Cut(c.Scenario, " ")
				in, known := scenario.Table.Find(strings.Replace(name, "delayed-release", "late-release", 1))
				require.True(t, known, name)
				if c.NotTested != nil {
					continue // the trial has no such fault for this rung
				}
				asked++
				want, may := one.not[name]
				if !may {
					expected, known := in.Expected(one.rung)
					require.True(t, known, name)
					want.letters = lettersOf(expected.Results)
				}
				got := broken(c)
				if want.atMost {
					assert.Empty(t, strings.Trim(got, want.letters), "%s: %s", c.Scenario, got)
					continue
				}
				assert.Equal(t, want.letters, got, "%s: %v", c.Scenario, c.Findings)
			}
			assert.NotZero(t, asked)
		})
	}
}

// lettersOf returns the letters of the verdicts that a scenario breaks, of those that a trial judges.
func lettersOf(results map[history.Verdict]history.Result) string {
	c := &history.Cell{}
	for _, verdict := range cause.Asked {
		c.Findings = append(c.Findings, history.Finding{Verdict: verdict, Result: results[verdict]})
	}
	return broken(c)
}
