package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend"
	"stockapi/internal/backend/backendtest"
)

// asUser starts a redis-server with the user of an ACL command, and returns its URL for that user.
func asUser(t *testing.T, command string) (url string) {
	t.Helper()
	backendtest.Require(t)
	s := backendtest.StartRedis(t)
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	require.NoError(t, backendtest.Client(t, s).Do(t.Context(), args...).Err())
	return "redis://shop:PASSWORD@" + backend.Address(s.URL)
}

// The ACL that docs/configuration.md gives is enough for every rung that needs only Redis, also while orders wait, and
// for an admin.
func TestTheDocumentedACL(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	url := asUser(t, regexp.MustCompile(`(?m)^ACL SETUSER shop .*`).FindString(string(text)))
	r := start(t, "--redis", url, "--redlock", url, "--redlock-timeout", "2s", "--redis-timeout", "10s")
	sold := 0
	rungs := r.rungs(t)
	for number, rung := range rungs {
		if rung["available"] != true {
			continue // it needs more than Redis
		}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				a := r.post(t, "/"+number+"/decrease?wait=20s&work=50ms")
				assert.Equal(t, http.StatusOK, a.status, "%s: %s", number, a.text)
			})
		}
		both.Wait()
		sold += 2
	}
	assert.Greater(t, sold, 40)
	for _, level := range []string{"WARN", "ERROR"} {
		assert.NotContains(t, r.logs.text(), `"level":"`+level+`"`)
	}
	assert.Nil(t, rungs["v7"]["note"])
	assert.Equal(t, http.StatusOK, r.do(t, http.MethodPut, "/stock/10000", strings.NewReader(`{"quantity":3}`)).status)
	assert.Equal(t, http.StatusOK, r.do(t, http.MethodDelete, "/locks/10000", nil).status)
}

// rungs returns the entries of /rungs by their numbers.
func (r *running) rungs(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, one := range r.do(t, http.MethodGet, "/rungs", nil).body["rungs"].([]any) {
		rung := one.(map[string]any)
		all[rung["number"].(string)] = rung
	}
	return all
}

// A user without channels, the default of Redis 7, can sell. But rungs whose releases send messages report that their
// waiters will not get them.
func TestAUserWithoutChannels(t *testing.T) {
	r := start(t, "--redis", asUser(t, "ACL SETUSER shop on >PASSWORD ~* +@all"), "--redis-timeout", "10s")
	var noted []string
	for number, rung := range r.rungs(t) {
		if note, _ := rung["note"].(string); strings.Contains(note, "channel") {
			noted = append(noted, number)
		}
	}
	assert.ElementsMatch(t, []string{"v7", "v7-cached", "v8", "v18", "v19"}, noted)
	assert.Contains(t, r.logs.text(), "the Redis user may not use the channels of v7, v7-cached, v8, v18, v19")
	assert.Equal(t, 200, r.do(t, http.MethodGet, "/readyz", nil).status, "the others do without")
}

// The log warns of a Redis that evicts locks, also of a node of Redlock.
func TestARedisThatEvictsLocks(t *testing.T) {
	s := backendtest.StartEmbedded(t)
	backendtest.Require(t)
	evicts := backendtest.StartRedis(t)
	for policy, warned := range map[string]bool{"allkeys-lru": true, "volatile-ttl": true, "noeviction": false} {
		set := backendtest.Client(t, evicts).ConfigSet(t.Context(), "maxmemory-policy", policy)
		require.NoError(t, set.Err())
		for _, args := range [][]string{{"--redis", evicts.URL}, {"--redis", s.URL, "--redlock", evicts.URL}} {
			r := start(t, append(args, "--redis-timeout", "10s")...)
			assert.Equal(t, warned, strings.Contains(r.logs.text(), "evicts locks"), "%s %v", policy, args)
		}
	}
}
