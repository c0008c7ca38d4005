package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/report/terminal/terminaltest"
)

// The program on a terminal leaves its header and its result there, in lines that fit.
func TestARunOnATerminalLeavesItsResultAlone(t *testing.T) {
	backendtest.Long(t)
	t.Parallel()
	const rungs = "v1,v1.5,v2,v3,v4,v5,v5-as-printed,v6"
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			url := bigShop().serve(t)
			tty, screen, closed := terminaltest.Open(t, size[0], size[1])
			code := execute(t.Context(), []string{"--targets", url + "," + url, "--requests", "10", "--stock", "3",
				"--scenarios", "one-instance,two-instances", "--rungs", rungs}, tty, tty)
			closed()
			said := screen.String()
			assert.False(t, screen.Wrapped(), said)
			assert.True(t, strings.HasPrefix(said, "run  "), said)
			assert.NotContains(t, said, "to come")
			assert.NotContains(t, said, " cells; ")
			if !tooSlow(code, said) {
				assert.Equal(t, asExpected, code, said)
				assert.True(t, strings.HasSuffix(said, "as expected (16 of 16 cells)"), said)
			}
		})
	}
}
