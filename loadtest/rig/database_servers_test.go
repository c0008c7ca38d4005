package rig

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/internal/backend/backendtest"
)

// A sqlShop keeps its stock in a row of a real database behind a Database.
type sqlShop struct {
	*Database
	shop, past *sql.DB // over the link, and directly
	read, take string  // its statements
	t          *testing.T
	sold       int
}

func newSQLShop(t *testing.T, server *backendtest.SQLServer) *sqlShop {
	t.Helper()
	d, err := NewDatabase(server.Address)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	s := &sqlShop{Database: d, t: t, read: "SELECT n FROM stock WHERE id = $1 FOR UPDATE",
		take: "UPDATE stock SET n = $1 WHERE id = $2"}
	if server.Kind() == backendtest.MariaDB {
		s.read, s.take = "SELECT n FROM stock WHERE id = ? FOR UPDATE", "UPDATE stock SET n = ? WHERE id = ?"
	}
	open := func(address string) *sql.DB {
		dsn, err := url.Parse(server.DSN)
		require.NoError(t, err)
		driver := "pgx"
		dsn.Host = address
		text := dsn.String()
		if server.Kind() == backendtest.MariaDB {
			driver = "mysql"
			text = fmt.Sprintf("%s@tcp(%s)%s", dsn.User, address, dsn.Path)
		}
		db, err := sql.Open(driver, text)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	s.shop, s.past = open(d.Addr()), open(server.Address)
	for _, statement := range []string{
		"CREATE TABLE stock (id INT PRIMARY KEY, n INT)", "INSERT INTO stock VALUES (1, 100)",
	} {
		_, err := s.past.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return s
}

// sell is an order.
func (s *sqlShop) sell(ctx context.Context) error {
	tx, err := s.shop.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err = tx.QueryRowContext(ctx, s.read, 1).Scan(&n); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, s.take, n-1, 1); err != nil {
		return err
	}
	return tx.Commit()
}

// order sets a trap, sends an order, and returns when the trap has caught a piece; number 0 sets no trap.
func (s *sqlShop) order(number int, reply bool) (trap *RequestTrap, answer chan error) {
	s.t.Helper()
	s.BeginOrder()
	if answer = make(chan error, 1); number > 0 {
		trap = s.Trap(s.NextOrder()-1, number, reply)
	}
	go func() { answer <- s.sell(s.t.Context()) }()
	if number > 0 {
		select {
		case <-trap.Caught():
		case err := <-answer:
			require.Fail(s.t, "the order passed the trap", "%d: %v", number, err)
		}
	}
	return trap, answer
}

// soldBy asserts that an order is answered, and sells.
func (s *sqlShop) soldBy(answer chan error) {
	s.t.Helper()
	require.NoError(s.t, <-answer)
	s.sold++
	require.Equal(s.t, 100-s.sold, s.stock())
}

// stock returns what other connections read.
func (s *sqlShop) stock() (n int) {
	s.t.Helper()
	require.NoError(s.t, s.past.QueryRowContext(s.t.Context(), "SELECT n FROM stock WHERE id = 1").Scan(&n))
	return n
}

// learn sells until there is a pattern.
func (s *sqlShop) learn() (p Pattern) {
	s.t.Helper()
	begun, stable := time.Now(), false
	for sales := []int(nil); !stable; p, stable = Learn(s.Since(begun), sales) {
		require.Less(s.t, len(sales), MostSales, "%v", s.Since(begun))
		sales = append(sales, s.BeginOrder())
		require.NoError(s.t, s.sell(s.t.Context()))
		s.sold++
		s.EndOrder()
	}
	return p
}

// waits asserts that an order stays unanswered.
func (s *sqlShop) waits(answer chan error) {
	s.t.Helper()
	select {
	case err := <-answer:
		require.Fail(s.t, "it was answered", "%v", err)
	case <-time.After(aMoment):
	}
}

func eachSQLShop(t *testing.T, test func(t *testing.T, s *sqlShop)) {
	t.Helper()
	t.Parallel()
	backendtest.EachSQLServer(t, func(t *testing.T, server *backendtest.SQLServer) {
		test(t, newSQLShop(t, server))
	})
}

func TestOrdersAreHeldAtRealDatabases(t *testing.T) {
	eachSQLShop(t, func(t *testing.T, s *sqlShop) {
		p := s.learn()
		s.Follow(p)
		require.True(t, s.Passed())
		require.Empty(t, p.Noisy)
		last := p.Requests()
		require.GreaterOrEqual(t, last, 4, "begin, select, update and commit")
		for k := 1; k <= last; k++ {
			request, answer := s.order(k, false)
			s.waits(answer)
			assert.Equal(t, 100-s.sold, s.stock(), "the rest of the order must not reach the server: %d", k)
			request.GoOn()
			s.soldBy(answer)

			reply, answer := s.order(k, true)
			s.waits(answer)
			if carried := 100 - s.stock() - s.sold; k == last {
				assert.Equal(t, 1, carried, "it is committed")
			} else {
				assert.Zero(t, carried, "%d", k)
			}
			reply.GoOn()
			s.soldBy(answer)
		}
		s.waitsForARow()
		s.losesItsCommit()
	})
}

// waitsForARow makes an order wait for a row that another transaction has locked.
func (s *sqlShop) waitsForARow() {
	tx, err := s.past.BeginTx(s.t.Context(), nil)
	require.NoError(s.t, err)
	defer func() { _ = tx.Rollback() }()
	require.NoError(s.t, tx.QueryRowContext(s.t.Context(), s.read, 1).Scan(new(int)))
	assert.False(s.t, s.Waiting(0), "every request is answered")
	_, answer := s.order(0, false)
	require.Eventually(s.t, func() bool { return s.Waiting(4 * aMoment) }, 10*time.Second, time.Millisecond)
	s.waits(answer)
	require.NoError(s.t, tx.Rollback())
	s.soldBy(answer)
	assert.False(s.t, s.Waiting(0))
}

// losesItsCommit loses a commit, and then the reply to another. A new connection has no prepared statements, so the
// pattern has to be learnt again.
func (s *sqlShop) losesItsCommit() {
	for _, reply := range []bool{false, true} {
		trap, answer := s.order(s.learn().Requests(), reply)
		trap.Lose()
		require.Error(s.t, <-answer)
		if reply {
			s.sold++
		}
		require.Equal(s.t, 100-s.sold, s.stock())
	}
}
