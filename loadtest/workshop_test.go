//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

func readDocument(t *testing.T, path string) (document string, parts []*workshopPart) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	parts, err = partsOf(string(data))
	require.NoError(t, err, path)
	return string(data), parts
}

// doParts runs the parts of a document side by side: see desks.
func doParts(t *testing.T, parts []*workshopPart) {
	t.Helper()
	need(t, "bash")
	var all sync.WaitGroup
	for _, p := range parts {
		if len(p.blocks) > 0 {
			all.Go(func() { t.Run(p.title, p.test) })
		}
	}
	all.Wait()
}

func (p *workshopPart) test(t *testing.T) {
	d := newDesk(t)
	defer d.leave(t)
	for _, b := range p.blocks {
		if b.other {
			continue
		}
		skipped := false
		if !t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			for _, program := range b.programs() {
				need(t, program)
			}
			switch b.needs {
			case redisPy:
				d.providePython(t, "python3", "redis")
			case psycopg2:
				d.providePython(t, "python3-psycopg2", "redis, psycopg2")
				d.providePostgres(t)
			}
			require.NoError(t, d.do(t.Context(), b))
		}) || skipped {
			return // later blocks depend on this one
		}
	}
}

// The needs of the shops of examples: a client of Redis, and a Redis; psycopg2 adds a PostgreSQL.
const redisPy, psycopg2 = "redis-py", "psycopg2"

// programs returns the programs that a block needs and that may be missing.
func (b *workshopBlock) programs() (names []string) {
	switch b.needs {
	case "":
	case redisPy:
		names = append(names, "redis-server")
	case psycopg2:
		names = append(names, "redis-server", "psql")
	default:
		names = append(names, b.needs)
	}
	for _, name := range []string{"curl", "gunzip", "jq", "make", "python3"} {
		if strings.Contains(b.script, name+" ") {
			names = append(names, name)
		}
	}
	return names
}

// providePython puts Debian's Python first on the desk's PATH if the first one lacks the modules: only Debian's Python
// has Debian's modules. Without any it skips the test, or fails it if STOCKAPI_REQUIRE has the name.
func (d *workshopDesk) providePython(t *testing.T, name, modules string) {
	t.Helper()
	const debian = "/usr/bin/python3"
	has := func(python string) bool { return exec.Command(python, "-c", "import "+modules).Run() == nil }
	switch {
	case has("python3"):
	case has(debian):
		if err := os.Symlink(debian, filepath.Join(d.bin, "python3")); !errors.Is(err, fs.ErrExist) {
			require.NoError(t, err)
		}
	case slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), name):
		t.Fatalf("no python3 can import %s, and STOCKAPI_REQUIRE asks for %s", modules, name)
	default:
		t.Skipf("no python3 can import %s", modules)
	}
}

// providePostgres starts a PostgreSQL at the desk's port 5432, until the test ends.
func (d *workshopDesk) providePostgres(t *testing.T) {
	t.Helper()
	server, err := url.Parse(backendtest.StartSQL(t, backendtest.Postgres).DSN)
	require.NoError(t, err)
	password, _ := server.User.Password()
	d.ports["5432"], d.env = server.Port(), append(d.env, "PGPASSWORD="+password)
}

// workshopDesk stands for the desk of a reader of WORKSHOP.md: a copy of the module to work in, and some terminals.
//
// A shell runs the reader's commands verbatim, with two exceptions. `go run ./cmd/stockapi`, `go run ./loadtest` and
// `go run ./cmd/explore` are replaced by built programs, since linking takes longer than all the rest; and ports in the
// text, in defaults and in promises are replaced by free ones, so that no test meets anything else on this machine.
type workshopDesk struct {
	module    string
	tmp       tempDir
	bin       string
	env       []string
	ports     map[string]string
	terminals map[int]*workshopShell
}

// workshopTime bounds a script, and the time until a terminal has printed its promises.
const workshopTime = 5 * time.Minute

// saidTime bounds the time from the end of a script until a terminal has printed the promises after it.
const saidTime = 10 * time.Second

// desks bounds the desks in use. They mostly wait for a lease to expire, but with too many at once a command gets no
// processor in time, and loses its leases at work.
var desks = make(chan struct{}, 4)

