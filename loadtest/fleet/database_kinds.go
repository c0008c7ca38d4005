package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// databaseKind is how one kind of server is made and run, on a data directory and a port.
type databaseKind struct {
	name, title        string // on the command line, and in a sentence
	program, installer string
	account            string // whose process it is where we are root, as no server wants to be
	ready              string // part of the line by which it says that it serves
	quits              bool   // see child
	dsn                string // of a port; stockapi reads it
	install            func(data string) []string
	serve              func(data string, port int) []string
	driver, client     string // how we ask it, by its port
	sessions           string // counts the locks of its own that it has given out
}

// Of both, what is written need not outlive a power cut of this machine, only the end of the process.
var databaseKinds = []*databaseKind{
	{
		name: MariaDB, title: "MariaDB", program: "mariadbd", installer: "mariadb-install-db", account: "mysql",
		ready: "ready for connections", dsn: "mysql://root@127.0.0.1:%d/test",
		install: func(data string) []string {
			return []string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal",
				"--skip-name-resolve", "--innodb-log-file-size=4M"}
		},
		serve: func(data string, port int) []string {
			return []string{"--no-defaults", "--datadir=" + data, "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				"--socket=socket", "--skip-name-resolve", "--max-connections=400", "--innodb-buffer-pool-size=16M",
				"--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=2", "--plugin-load-add=metadata_lock_info"}
		},
		driver: "mysql", client: "root@tcp(127.0.0.1:%d)/test",
		sessions: `SELECT COUNT(*) FROM information_schema.metadata_lock_info WHERE lock_type = 'User lock'`,
	},
	{
		name: Postgres, title: "PostgreSQL", program: "postgres", installer: "initdb", account: "postgres", quits: true,
		ready: "ready to accept connections", dsn: "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
		install: func(data string) []string {
			return []string{"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync",
				"--wal-segsize=1"}
		},
		serve: func(data string, port int) []string {
			return []string{"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
				"-c", "unix_socket_directories=", "-c", "max_connections=400", "-c", "shared_buffers=16MB", "-c", "fsync=off",
				"-c", "dynamic_shared_memory_type=mmap"} // in its directory, which goes away with it
		},
		driver: "pgx", client: "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
		sessions: `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted`,
	},
}

// missing says what of it is not on this machine, or returns "".
func (k *databaseKind) missing() string {
	if runtime.GOOS == "windows" {
		return "it is not started on Windows, only used at a DSN"
	}
	for _, program := range []string{k.program, k.installer} {
		if locate(program) == "" {
			return "there is no " + program + " here"
		}
	}
	if err := canRunAs(k.account); err != nil {
		return "its server does not run as root, and " + err.Error()
	}
	return ""
}

// command returns one of its programs, to be run in that directory.
func (k *databaseKind) command(dir, program string, args []string) (*exec.Cmd, error) {
	cmd := exec.Command(locate(program), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	return cmd, runAs(cmd, k.account)
}

// locate returns the path of a server's program, which Debian keeps away from a user's PATH, or "".
func locate(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/usr/lib/postgresql/*/bin"} {
		if found, _ := filepath.Glob(filepath.Join(dir, program)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}
