package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/sqlite"

	"stockapi/internal/backend"
)

// Default returns the DSN of the SQLite file that the processes of one user on this machine share. The file is created
// with the first lock.
func Default() string { return fileDSN(filepath.Join(defaultDir(), "locks.db")) }

// defaultDir returns the directory of the default file. Every user of the machine may write to its parent and can guess
// its name, so it is checked before use.
func defaultDir() string { return filepath.Join(os.TempDir(), fmt.Sprintf("stockapi-%d", os.Getuid())) }

// ErrNotPrivate means that another user created the directory of the default file, or can write to it: locks in it
// cannot be trusted.
var ErrNotPrivate = errors.New("is not this user's own directory: another user made it, or it is a link, or " +
	"others may write to it; remove it, or name another database with --sql")

// checkPrivate refuses a directory that other users own or may write to.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByUs(info) || runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s %w", dir, ErrNotPrivate)
	}
	return nil
}

func fileDSN(path string) string {
	return (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String()
}

// filePath is the inverse of fileDSN.
func filePath(u *url.URL) string {
	path := u.Host + u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // /C:/path
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

// openSQLite opens a file. Each process uses one connection: SQLite allows one writer at a time, and waits by sleeping
// and retrying.
func openSQLite(u *url.URL, o backend.Options) (*sql.DB, error) {
	path := filePath(u)
	if path == "" || path == string(filepath.Separator) {
		return nil, errors.New("names no file, as sqlite:///path/to/file does")
	}
	query := u.Query()
	if err := checkSharable(query); err != nil {
		return nil, err
	}
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", o.Timeout.Milliseconds()))
	// With a write-ahead log and synchronous=NORMAL writers do not wait for the disk. A power failure may lose the last
	// writes, but it also ends every process that could hold a lock.
	query.Add("_pragma", "journal_mode(WAL)")
	query.Add("_pragma", "synchronous(NORMAL)")
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
	db := sql.OpenDB(file{dir: filepath.Dir(path), name: name})
	db.SetMaxOpenConns(1)
	return db, nil
}

// checkSharable refuses parameters with which other processes would not see a lock, or with which none can be taken.
func checkSharable(query url.Values) error {
	for _, parameter := range []string{"vfs", "nolock", "immutable", "cache"} {
		if query.Has(parameter) {
			return fmt.Errorf("%s keeps processes from sharing the file: leave it out", parameter)
		}
	}
	if mode := query.Get("mode"); mode != "" && mode != "rw" && mode != "rwc" {
		return errors.New("mode must be rw or rwc: locks are written to a file that all processes share")
	}
	for _, pragma := range query["_pragma"] {
		name := strings.ToLower(strings.TrimSpace(pragma))
		if strings.HasPrefix(name, "locking_mode") || strings.HasPrefix(name, "query_only") {
			return errors.New("_pragma=" + pragma + " keeps processes from sharing the file: leave it out")
		}
	}
	return nil
}

// file opens connections to an SQLite file. It creates the directory if it does not exist.
type file struct{ dir, name string }

// Connect is part of driver.Connector.
func (f file) Connect(context.Context) (driver.Conn, error) {
	err := os.MkdirAll(f.dir, 0o700)
	if f.dir == defaultDir() {
		err = checkPrivate(f.dir)
	}
	if err != nil {
		return nil, err
	}
	return f.Driver().Open(f.name)
}

// Driver is part of driver.Connector.
func (f file) Driver() driver.Driver { return new(sqlite.Driver) }