// newDesk sets up a desk as soon as one is free. The caller must call leave.
func newDesk(t *testing.T) *workshopDesk {
	t.Helper()
	desks <- struct{}{}
	t.Cleanup(func() { <-desks })
	dir, service := t.TempDir(), stockapi(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // a database server does not run as root
	d := &workshopDesk{
		module: filepath.Join(dir, "stockapi"), tmp: tempDir(filepath.Join(dir, "tmp")), bin: filepath.Join(dir, "bin"),
		ports: map[string]string{}, terminals: map[int]*workshopShell{},
	}
	for _, port := range []string{"5000", "5010", "6390"} {
		d.ports[port] = strconv.Itoa(backendtest.FreePort(t))
	}
	home := filepath.Join(dir, "home")
	for _, folder := range []string{d.bin, home, string(d.tmp), d.module} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(d.bin, "loadtest"))) // see TestMain
	require.NoError(t, os.Symlink(service, filepath.Join(d.bin, "stockapi")))
	// On a terminal curl shows no progress.
	require.NoError(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\n"), 0o600))
	d.env = append(os.Environ(), "LOADTEST_TEST_MAIN=1", "CURL_HOME="+home, "TMPDIR="+string(d.tmp),
		"STOCKAPI_ADDR="+d.here("127.0.0.1:5000"), "STOCKAPI_EMBEDDED_ADDR="+d.here("127.0.0.1:6390"),
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "PATH="+d.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return d
}

var number = regexp.MustCompile(`\b\d+\b`)

// here replaces the ports in a text by those of this desk.
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

// provide adds what a block needs: the explorer, and a copy of the sources. Most blocks need neither, and copying
// hundreds of files is a third of the work of the others.
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

// do runs a block, and returns an error if its exit code differs or a promise is broken. The command of a terminal
// keeps running.
func (d *workshopDesk) do(ctx context.Context, b *workshopBlock) error {
	ctx, cancel := context.WithTimeout(ctx, workshopTime)
	defer cancel()
	if err := d.provide(b); err != nil {
		return err
	}
	if b.terminal > 0 {
		x, err := d.start(context.WithoutCancel(ctx), b.script)
		if err != nil {
			return err
		}
		d.terminals[b.terminal] = x
		return x.waitFor(ctx, d.here(strings.Join(b.promises, "\n")))
	}
	if err := d.runScript(ctx, b); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, saidTime)
	defer cancel()
	for number, said := range b.said {
		x, ok := d.terminals[number]
		if !ok {
			return fmt.Errorf("nothing runs in terminal %d", number)
		}
		if err := x.waitFor(ctx, d.here(strings.Join(said, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// runScript runs a script to its end, and again while it breaks a promise because the machine was too slow.
func (d *workshopDesk) runScript(ctx context.Context, b *workshopBlock) (err error) {
	retry(func() bool {
		var x *workshopShell
		if x, err = d.start(ctx, b.script); err != nil {
			return true
		}
		<-x.gone
		code := x.cmd.ProcessState.ExitCode()
		if err = x.kept(d.here(strings.Join(b.promises, "\n"))); code != b.exit {
			err = fmt.Errorf("%s, not exit code %d:\n%s\n%s", x.cmd.ProcessState, b.exit, b.script, &x.output)
		}
		said := x.output.String()
		return err == nil || !tooSlow(code, said) && !strings.Contains(said, "~ longer leases")
	})
	return err
}

// leave ends all terminals, and asserts that no process and no temporary file is left.
func (d *workshopDesk) leave(t *testing.T) {
	t.Helper()
	for _, x := range d.terminals {
		assert.NoError(t, x.end())
	}
	assert.Eventually(t, func() bool { return len(d.tmp.left(t)) == 0 }, 20*time.Second, 20*time.Millisecond,
		"something is left over")
}

// workshopShell is a shell that runs a script.
type workshopShell struct {
	cmd    *exec.Cmd
	output tape
	gone   chan struct{} // closed when the script and its background processes have ended
}

// start starts a script.
func (d *workshopDesk) start(ctx context.Context, script string) (*workshopShell, error) {
	x := &workshopShell{gone: make(chan struct{})}
	x.cmd = exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", d.here(built.Replace(script)))
	x.cmd.Dir, x.cmd.Env, x.cmd.Stdout, x.cmd.Stderr = d.module, d.env, &x.output, &x.output
	x.cmd.SysProcAttr, x.cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, workshopTime
	x.cmd.Cancel = func() error { return syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL) }
	if err := x.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(x.gone)
		_ = x.cmd.Wait() // an instance may be meant to crash
	}()
	return x, nil
}

// kept returns an error if the output does not keep a promise.
func (x *workshopShell) kept(promises string) error {
	if missing := broken(strings.Split(promises, "\n"), x.output.String()); len(missing) > 0 {
		return fmt.Errorf("promised, but not said: %q, by\n%s\nwhich said\n%s", missing, x.cmd, &x.output)
	}
	return nil
}

// waitFor waits until the output keeps all promises.
func (x *workshopShell) waitFor(ctx context.Context, promises string) error {
	for {
		err := x.kept(promises)
		if err == nil {
			return nil
		}
		select {
		case <-x.gone:
			if err = x.kept(promises); err != nil {
				err = fmt.Errorf("it has ended: %w", err)
			}
			return err
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// end ends the script if it still runs, as closing its terminal does.
func (x *workshopShell) end() error {
	select {
	case <-x.gone: // its process id may have been reused
		return nil
	default:
		_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGTERM)
	}
	select {
	case <-x.gone:
		return nil
	case <-time.After(workshopTime):
		_ = x.cmd.Cancel()
		<-x.gone
		return fmt.Errorf("SIGTERM did not end %s: %s", x.cmd, &x.output)
	}
}

// tape is an output that can be read while it is written.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tape) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// TestDeskDetectsBrokenPromises forges blocks that break their promises.
func TestDeskDetectsBrokenPromises(t *testing.T) {
	need(t, "bash")
	d := newDesk(t)
	defer d.leave(t)
	assert.NotEqual(t, "port 5000", d.here("port 5000"))
	for _, c := range []struct{ document, says string }{
		{"```sh\necho port 5000\n```\n```text\nport 5000\n```", ""},
		{"```sh\nsleep 0.1 && echo late &\n```\n```text\nlate\n```", ""},
		{"```sh\necho port 5000\n```\n```text\nport 5010\n```", "promised, but not said"},
		{"```sh\nfalse\ntrue\n```", "exit status 1, not exit code 0"},
		{"```sh exit=3\ntrue\n```", "exit status 0, not exit code 3"},
		{"```sh\ngo run ./loadtest --bogus\n```", "unknown flag --bogus"},
		{"```sh terminal=1\necho ready; sleep 60\n```\n```text\nready\n```", ""},
		{"```sh\ntrue\n```\n```text terminal=1\nready\n```", ""},
		{"```sh\ntrue\n```\n```text terminal=2\nready\n```", "nothing runs in terminal 2"},
		{"```sh terminal=3\necho not yet\n```\n```text\nready\n```", "it has ended: promised, but not said"},
	} {
		parts, err := partsOf("## A\n" + c.document)
		require.NoError(t, err)
		err = d.do(t.Context(), parts[0].blocks[0])
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
