//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// workshopDesk stands for the desk of a reader of WORKSHOP.md: a copy of the module to work in, and some terminals.
//
// What the reader types is run by a shell as it stands, but for two things. `go run ./cmd/stockapi`,
// `go run ./loadtest` and `go run ./cmd/explore` are programs built before, since linking them each time takes longer
// than all the rest; and the ports that the text names are free ones, also where they are a default and where they are
// promised, so that nothing else on this machine is met.
type workshopDesk struct {
	module    string
	tmp       tempDir
	bin       string
	env       []string
	ports     map[string]string
	terminals map[int]*workshopTerminal
}

// workshopTime bounds a script, and the time until a terminal says what is promised of it.
const workshopTime = 5 * time.Minute

// desks bounds the desks in use: most of the time a lease is waited for at each, but a command has to find a processor
// soon, or its leases end while it works.
var desks = make(chan struct{}, 4)

// newDesk sets up a desk when one is free. leave has to end it.
func newDesk(t *testing.T) *workshopDesk {
	t.Helper()
	desks <- struct{}{}
	t.Cleanup(func() { <-desks })
	dir, service := t.TempDir(), stockapi(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // a database server does not run as root
	d := &workshopDesk{
		module: filepath.Join(dir, "stockapi"), tmp: tempDir(filepath.Join(dir, "tmp")),
		ports: freePorts(t, "5000", "5010", "6390"), terminals: map[int]*workshopTerminal{},
	}
	bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	d.bin = bin
	for _, made := range []string{bin, home, string(d.tmp), d.module} {
		require.NoError(t, os.Mkdir(made, 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "loadtest"))) // see TestMain
	require.NoError(t, os.Symlink(service, filepath.Join(bin, "stockapi")))
	// On a terminal curl shows no progress.
	require.NoError(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\n"), 0o600))
	d.env = append(os.Environ(), "LOADTEST_TEST_MAIN=1", "CURL_HOME="+home, "TMPDIR="+string(d.tmp),
		"STOCKAPI_ADDR="+d.here("127.0.0.1:5000"), "STOCKAPI_EMBEDDED_ADDR="+d.here("127.0.0.1:6390"),
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return d
}

var number = regexp.MustCompile(`\b\d+\b`)

// here puts the ports of this desk into what the text says.
func (d *workshopDesk) here(text string) string {
	return number.ReplaceAllStringFunc(text, func(n string) string {
		if p, ok := d.ports[n]; ok {
			return p
		}
		return n
	})
}

const goRunExplore = "go run ./cmd/explore"

var built = strings.NewReplacer("go run ./cmd/stockapi", "stockapi", "go run ./loadtest", "loadtest", goRunExplore,
	"explore")

// needsSources matches the scripts that need more than the programs.
var needsSources = regexp.MustCompile(`\b(go|make) |\b(cmd|examples|internal|loadtest|scripts)/`)

// provide puts on the desk what a block needs and what is not there: the explorer, and a copy of the sources. Most
// blocks need neither, and hundreds of files are a third of the work of the others.
func (d *workshopDesk) provide(b *workshopBlock) error {
	if strings.Contains(b.script, goRunExplore) {
		path, err := buildExplorer()
		if err == nil {
			err = os.Symlink(path, filepath.Join(d.bin, "explore"))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if !needsSources.MatchString(built.Replace(b.script)) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(d.module, "go.mod")); err == nil {
		return nil
	}
	if out, err := exec.Command("cp", "-r", "../cmd", "../examples", "../internal", "../loadtest", "../scripts",
		"../Makefile", "../go.sum", "../go.mod", d.module).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// shell returns the command that runs a script.
func (d *workshopDesk) shell(ctx context.Context, script string, output *tape) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", d.here(built.Replace(script)))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.module, d.env, output, output
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, workshopTime
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// do runs a block, and returns an error if its exit code is another or a promise is not kept.
func (d *workshopDesk) do(ctx context.Context, b *workshopBlock) error {
	ctx, cancel := context.WithTimeout(ctx, workshopTime)
	defer cancel()
	if err := d.provide(b); err != nil {
		return err
	}
	promises := make([]string, len(b.promises))
	for i, p := range b.promises {
		promises[i] = d.here(p)
	}
	if b.terminal > 0 {
		return d.open(ctx, b.terminal, b.script, promises)
	}
	if err := d.runBlock(ctx, b, promises); err != nil {
		return err
	}
	for number, said := range b.said {
		if err := d.said(ctx, number, said); err != nil {
			return err
		}
	}
	return nil
}

// runBlock runs a script, and returns an error if its exit code is another or a promise is not kept.
func (d *workshopDesk) runBlock(ctx context.Context, b *workshopBlock, promises []string) error {
	cmd, output := d.run(ctx, b)
	for range 10 {
		code, said := cmd.ProcessState.ExitCode(), output.String()
		asPromised := code == b.exit && len(broken(promises, said)) == 0
		if asPromised || !tooSlow(code, said) && !strings.Contains(said, "~ longer leases") {
			break
		}
		cmd, output = d.run(ctx, b)
	}
	if cmd.ProcessState.ExitCode() != b.exit {
		return fmt.Errorf("%s, not exit code %d:\n%s\n%s", cmd.ProcessState, b.exit, b.script, output)
	}
	return kept(promises, b.script, output)
}

// run runs the script of a block, and waits for what it left in the background, as long as that may still print.
func (d *workshopDesk) run(ctx context.Context, b *workshopBlock) (*exec.Cmd, *tape) {
	output := &tape{}
	cmd := d.shell(ctx, b.script, output)
	_ = cmd.Run()
	return cmd, output
}

func kept(promises []string, script string, output *tape) error {
	if missing := broken(promises, output.String()); len(missing) > 0 {
		return fmt.Errorf("promised, but not said: %q, by\n%s\nwhich said\n%s", missing, script, output)
	}
	return nil
}

// leave ends all terminals. Nothing must be left then, neither process nor temporary file.
func (d *workshopDesk) leave(t *testing.T) {
	t.Helper()
	var errs []error
	for number := range d.terminals {
		errs = append(errs, d.shut(number))
	}
	assert.NoError(t, errors.Join(errs...))
	assert.Eventually(t, func() bool { return len(d.tmp.left(t)) == 0 }, 20*time.Second, 20*time.Millisecond,
		"something is left over")
}

// freePorts finds a free port for each of the given ones.
func freePorts(t *testing.T, ports ...string) map[string]string {
	t.Helper()
	free := map[string]string{}
	for _, p := range ports {
		free[p] = strconv.Itoa(backendtest.FreePort(t))
	}
	return free
}
