package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/contract/contracttest"
)

func TestTheContractOfAShop(t *testing.T) {
	shop := contracttest.NewInstance(contracttest.NewStore(), "a")
	code, stdout, stderr := loadtest(t, "contract", serve(t, shop)+"/")
	assert.Equal(t, asExpected, code, stdout+stderr)
	assert.Contains(t, stdout, "all that is needed is there")

	lacks := contracttest.NewInstance(contracttest.NewStore(), "a")
	lacks.Tell = func(o *contracttest.Order) { delete(o.Doc, "units") }
	code, stdout, _ = loadtest(t, "contract", serve(t, lacks))
	assert.Equal(t, surprised, code)
	assert.Regexp(t, `decrease: 200 +must +missing: units +the sale proves nothing: stock cannot be judged`, stdout)
}

func TestAContractThatCannotBeAskedFor(t *testing.T) {
	for url, want := range map[string]string{
		"localhost:5000":     "contract: name a URL such as",
		"http://127.0.0.1:1": "does not answer: start the service, or name where it listens",
	} {
		code, _, stderr := loadtest(t, "contract", url)
		assert.Equal(t, couldNotRun, code)
		assert.Regexp(t, `^loadtest: .*`+want+`.*\n$`, stderr)
	}
}

// What loadtest needs of a service, stockapi has: on a rung without a lock, on one with, on one with fencing tokens.
func TestStockapiFulfilsTheContract(t *testing.T) {
	t.Setenv("LOADTEST_ADMIN_TOKEN", "secret")
	cmd := exec.Command(stockapi(t), "--redis", "embedded", "--addr", "127.0.0.1:0", "--log-format", "json",
		"--admin-token", "secret",
		"--exit-with-stdin")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	var ready struct{ Msg, URL string }
	for lines := bufio.NewScanner(log); ready.Msg != "ready" && lines.Scan(); {
		_ = json.Unmarshal(lines.Bytes(), &ready)
	}
	require.NotEmpty(t, ready.URL)
	go func() { _, _ = bufio.NewReader(log).WriteTo(io.Discard) }() // a full pipe would hold it up
	for _, rung := range []string{"", "v0.5", "v4", "v15", "v17"} {
		code, stdout, stderr := loadtest(t, "contract", ready.URL, "--rung="+rung)
		assert.Equal(t, asExpected, code, stdout+stderr)
		assert.NotContains(t, stdout, "wrong")
	}
	code, _, stderr := loadtest(t, "contract", ready.URL, "--rung=v155")
	assert.Equal(t, couldNotRun, code)
	assert.Regexp(t, `does not offer v155; it offers v0, .*, did you mean "v1\.5"\?\n$`, stderr)
	t.Setenv("LOADTEST_ADMIN_TOKEN", "")
	code, _, stderr = loadtest(t, "contract", ready.URL)
	assert.Equal(t, couldNotRun, code)
	assert.Contains(t, stderr, "give it by LOADTEST_ADMIN_TOKEN")
}
