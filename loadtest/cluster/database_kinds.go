package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// A databaseKind describes how to install and run one kind of server with a data directory and a port.
type databaseKind struct {
	name, title        string // on the command line, and in messages
	program, installer string
	account            string // the user to run it as if we are root, as the servers refuse root
	ready              string // part of the line that reports readiness
	quits              bool   // see child
	secret             string // content of the file that gives it the password
	dsn                string // with the password and the port; for stockapi
	install            func(data, secret string) []string
	serve              func(data string, port int, secret string) []string
	driver, client     string // for the cluster's own queries, with the password and the port
	sessions           string // the query that counts its session locks
}

// mariaDBAccess leaves a single account, with a password. A server runs these statements at each start, before it
// serves clients. The installer cannot do this: it creates accounts without a password.
const mariaDBAccess = `DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';
FLUSH PRIVILEGES;
CREATE USER root@'127.0.0.1' IDENTIFIED BY '%s';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

// The data need not survive a power cut, only the end of the process. So no statement waits for the disk, which may
// take longer than a lease. MariaDB ignores --loose options that it does not know.
var databaseKinds = []*databaseKind{
	{
		name: MariaDB, title: "MariaDB", program: "mariadbd", installer: "mariadb-install-db", account: "mysql",
		ready: "ready for connections", dsn: "mysql://root:%s@127.0.0.1:%d/test",
		secret: mariaDBAccess,
		install: func(data, _ string) []string {
			return []string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal",
				"--skip-name-resolve", "--innodb-log-file-size=4M"}
		},
		serve: func(data string, port int, secret string) []string {
			return []string{"--no-defaults", "--datadir=" + data, "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
				"--init-file=" + secret, "--secure-file-priv=" + data,
				"--socket=socket", "--skip-name-resolve", "--max-connections=400", "--innodb-buffer-pool-size=16M",
				"--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=2", "--loose-innodb-flush-method=nosync",
				"--loose-debug-no-sync", "--plugin-load-add=metadata_lock_info"}
		},
		driver: "mysql", client: "root:%s@tcp(127.0.0.1:%d)/test",
		sessions: `SELECT COUNT(*) FROM information_schema.metadata_lock_info WHERE lock_type = 'User lock'`,
	},
	{
		name: Postgres, title: "PostgreSQL", program: "postgres", installer: "initdb", account: "postgres", quits: true,
		ready: "ready to accept connections", dsn: "postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable",
		secret: "%s\n",
		install: func(data, secret string) []string {
			return []string{"-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile=" + secret, "-E", "UTF8",
				"--no-locale", "--no-sync",
				"--wal-segsize=1"}
		},
		serve: func(data string, port int, _ string) []string {
			return []string{"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
				"-c", "unix_socket_directories=", "-c", "max_connections=400", "-c", "shared_buffers=16MB", "-c", "fsync=off",
				"-c", "dynamic_shared_memory_type=mmap"} // in its directory, which is removed with it
		},
		driver: "pgx", client: "postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable",
		sessions: `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted`,
	},
}

// missing returns what this machine lacks for it, or "".
func (k *databaseKind) missing() string {
	if runtime.GOOS == "windows" {
		return "on Windows it is only used at a DSN, not started"
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

// command returns a command that runs one of its programs in that directory.
func (k *databaseKind) command(dir, program string, args []string) (*exec.Cmd, error) {
	cmd := exec.Command(locate(program), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	return cmd, runAs(cmd, k.account)
}

// locate returns the path of a server's program, or "". Debian does not put them on a user's PATH.
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
