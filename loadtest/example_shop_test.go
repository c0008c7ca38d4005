package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stockapi/internal/backend/backendtest"
)

// The example in another language fulfils the contract, and is judged like any service: the atomic one sells no unit
// twice, and the naive one is found out, whatever they claim to be.
func TestAShopInAnotherLanguage(t *testing.T) {
	backendtest.Long(t)
	const twice = `python sold unit \d+ to order \d+ at \+\S+ s; \S+ sold unit \d+ again to order \d+ at`
	for _, c := range []struct {
		flags []string
		rung  string
		code  int
		says  []string
	}{
		{nil, "v17", asExpected, []string{`v17 atomic ok 100 200`}},
		{nil, "v0", surprised, []string{`stock was expected to be BROKEN and is ok`}},
		{[]string{"--naive"}, "v17", surprised, []string{`v17 atomic BROKEN stock`, twice}},
		{[]string{"--naive"}, "v0", asExpected, []string{`v0 nolock BROKEN stock`}},
	} {
		t.Run(strings.Join(append(c.flags, c.rung), " "), func(t *testing.T) {
			need(t, "python3")
			cmd := exec.Command("python3", append([]string{"../examples/shop.py"}, c.flags...)...)
			cmd.Env, cmd.Stderr = append(os.Environ(), "PORT=0"), os.Stderr
			url := firstLine(t, cmd)
			code, stdout, stderr := loadtest(t, "contract", url)
			assert.Equal(t, asExpected, code, stdout+stderr)
			assert.Contains(t, stdout, "everything needed is there")
			code, stdout, stderr = untilMeasured(t, loadtest, "--targets", url, "--scenarios", "one-instance", "--rungs", c.rung)
			assert.Equal(t, c.code, code, stdout+stderr)
			for _, says := range c.says {
				assert.Regexp(t, says, strings.Join(strings.Fields(stdout), " "))
			}
		})
	}
}
