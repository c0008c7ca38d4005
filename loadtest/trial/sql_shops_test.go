package trial

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
	"stockapi/loadtest/history"
)

// sqlOptions are those of a trial of the shop with its stock in that database, as examples/sql_shop.py has them.
func sqlOptions(t *testing.T, s *backendtest.SQLServer, kind ...string) Options {
	t.Helper()
	driver, sql := "psycopg2", "psql -qAt '"+s.DSN+"' -c"
	if s.Kind() == backendtest.MariaDB {
		_, port, err := net.SplitHostPort(s.Address)
		require.NoError(t, err)
		_, password, _ := strings.Cut(strings.TrimPrefix(s.DSN, "mysql://"), ":")
		password, _, _ = strings.Cut(password, "@")
		driver, sql = "pymysql", "mariadb -h 127.0.0.1 -P "+port+" -u root -p'"+password+"' shop -Ne"
	}
	python := need(t, "python3-"+driver, interpreter("-c", "import redis, "+driver, "python3", "/usr/bin/python3"))
	dsn := strings.Replace(s.DSN, s.Address, "{db_host}:{db_port}", 1)
	o := options(t, append([]string{"env", "DATABASE_URL=" + dsn, python, "../../examples/sql_shop.py"}, kind...)...)
	o.Shop.Stock, o.Shop.Database = nil, s.Address
	o.Shop.Setup = sql + " 'CREATE TABLE IF NOT EXISTS stock (product int PRIMARY KEY, units int);" +
		" CREATE TABLE IF NOT EXISTS sales (product int)'"
	o.Shop.Set = sql + " 'DELETE FROM sales; DELETE FROM stock; INSERT INTO stock VALUES ({product}, {n})'"
	o.Shop.Left, o.Shop.Sales = sql+" 'SELECT units FROM stock'", sql+" 'SELECT count(*) FROM sales'"
	return o
}

// A trial tells a shop that commits after its release from one that commits before, each on one kind of database, and
// on all in a run of the league.
func TestTrialsOfShopsWithSQL(t *testing.T) {
	t.Parallel()
	backendtest.Require(t)
	backendtest.EachSQLServer(t, func(t *testing.T, s *backendtest.SQLServer) {
		t.Parallel() // two servers side by side; the shops of one have one stock
		isMariaDB := s.Kind() == backendtest.MariaDB
		if isLeague() || isMariaDB {
			t.Run("right", func(t *testing.T) { commitsBefore(t, s) })
		}
		if isLeague() || !isMariaDB {
			t.Run("release-first", func(t *testing.T) { commitsAfter(t, s) })
		}
	})
}

// commitsBefore tries a right shop. A lease that is not renewed breaks under slow work and late writes: that is no
// defect.
func commitsBefore(t *testing.T, s *backendtest.SQLServer) {
	t.Helper()
	o := sqlOptions(t, s)
	o.Only, o.Play = []string{"after-release"}, []string{"a<db3.b>end.a>end", "a>db1.crash-a"}
	if isLeague() { // with slow work and a crash at each of its requests
		o.Only, o.Play = append(o.Only, "slow-work", "two-instances", "pause", "late", "crash", "delayed-release 1"), nil
	}
	p, cells := try(t, o)
	assert.Equal(t, []string{"lock:10000"}, p.Locks, p.String())
	require.GreaterOrEqual(t, len(cells), len(o.Only)+len(o.Play))
	for _, c := range cells {
		assert.Nil(t, c.Defect, c.Scenario)
		switch c.Scenario {
		case "after-release":
			assert.Equal(t, "a sale sends nothing after its release", c.WhyNot())
		case "slow-work", "late", "pause": // two orders hold it at Anna's first request; she reads what Bert left
			assert.Contains(t, broken(c), "E", "%s: %s", c.Scenario, c.WhyNot())
			assert.Empty(t, strings.Trim(broken(c), byDesign(p, c)), c.Scenario)
		default:
			assert.Empty(t, c.WhyNot(), c.Scenario)
			assert.Empty(t, broken(c), c.Scenario)
		}
	}
}

// commitsAfter tries a shop that releases the lock before it commits.
func commitsAfter(t *testing.T, s *backendtest.SQLServer) {
	t.Helper()
	o := sqlOptions(t, s, "release-first")
	o.Only = []string{"after-release"}
	_, cells := try(t, o)
	require.Len(t, cells, 1)
	require.NotNil(t, cells[0].Defect, cells[0].WhyNot())
	assert.Equal(t, "it writes after it has released the lock", cells[0].Defect.Cause)
	assert.Contains(t, cells[0].Defect.Shown, "2 recorded as sold, but the stock went from 100 to 99, by count")
	assert.Equal(t, history.Broken, cells[0].Finding(history.Stock).Result)
}
