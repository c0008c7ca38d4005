package lock

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSourceOfEachRung(t *testing.T) {
	t.Parallel()
	for _, r := range Ladder() {
		code := r.Source()
		assert.True(t, strings.HasPrefix(code, "package lock\n"), r.Number)
		assert.NotContains(t, code, "\n//", r.Number)
	}
	for number, function := range map[string]string{"v0": "noLock", "v4": "luaRelease", "v5": "watchdog",
		"v7": "reentrant", "v9": "multilock", "v9-naive": "oneByOne", "v11-two": "semaphore", "v19": "combining"} {
		assert.Contains(t, rung(t, number).Source(), "\nfunc "+function+"(", number)
	}
}
