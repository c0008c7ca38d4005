package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
)

// The kinds of SQL database, as STOCKAPI_REQUIRE names the servers.
const (
	SQLite   = "sqlite"
	MariaDB  = "mariadb"
	Postgres = "postgres"
)

// EachSQL runs a test on SQLite, and on each SQL server that this machine has. With STOCKAPI_REQUIRE=mariadb,postgres a
// missing one fails the test.
func EachSQL(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Run(SQLite, func(t *testing.T) { test(t, SQLiteFile(t)) })
	EachSQLServer(t, func(t *testing.T, s *SQLServer) { test(t, s.DSN) })
}

// EachSQLServer is EachSQL without SQLite.
func EachSQLServer(t *testing.T, test func(t *testing.T, s *SQLServer)) {
	t.Helper()
	for _, kind := range []string{MariaDB, Postgres} {
		t.Run(kind, func(t *testing.T) { test(t, StartSQL(t, kind)) })
	}
}

// SQLiteFile returns the DSN of a file that is removed after the test.
func SQLiteFile(t testing.TB) string {
	t.Helper()
	return "sqlite:///" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(t.TempDir(), "locks.db")), "/")
}

// OpenSQL returns a database as the service uses it. It is closed when the test ends.
func OpenSQL(t testing.TB, dsn string) *sqldb.DB { return OpenSQLAs(t, dsn, "") }

// OpenSQLAs is OpenSQL for an instance of that name.
func OpenSQLAs(t testing.TB, dsn, instance string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(dsn, backend.Options{Timeout: 10 * time.Second, PoolSize: 16, Name: instance})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// An SQLServer is a MariaDB or PostgreSQL server that ends with its test.
type SQLServer struct {
	DSN     string
	Address string // host:port

	kind, dir string
	command   []string
	process   *exec.Cmd
	log       bytes.Buffer
}

// StartSQL starts a server of that kind on a free port with its own data directory, or skips the test. The server does
// not wait for the disk, which may take longer than a lease: its data must survive a restart, not a power failure. It
// gets the arguments more.
func StartSQL(t testing.TB, kind string, more ...string) *SQLServer {
	t.Helper()
	Long(t)
	if os.Getuid() == 0 {
		find(t, kind, "chown")
		find(t, kind, "setpriv")
	}
	dir, err := os.MkdirTemp("", "stockapi-"+kind+"-") // the servers' own users may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	secret := filepath.Join(dir, "secret")
	port := FreePort(t)
	s := &SQLServer{kind: kind, dir: filepath.Join(dir, "data"), Address: fmt.Sprintf("127.0.0.1:%d", port)}
	if kind == MariaDB {
		server, install := find(t, kind, "mariadbd"), find(t, kind, "mariadb-install-db")
		s.DSN = "mysql://root:" + password + "@" + s.Address + "/shop"
		s.chown(t, "mysql", fmt.Sprintf(mariaDBAccess, password))
		s.install(t, as("mysql", install, "--no-defaults", "--datadir="+s.dir,
			"--auth-root-authentication-method=normal", "--skip-test-db"))
		s.command = as("mysql", server, "--no-defaults", "--datadir="+s.dir, fmt.Sprintf("--port=%d", port),
			"--bind-address=127.0.0.1", "--socket="+filepath.Join(dir, "socket"), "--init-file="+secret,
			"--secure-file-priv="+dir, "--skip-name-resolve",
			"--innodb-flush-log-at-trx-commit=2", "--loose-innodb-flush-method=nosync", "--loose-debug-no-sync")
	} else {
		server, install := find(t, kind, "postgres"), find(t, kind, "initdb")
		s.DSN = "postgres://postgres:" + password + "@" + s.Address + "/postgres?sslmode=disable"
		s.chown(t, "postgres", password)
		s.install(t, as("postgres", install, "-D", s.dir, "-U", "postgres", "-A", "scram-sha-256",
			"--pwfile="+secret, "--no-sync"))
		s.command = as("postgres", server, "-D", s.dir, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", "-c", "fsync=off")
	}
	s.command = append(s.command, more...)
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}

// Kind returns MariaDB or Postgres.
func (s *SQLServer) Kind() string { return s.kind }

// Reset restores the settings that a test has changed for later connections.
func (s *SQLServer) Reset(t testing.TB) {
	t.Helper()
	undo := []string{"ALTER ROLE postgres RESET ALL"}
	if s.kind == MariaDB {
		undo = nil
		for _, variable := range []string{"autocommit", "tx_isolation", "sql_mode", "wait_timeout"} {
			undo = append(undo, "SET GLOBAL "+variable+" = DEFAULT")
		}
	}
	db := OpenSQL(t, s.DSN)
	for _, statement := range undo {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// find returns the path of a server's program. Debian does not install PostgreSQL's on PATH.
func find(t testing.TB, kind, program string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	if paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program); len(paths) > 0 {
		return paths[len(paths)-1]
	}
	if slices.Contains(strings.Split(os.Getenv("STOCKAPI_REQUIRE"), ","), kind) {
		t.Fatalf("there is no %s, and STOCKAPI_REQUIRE asks for %s", program, kind)
	}
	t.Skipf("needs %s", program)
	return ""
}

// as returns a command that, as root, runs as the server's own user: database servers refuse to run as root.
func as(user string, command ...string) []string {
	if os.Getuid() != 0 {
		return command
	}
	return append([]string{"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", "--"}, command...)
}

// mariaDBAccess leaves one account to a server: it runs these statements at each start, before anybody is served.
const mariaDBAccess = `DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';
FLUSH PRIVILEGES;
CREATE USER root@'127.0.0.1' IDENTIFIED BY '%s';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

// chown writes the file that gives the server its password, and gives it, as root, to the server's user, with the
// server's directory.
func (s *SQLServer) chown(t testing.TB, user, secret string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(s.dir), "secret")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		s.runOnce(t, []string{"chown", user, filepath.Dir(s.dir), path})
	}
}

// environ gives each server a temporary directory of its own: MariaDB's installer uses fixed names for its temporary
// files.
func (s *SQLServer) environ() []string { return append(os.Environ(), "TMPDIR="+filepath.Dir(s.dir)) }

func (s *SQLServer) runOnce(t testing.TB, command []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = s.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// Start starts the server, also after Kill, and waits until it answers.
func (s *SQLServer) Start(t testing.TB) {
	t.Helper()
	s.process = exec.CommandContext(context.Background(), s.command[0], s.command[1:]...)
	s.process.Env = s.environ()
	s.process.Stderr = &s.log
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	ready := strings.TrimSuffix(s.DSN, "shop") // created below
	db := OpenSQL(t, ready)
	for deadline := time.Now().Add(time.Minute); db.Reach(context.Background()) != nil; {
		if time.Now().After(deadline) {
			s.Kill()
			t.Fatalf("%s does not answer\n%s", s.kind, s.log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if s.kind == MariaDB {
		if _, err := db.ExecContext(context.Background(), "CREATE DATABASE IF NOT EXISTS shop"); err != nil {
			t.Fatal(err)
		}
	}
}

// Kill ends the server without a clean shutdown. PostgreSQL gets SIGQUIT, on which it also ends its child processes.
func (s *SQLServer) Kill() {
	signal := os.Kill
	if s.kind == Postgres {
		signal = syscall.SIGQUIT
	}
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
}
