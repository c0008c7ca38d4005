package wire

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A monitor reads a server's MONITOR output on a connection of its own. It delays nothing.
type monitor struct {
	conn net.Conn
	text *bufio.Reader
	all  sync.WaitGroup

	mu    sync.Mutex
	told  *sync.Cond // when a line has been read, or no more will be
	marks map[string]bool
	err   error
}

// patience bounds the wait for a line of MONITOR.
const patience = 10 * time.Second

// watch starts a monitor, which calls see with its lock held for each line. Close it.
func watch(ctx context.Context, to *redis.Client, see func(line)) (*monitor, error) {
	o := to.Options()
	conn, err := o.Dialer(ctx, o.Network, o.Addr)
	if err != nil {
		return nil, err
	}
	m := &monitor{conn: conn, text: bufio.NewReader(conn), marks: map[string]bool{}}
	m.told = sync.NewCond(&m.mu)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if o.Password != "" {
		err = m.ask("AUTH", cmp.Or(o.Username, "default"), o.Password)
	}
	if err == nil {
		err = m.ask("MONITOR")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run MONITOR: %w", err), conn.Close())
	}
	_ = conn.SetReadDeadline(time.Time{})
	m.all.Go(func() { m.follow(see) })
	return m, nil
}

// ask sends a command whose reply must be OK.
func (m *monitor) ask(args ...string) error {
	text := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := m.conn.Write(text); err != nil {
		return err
	}
	answer, err := m.text.ReadString('\n')
	if err == nil && answer != "+OK\r\n" {
		err = errors.New(strings.TrimSpace(answer))
	}
	return err
}

// follow reads lines until the connection ends.
func (m *monitor) follow(see func(line)) {
	for err := error(nil); err == nil; {
		var one line
		text, failed := m.text.ReadString('\n')
		if err = failed; err == nil {
			one, err = parseLine(strings.TrimRight(text, "\r\n"))
		}
		m.mu.Lock()
		if m.err = err; err == nil {
			see(one)
			if last := one.args[len(one.args)-1]; strings.HasPrefix(last, marks) {
				m.marks[last] = true
			}
		}
		m.told.Broadcast()
		m.mu.Unlock()
	}
}

// marks is the prefix of marks. A mark is sent by ECHO: once it has been read, so have all lines before it.
const marks = "loadtest mark "

func newMark() string { return marks + rand.Text() }

// await waits until the mark has been read. Its caller holds the lock.
func (m *monitor) await(mark string) error {
	defer time.AfterFunc(patience, func() { _ = m.conn.SetReadDeadline(time.Now()) }).Stop()
	for !m.marks[mark] && m.err == nil {
		m.told.Wait()
	}
	delete(m.marks, mark)
	if m.err != nil {
		return fmt.Errorf("run MONITOR: %w", m.err)
	}
	return nil
}

// Close ends the monitor. It does not close the client.
func (m *monitor) Close() {
	_ = m.conn.Close()
	m.all.Wait()
}

// A line is one of MONITOR: a command that the server carried out, with the time of the server's clock.
type line struct {
	at     time.Time
	db     int
	script bool   // a script called it
	from   string // the client's address; "" in a script
	args   []string
}

// parseLine parses a line such as +1339518083.107412 [0 127.0.0.1:60866] "get" "k\x00". For a command of a script, the
// address is lua.
func parseLine(text string) (l line, err error) {
	bad := fmt.Errorf("not a line of MONITOR: %.80q", text)
	when, rest, _ := strings.Cut(strings.TrimPrefix(text, "+"), " ")
	from, rest, found := strings.Cut(rest, `] "`)
	seconds, micros, _ := strings.Cut(when, ".")
	if l.at, err = serverTime(seconds, micros); err != nil || !found {
		return l, bad
	}
	number, client, _ := strings.Cut(strings.TrimPrefix(from, "["), " ")
	if l.db, err = strconv.Atoi(number); err != nil {
		return l, bad
	}
	l.from = client
	l.script = l.from == "lua"
	for rest = `"` + rest; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return l, bad
		}
		arg, _ := strconv.Unquote(quoted)
		l.args, rest = append(l.args, arg), rest[len(quoted):]
	}
	return l, nil
}

func serverTime(seconds, micros string) (time.Time, error) {
	s, err := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	return time.UnixMicro(s*1e6 + us), errors.Join(err, err2)
}
