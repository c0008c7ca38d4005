package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"stockapi/internal/backend"
)

// Both servers get the timeout of a statement: a statement that waits longer, for a locked row for example, must not
// take the lock after its client gave up. On every connection they also get the settings that the statements rely on,
// because settings of the server or the DSN for other programs must not change who acquires a lock.

// mySQLSettings holds the settings that the statements rely on: each statement is a transaction of its own, assigns
// from left to right, and refuses a value that does not fit into its column.
var mySQLSettings = map[string]string{"autocommit": "1", "sql_mode": "'STRICT_ALL_TABLES'"}

func openMySQL(u *url.URL, o backend.Options) (*sql.DB, error) {
	query := u.Query()
	for name := range query {
		if credentialName.MatchString(name) {
			return nil, errors.New("user and password stand before the host")
		}
	}
	query.Del("charset") // without a charset and a collation the driver uses UTF-8
	c, err := mysql.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, err
	}
	c.User, c.DBName, c.Net, c.Addr = u.User.Username(), strings.TrimPrefix(u.Path, "/"), "tcp", withPort(u, "3306")
	c.Passwd, _ = u.User.Password()
	c.Timeout, c.ReadTimeout, c.WriteTimeout = o.Timeout, o.Timeout, o.Timeout
	c.ClientFoundRows = false  // a row that was found but not changed is a lock of another holder
	c.InterpolateParams = true // one round trip; a prepared statement takes three
	c.MultiStatements, c.CheckConnLiveness, c.Collation = false, true, ""
	c.ConnectionAttributes = "program_name:" + label(o.Name)
	c.Logger = &mysql.NopLogger{}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["innodb_lock_wait_timeout"] = strconv.Itoa(max(1, int(o.Timeout.Seconds())))
	maps.Copy(c.Params, mySQLSettings)
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// postgresSettings holds the settings that the statements rely on. In READ COMMITTED a statement that waited for
// another one reads the row again. Stricter levels refuse it with 40001, even if it is a release.
var postgresSettings = map[string]string{
	"default_transaction_isolation": "read committed",
	"default_transaction_read_only": "off",
}

func openPostgreSQL(dsn string, o backend.Options) (*sql.DB, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	c.ConnectTimeout = o.Timeout
	c.RuntimeParams["application_name"] = label(o.Name)
	c.RuntimeParams["statement_timeout"] = strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	maps.Copy(c.RuntimeParams, postgresSettings)
	// By default the driver pings the server, and only if the connection was idle for a second. A release that is sent
	// sooner after a restart of the server would be lost on an old connection.
	stale := stdlib.OptionShouldPing(func(_ context.Context, p stdlib.ShouldPingParams) bool {
		return hasUnread(p.Conn.PgConn().Conn())
	})
	return stdlib.OpenDB(*c, stale), nil
}

// credentialName matches the names of parameters that may hold a credential, which belongs before the host. The MySQL
// driver sends unknown parameters to the server as variables, and the server's error quotes them.
var credentialName = regexp.MustCompile(`(?i)user|pass|pwd|secret|token`)

// label returns the name of an instance in the server's list of sessions.
func label(instance string) string {
	return strings.TrimSpace("stockapi " + backend.SafeName(instance, maxLabel-len("stockapi ")))
}

const maxLabel = 63 // PostgreSQL cuts what is longer

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Contended reports whether the database aborted a statement in favour of another one. The statement changed nothing.
func Contended(err error) bool {
	var lite *sqlite.Error
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &lite):
		return lite.Code()&0xff == 5 // SQLITE_BUSY and its extensions
	case errors.As(err, &my):
		return my.Number == 1205 || my.Number == 1213 // lock wait timeout, deadlock
	case errors.As(err, &pg):
		return slices.Contains([]string{"40001", "40P01", "55P03"}, pg.Code) // serialisation, deadlock, lock timeout
	}
	return false
}

// Unsent reports whether a statement was never sent, because the server refused the connection.
func Unsent(err error) bool {
	var my *mysql.MySQLError
	var pg *pgconn.ConnectError
	return errors.As(err, &pg) || errors.As(err, &my) &&
		slices.Contains([]uint16{1040, 1044, 1045, 1049, 1129, 1203}, my.Number) // too many connections, no access
}

// CreatedAtOnce reports whether a CREATE TABLE IF NOT EXISTS failed because another one ran at the same time.
// PostgreSQL first checks and then creates: one of the two finds the table, its name or type in the catalogue, or a
// changed entry.
func CreatedAtOnce(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains([]string{"42P07", "23505", "42710", "XX000"}, pg.Code)
}
