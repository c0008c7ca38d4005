package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pythonShop starts the example in another language and returns its URL. It ends with the test.
func pythonShop(t *testing.T, args ...string) (url string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil && !strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "python3") {
		t.Skip("no python3 on PATH")
	}
	require.NoError(t, err)
	cmd := exec.Command(python, append([]string{"../examples/shop.py"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PORT=0"), os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
}

func TestAShopInAnotherLanguageFulfilsTheContract(t *testing.T) {
	for _, args := range [][]string{nil, {"--naive"}} {
		code, stdout, stderr := loadtest(t, "contract", pythonShop(t, args...))
		assert.Equal(t, asExpected, code, stdout+stderr)
		assert.Contains(t, stdout, "all that is needed is there")
	}
}

func TestAnAtomicShopInAnotherLanguageHolds(t *testing.T) {
	url := pythonShop(t)
	code, stdout, stderr := measured(t, "--targets", url, "--scenarios", "one-instance", "--rungs", "v17")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `v17 atomic +1 ok +100 +200`, stdout)
	code, stdout, _ = measured(t, "--targets", url, "--scenarios", "one-instance", "--rungs", "v0")
	assert.Equal(t, surprised, code, "it was expected to break, and did not")
	assert.Contains(t, stdout, "stock was expected to be BROKEN and is ok")
}

func TestANaiveShopInAnotherLanguageIsFoundOut(t *testing.T) {
	url := pythonShop(t, "--naive")
	const twice = `python sold unit \d+ to order \d+ at \+\S+ s; \S+ sold unit \d+ again to order \d+ at`
	code, stdout, stderr := measured(t, "--targets", url, "--scenarios", "one-instance", "--rungs", "v17")
	assert.Equal(t, surprised, code, stdout+stderr)
	assert.Regexp(t, `v17 atomic +1 BROKEN stock`, stdout)
	assert.Regexp(t, twice, strings.Join(strings.Fields(stdout), " "), "both buyers are named")
	code, stdout, stderr = measured(t, "--targets", url, "--scenarios", "one-instance", "--rungs", "v0")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Regexp(t, `v0 nolock +1 BROKEN stock`, stdout)
}

// The example is short, or nobody reads it.
func TestTheExampleIsShort(t *testing.T) {
	b, err := os.ReadFile("../examples/shop.py")
	require.NoError(t, err)
	assert.Less(t, strings.Count(string(b), "\n"), 50)
}
