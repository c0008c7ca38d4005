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

// Both servers are told how long anybody waits for a statement: one that waits for longer, say for a row that is
// locked, must not take the lock in the end. And each is told, on every connection, all that the statements rely on:
// what the server's administrator or the DSN's author chose for other programs must not decide who gets a lock.

// mySQLSettings are what the statements rely on: each is a transaction of its own, assigns from left to right, and
// refuses what does not fit into a column.
var mySQLSettings = map[string]string{"autocommit": "1", "sql_mode": "'STRICT_ALL_TABLES'"}

func openMySQL(u *url.URL, o backend.Options) (*sql.DB, error) {
	query := u.Query()
	for name := range query {
		if credential.MatchString(name) {
			return nil, errors.New("user and password stand before the host")
		}
	}
	query.Del("charset") // the driver keeps it to itself; without it and a collation it speaks UTF-8
	c, err := mysql.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, err
	}
	c.User, c.DBName, c.Net, c.Addr = u.User.Username(), strings.TrimPrefix(u.Path, "/"), "tcp", withPort(u, "3306")
	c.Passwd, _ = u.User.Password()
	c.Timeout, c.ReadTimeout, c.WriteTimeout = o.Timeout, o.Timeout, o.Timeout
	c.ClientFoundRows = false  // a row that was found and not changed is a lock that another holds
	c.InterpolateParams = true // one round trip, where preparing a statement first takes three
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

// postgresSettings are what the statements rely on. In READ COMMITTED a statement that met another one looks at the row
// again; stricter levels refuse it with 40001, a release as well as an acquire.
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
	// Left to itself the driver asks the server, and only if the connection has rested for a second: a release that comes
	// sooner after a restart would be lost on a connection from before.
	stale := stdlib.OptionShouldPing(func(_ context.Context, p stdlib.ShouldPingParams) bool {
		return stirred(p.Conn.PgConn().Conn())
	})
	return stdlib.OpenDB(*c, stale), nil
}

// credential matches what belongs before the host. The MySQL driver sends every parameter that it does not know as a
// variable to set, and the server's complaint quotes it.
var credential = regexp.MustCompile(`(?i)user|pass|pwd|secret|token`)

// label is how an instance of that name calls itself where a server lists its sessions.
func label(instance string) string {
	return strings.TrimSpace("stockapi " + backend.Plain(instance, maxLabel-len("stockapi ")))
}

const maxLabel = 63 // PostgreSQL cuts what is longer

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Contended tells the errors with which a database gives a statement up in favour of another. It has done nothing then.
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

// CreatedAtOnce tells the errors of a CREATE TABLE IF NOT EXISTS that met another one: PostgreSQL looks first and
// creates then, and one of two finds the table, its name in the catalogue, its type, or an entry that has just changed.
func CreatedAtOnce(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains([]string{"42P07", "23505", "42710", "XX000"}, pg.Code)
}
