package trial

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
)

// needsNetwork skips a test where a shop cannot have a network of its own, unless STOCKAPI_REQUIRE has that.
func needsNetwork(t *testing.T) {
	t.Helper()
	o := options(t, "false")
	o.Shop.Literal.Port = 8080
	trial, ctx, err := New(t.Context(), o)
	require.NoError(t, err)
	_, err = trial.Learn(ctx)
	require.NoError(t, trial.Close())
	require.Error(t, err)
	if !strings.Contains(err.Error(), "need a network namespace") {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), "network") {
		require.NoError(t, err)
	}
	t.Skip(err)
}

// A shop with its Redis and its port in its code gets the verdicts and causes that it gets when both are given to it.
func TestTrialOfLiteralAddresses(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.Long(t)
	needsNetwork(t)
	const cells = "two-instances,pause,crash 1,delayed-release 1,cut-off,hang-up 2"
	shops := []planted{
		{file: inPython, kind: "right", cell: "crash 1,server-restart"}, // a race for a release that does not compare
		{file: inPython, kind: "del-without-look", cell: cells},
	}
	if isLeague() {
		shops = append(shops, planted{file: inPython, kind: "dies-in-a-crowd", cell: "two-instances"},
			planted{file: inGo, kind: "-renew", cell: "two-instances,cut-off"})
	}
	for _, s := range shops {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			o := s.options(t)
			given, cells := try(t, o)
			o.Shop.Literal = cluster.Literal{Redis: "127.0.0.1:6379", Port: 8080}
			o.Shop.Argv = append([]string{"env", "REDIS_URL=redis://localhost:6379", "PORT=8080"}, o.Shop.Argv...)
			p, inCode := try(t, o)
			assert.Equal(t, given.Locks, p.Locks)
			require.Len(t, inCode, len(cells))
			for i, c := range cells {
				if !c.IsVoid() && !inCode[i].IsVoid() {
					assert.Equal(t, found(c), found(inCode[i]), c.Scenario)
				}
			}
		})
	}
}

// A literal address of a database leads to its link: its requests are held.
func TestTrialOfALiteralDatabase(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	needsNetwork(t)
	kinds := []string{backendtest.Postgres}
	if isLeague() {
		kinds = append(kinds, backendtest.MariaDB)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := sqlOptions(t, backendtest.StartSQL(t, kind), "release-first")
			o.Only = []string{"after-release"}
			o.Shop.Literal = cluster.Literal{Redis: "192.168.150.101:6379", Database: "192.168.150.102:5432", Port: 80}
			for i, arg := range o.Shop.Argv {
				o.Shop.Argv[i] = strings.Replace(arg, "{db_host}:{db_port}", "192.168.150.102:5432", 1)
			}
			o.Shop.Argv = append([]string{"env", "REDIS_URL=redis://192.168.150.101:6379", "PORT=80"}, o.Shop.Argv...)
			_, cells := try(t, o)
			require.Len(t, cells, 1)
			assert.Equal(t, []string{"S", "it writes after it has released the lock"}, found(cells[0]))
		})
	}
}

// found returns the letters of a cell, and its cause.
func found(c *history.Cell) (all []string) {
	all = []string{broken(c)}
	if c.Defect != nil {
		all = append(all, c.Defect.Cause)
	}
	if c.NotTested != nil {
		all = append(all, c.NotTested.Reason)
	}
	return all
}
