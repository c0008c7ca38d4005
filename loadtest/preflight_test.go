package main

import (
	"testing"

	"stockapi/loadtest/scenario"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A run is refused only if none of its cells can be run.
func TestPreflight(t *testing.T) {
	for _, c := range []struct {
		flags            runFlags
		scenarios, rungs []string
		why              string // empty: it is not refused
	}{
		{runFlags{Backend: "embedded", SQL: "sqlite"}, []string{"failover"}, []string{"v5.5"},
			"none of the cells can be run here: the first needs redis-server; use --backend redis-server, or"},
		{runFlags{Backend: "embedded", SQL: "sqlite"}, []string{"failover", "crash"}, []string{"v5.5"}, ""},
		{runFlags{Backend: "embedded", SQL: "sqlite"}, []string{"redis-down"}, []string{"v12"},
			"needs MariaDB or PostgreSQL: a lock in a file has no server, and no link to one; use --sql with a server"},
		{runFlags{Backend: "embedded", SQL: "mysql://h/shop"}, []string{"node-restart"}, []string{"v12"},
			"needs a database server of its own: --sql mariadb or --sql postgres; choose other"},
		{runFlags{Backend: "embedded", SQL: "sqlite"}, []string{"two-instances"}, []string{"v12"}, ""},
		{runFlags{Targets: []string{"http://a"}}, []string{"crash"}, nil, "needs instances of its own; leave out --targets"},
		{runFlags{Targets: []string{"http://a"}}, []string{"two-instances"}, nil, "needs two targets; name two with"},
		{runFlags{Targets: []string{"http://a"}}, []string{"one-instance", "two-instances"}, nil, ""},
	} {
		specs, err := scenario.Table.Select(c.scenarios, c.rungs, 2, 1)
		require.NoError(t, err)
		if err = c.flags.preflight(specs); c.why == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.why)
		}
	}
}
