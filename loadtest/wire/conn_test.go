package wire

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
	"stockapi/loadtest/wire/resp"
	"stockapi/loadtest/wire/socket"
)

// An end is one end of a connection: the test as client or as server.
type end struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// A pair is a client and a server, with an open wire between them.
type pair struct {
	*Wire
	client, server *end
}

func newPair(t *testing.T) *pair {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	w, err := New(NewGate(nil), &schedule.Client{Name: "a"}, &schedule.Server{Name: "stock", Host: l.Addr().String()}, 0)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	client, err := net.Dial("tcp", w.Host())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return &pair{w, newEnd(t, client), newEnd(t, server)}
}

func newEnd(t *testing.T, c net.Conn) *end {
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return &end{c, t, bufio.NewReader(c)}
}

// sends sends lines.
func (e *end) sends(lines ...string) {
	e.t.Helper()
	_, err := e.Write([]byte(strings.Join(lines, "\r\n") + "\r\n"))
	require.NoError(e.t, err)
}

// gets reads lines, and expects these.
func (e *end) gets(lines ...string) {
	e.t.Helper()
	for _, want := range lines {
		line, err := e.r.ReadString('\n')
		require.NoError(e.t, err, "instead of %s", want)
		require.Equal(e.t, want, strings.TrimSpace(line))
	}
}

// ends waits until the other side has closed the connection.
func (e *end) ends() {
	e.t.Helper()
	line, err := e.r.ReadString('\n')
	require.Error(e.t, err, line)
	var late net.Error
	if errors.As(err, &late) {
		require.False(e.t, late.Timeout(), "it is still open")
	}
}

// hold makes commands wait from now on.
func (p *pair) hold() { p.gate.Close() }

// waits returns the command of that name at the gate.
func (p *pair) waits(t *testing.T, name string) (found *Command) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, cmd := range p.gate.Of(p.sender) {
			if cmd.Name == name {
				found = cmd
			}
		}
		return found != nil
	}, patience, time.Millisecond, name)
	return found
}

// seen returns the record of the first command of that name once fits accepts it.
func (p *pair) seen(t *testing.T, name string, fits func(Seen) bool) (found Seen) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, one := range p.gate.Log() {
			if one.Name == name {
				found = one
				return fits(one)
			}
		}
		return false
	}, patience, time.Millisecond, name)
	return found
}

func TestPipelineIsGatedOneByOne(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("SET k 1", "EXPIRE k 9", "GET k")
	get := p.waits(t, "get")
	set, expire := p.waits(t, "set"), p.waits(t, "expire")
	p.gate.Decide(expire, schedule.Pass)
	p.server.gets("EXPIRE k 9")
	p.server.sends(":1")
	p.gate.Decide(set, schedule.Pass)
	p.server.gets("SET k 1")
	p.gate.Decide(get, schedule.Pass)
	p.server.gets("GET k")
	<-expire.Done()
	assert.Zero(t, p.gate.Log()[0].Delivered, "the commands before it have no reply")
	p.server.sends("+OK", "$1", "1")
	p.client.gets("+OK", ":1", "$1", "1")
	heard := time.Now()
	for i, name := range []string{"expire", "set", "get"} {
		one := p.seen(t, name, func(s Seen) bool { return !s.Delivered.IsZero() })
		assert.Equal(t, one, p.gate.Log()[i])
		assert.False(t, one.Sent.Before(one.Came))
		assert.False(t, one.Delivered.Before(one.Answered))
		assert.False(t, one.Delivered.After(heard), "what the client does with the reply comes later")
	}
}

func TestPipelineKeepsItsOrderAsTheGateOpens(t *testing.T) {
	p := newPair(t)
	p.hold()
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("INCRBY k %d", i))
	}
	p.client.sends(want[:100]...)
	p.waits(t, "incrby")
	p.gate.OpenAll()
	p.client.sends(want[100:]...)
	p.server.gets(want...)
}

// A command that changes what others on the connection mean keeps its place, though it bypasses the gate.
func TestSelectIsNotOvertaken(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("SET k 1", "PING", "SELECT 1", "GET k")
	p.server.gets("PING")
	get := p.waits(t, "get")
	p.gate.Decide(get, schedule.Pass)
	p.gate.Decide(p.waits(t, "set"), schedule.Pass)
	p.server.gets("SET k 1", "SELECT 1", "GET k")
}

// A server without a password refuses an AUTH that has only one.
func TestAuthGetsAUser(t *testing.T) {
	p := newPair(t)
	assert.False(t, p.Spoken())
	p.client.sends("AUTH secret")
	p.server.gets("*3", "$4", "AUTH", "$7", "default", "$6", "secret")
	p.server.sends("+OK")
	p.client.gets("+OK")
	assert.True(t, p.Spoken())
	p.client.sends("AUTH me secret")
	p.server.gets("AUTH me secret")
}

func TestRefusedCommandsGetAReason(t *testing.T) {
	p := newPair(t)
	p.client.sends("CLUSTER SLOTS", "SENTINEL masters", "CLIENT REPLY OFF", "PSYNC ? -1", "CLIENT REPLY ON")
	p.server.gets("CLIENT REPLY ON")
	p.server.sends("+OK")
	p.client.gets("-ERR "+noCluster, "-ERR "+noSentinel, "-ERR a wire knows a command's end by its reply: leave CLIENT "+
		"REPLY on", "-ERR a wire does not carry replication: connect replicas to the server", "+OK")
	p.client.sends("shutdown NOSAVE", "client kill TYPE normal", "CONFIG SET requirepass x", "CONFIG SET save x")
	p.client.gets("-ERR a wire does not pass SHUTDOWN on, since the load test uses the same server: leave it out",
		"-ERR a wire does not pass CLIENT KILL on, since the load test uses the same server: leave it out",
		"-ERR a wire does not pass CONFIG SET REQUIREPASS on, since the load test uses the same server: leave it out")
	p.server.gets("CONFIG SET save x")
	p.server.sends("+OK")
	p.client.gets("+OK")
	p.client.sends("GET k")
	p.server.gets("GET k")
	p.server.sends("-MOVED 12 127.0.0.1:1")
	p.client.gets("-ERR " + noCluster)
	assert.Len(t, p.Refused(), 7)
	p.client.sends("PING", "\x16\x03\x01")
	p.server.gets("PING")
	p.server.sends("+PONG")
	p.client.gets("+PONG", "-ERR "+resp.ErrTLS.Error())
	p.client.ends()
	assert.Contains(t, p.Refused(), resp.ErrTLS.Error())
}

// A client may wait for +OK before it sends the next command. Commands sent after a held transaction stay out of it.
func TestTransactionIsSentOnWithItsExec(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("CLIENT CACHING YES", "MULTI")
	p.client.gets("+OK", "+OK")
	p.client.sends("INCR k", "MULTI", "GET k")
	p.client.gets("+QUEUED", "-ERR multi inside MULTI is not allowed", "+QUEUED")
	p.client.sends("EXEC", "PEXPIRE lock 9")
	p.gate.Decide(p.waits(t, "pexpire"), schedule.Pass)
	p.server.gets("PEXPIRE lock 9")
	exec := p.waits(t, "exec")
	assert.Equal(t, []string{"INCR", "k"}, exec.Args)
	assert.Equal(t, [][]string{{"INCR", "k"}, {"GET", "k"}}, exec.Queued)
	p.gate.Decide(exec, schedule.Pass)
	p.server.gets("CLIENT CACHING YES", "MULTI", "INCR k", "GET k", "EXEC")
	p.server.sends(":1", "+OK", "+OK", "+QUEUED", "+QUEUED", "*2", ":1", "$1", "1")
	p.client.gets("*2", ":1", "$1", "1", ":1")
	assert.Equal(t, `[1 "1"]`, p.seen(t, "exec", func(s Seen) bool { return s.State == Done }).Reply)

	p.client.sends("MULTI", "GET k", "DISCARD", "GET k")
	p.client.gets("+OK", "+QUEUED")
	p.server.gets("*1", "$7", "UNWATCH")
	p.server.sends("+OK")
	p.client.gets("+OK")
	p.waits(t, "get")
}

func TestSubscriptionBeforeRESP3(t *testing.T) {
	p := newPair(t)
	p.client.sends("LRANGE l 0 -1", "SUBSCRIBE a b", "PING")
	p.server.gets("LRANGE l 0 -1", "SUBSCRIBE a b", "PING")
	p.server.sends("*3", "$7", "message", "$1", "a", "$1", "x") // the reply to LRANGE
	p.client.gets("*3", "$7", "message", "$1", "a", "$1", "x")
	first, second := []string{"*3", "$9", "subscribe", "$1", "a", ":1"}, []string{"*3", "$9", "subscribe", "$1", "b", ":2"}
	message := []string{"*3", "$7", "message", "$1", "a", "$1", "x"}
	p.server.sends(first...)
	p.hold()
	p.server.sends(message...)
	p.server.sends(second...)
	assert.Equal(t, []string{"message", "a", "x"}, p.waits(t, "message").Args)
	p.gate.OpenAll()
	p.client.gets(slices.Concat(first, message, second)...) // in the order in which they were sent
	p.server.sends("*2", "$4", "pong", "$0", "")
	p.client.gets("*2", "$4", "pong", "$0", "")
	assert.True(t, p.seen(t, "subscribe", func(s Seen) bool { return s.State == Done }).Subscribes)

	p.client.sends("UNSUBSCRIBE", "GET k")
	p.server.gets("UNSUBSCRIBE", "GET k")
	ends := []string{"*3", "$11", "unsubscribe", "$1", "b", ":1", "*3", "$11", "unsubscribe", "$1", "a", ":0"}
	p.server.sends(append(ends, "$1", "v")...)
	p.client.gets(append(ends, "$1", "v")...)
}

func TestSubscriptionOfRESP3LetsCommandsPass(t *testing.T) {
	p := newPair(t)
	p.client.sends("HELLO 3", "PSUBSCRIBE a*")
	p.server.gets("HELLO 3", "PSUBSCRIBE a*")
	p.server.sends("%1", "+proto", ":3", ">3", "+psubscribe", "$2", "a*", ":1")
	p.client.gets("%1", "+proto", ":3", ">3", "+psubscribe", "$2", "a*", ":1")
	p.hold()
	p.client.sends("GET k", "LRANGE l 0 -1")
	get := p.waits(t, "get")
	p.gate.Decide(p.waits(t, "lrange"), schedule.Pass)
	p.server.gets("LRANGE l 0 -1")
	p.server.sends(">4", "+pmessage", "$2", "a*", "$1", "a", "$1", "x")
	message := p.waits(t, "message")
	p.server.sends(">2", "+invalidate", "*1", "$1", "k")
	p.client.gets(">2", "+invalidate", "*1", "$1", "k") // despite waiting commands and a waiting message
	require.Eventually(t, func() bool { return len(p.Invalidations()) == 1 }, patience, time.Millisecond)
	p.server.sends("*3", "$9", "subscribe", "$1", "a", ":1")
	p.seen(t, "lrange", func(s Seen) bool { return s.Reply == `["subscribe" "a" 1]` }) // the list, not a confirmation
	p.gate.Decide(message, schedule.Pass)
	<-message.Done()
	p.gate.Decide(get, schedule.Pass)
	p.server.gets("GET k")
	p.server.sends("_")
	p.client.gets("_", "*3", "$9", "subscribe", "$1", "a", ":1", ">4", "+pmessage", "$2", "a*", "$1", "a", "$1", "x")
	p.server.sends("+unasked")
	p.client.gets("+unasked")
	p.client.ends()
}

func TestMonitorIsPassedOn(t *testing.T) {
	p := newPair(t)
	p.client.sends("MONITOR", "GET k")
	p.server.gets("MONITOR", "GET k")
	p.server.sends("+OK", `+1700000000.1 [0 127.0.0.1:1] "get" "k"`, "+value", `+1700000000.2 [0 lua] "get" "k"`)
	p.client.gets("+OK", `+1700000000.1 [0 127.0.0.1:1] "get" "k"`, "+value", `+1700000000.2 [0 lua] "get" "k"`)
}

// Losing a command breaks its connection at once. Commands already sent on are carried out, and their replies recorded.
func TestLostCommandsBreakTheirConnection(t *testing.T) {
	for _, d := range []schedule.Decision{schedule.LostReply, schedule.LostRequest} {
		p := newPair(t)
		p.hold()
		p.client.sends("SET k 1", "GET k", "GET other")
		set, first := p.waits(t, "set"), p.waits(t, "get")
		require.Eventually(t, func() bool { return len(p.gate.Of(p.sender)) == 3 }, patience, time.Millisecond)
		p.gate.Decide(set, schedule.Pass)
		p.server.gets("SET k 1")
		p.gate.Decide(first, d)
		if d == schedule.LostReply {
			p.server.gets("GET " + first.On())
			p.server.sends("+OK", "$1", "1")
			p.client.gets("+OK")
		}
		p.client.ends()
		if d == schedule.LostRequest {
			p.server.sends("+OK")
		}
		p.server.ends()
		assert.Equal(t, "OK", p.seen(t, "set", func(s Seen) bool { return s.State == Done }).Reply)
		states := map[schedule.Decision]int{}
		for _, one := range p.gate.Log() {
			states[one.Decision]++
		}
		assert.Equal(t, map[schedule.Decision]int{schedule.Pass: 1, d: 1, schedule.TooLate: 1}, states)
	}
}

// A refused command may be answered by an error, in its turn. Its connection stays open, and a refused transaction
// clears the WATCH.
func TestRefusedCommandIsAnsweredByAnError(t *testing.T) {
	p := newPair(t)
	p.hold()
	pass := func(name string) { p.gate.Decide(p.waits(t, name), schedule.Pass) }
	refuse := func(name, err string) {
		cmd := p.waits(t, name)
		cmd.Error = err
		p.gate.Decide(cmd, schedule.Refuse)
	}
	p.client.sends("GET k", "SET k 1", "STRLEN k")
	refuse("set", "OOM command not allowed when used memory > 'maxmemory'.")
	pass("get")
	pass("strlen")
	p.server.gets("GET k", "STRLEN k")
	p.server.sends("$1", "7", ":1")
	p.client.gets("$1", "7", "-OOM command not allowed when used memory > 'maxmemory'.", ":1")
	set := p.seen(t, "set", func(s Seen) bool { return s.State == Done })
	assert.Equal(t, schedule.Refuse, set.Decision)
	assert.Zero(t, set.Sent)

	p.client.sends("WATCH k", "MULTI", "SET k 1", "EXEC", "DEL k")
	pass("watch")
	p.server.gets("WATCH k")
	p.server.sends("+OK")
	refuse("exec", "LOADING Redis is loading the dataset in memory")
	p.server.gets("*1", "$7", "UNWATCH")
	pass("del")
	p.server.gets("DEL k")
	p.server.sends("+OK", ":0")
	p.client.gets("+OK", "+OK", "+QUEUED",
		"-EXECABORT Transaction discarded because of: LOADING Redis is loading the dataset in memory", ":0")
}

// A late command reaches its server after its client has gone or was cut off.
func TestCommandArrivesAfterItsClientHasGone(t *testing.T) {
	for _, held := range []bool{false, true} {
		p := newPair(t)
		p.hold()
		p.client.sends("SET k 1", "GET k")
		set := p.waits(t, "set")
		if held {
			set.Arrive = make(chan struct{})
		}
		p.gate.Decide(set, schedule.ComesLate)
		p.gate.Decide(p.waits(t, "get"), schedule.Pass)
		p.server.gets("GET k") // not held back by the late command
		p.server.sends("$-1")
		if held {
			p.BreakClients()
			p.seen(t, "get", func(s Seen) bool { return s.State == Done })
			assert.Equal(t, Waiting, p.gate.Log()[0].State)
			close(set.Arrive)
		} else {
			require.NoError(t, p.client.Close())
		}
		p.server.gets("SET k 1")
		p.server.sends("+OK")
		<-set.Done()
		p.server.ends()
		one := p.gate.Log()[0]
		assert.Equal(t, "OK", one.Reply)
		assert.False(t, one.Sent.IsZero())
		assert.Zero(t, one.Delivered)
	}
}

// A client that closes its sending half still gets the outstanding replies.
func TestHalfClosedClientGetsItsReplies(t *testing.T) {
	p := newPair(t)
	p.client.sends("GET k", "PING")
	require.NoError(t, p.client.Conn.(*net.TCPConn).CloseWrite())
	p.server.gets("GET k", "PING")
	p.server.sends("$-1", "+PONG")
	p.client.gets("$-1", "+PONG")
	p.client.ends()
	p.server.ends()
}

// Close leaves nothing at the gate and no command unfinished, whatever the wire is doing.
func TestCloseEndsAllCommands(t *testing.T) {
	p := newPair(t)
	p.client.sends("SUBSCRIBE a", "GET k", "SELECT 1", "BLPOP l 0")
	p.server.gets("SUBSCRIBE a", "GET k", "SELECT 1", "BLPOP l 0")
	p.server.sends("*3", "$9", "subscribe", "$1", "a", ":1")
	p.hold()
	p.server.sends("*3", "$7", "message", "$1", "a", "$1", "x")
	p.client.sends("SET k 1", "SET k 2", "SELECT 2", "MULTI", "GET k")
	late := p.waits(t, "set")
	late.Arrive = make(chan struct{})
	p.gate.Decide(late, schedule.ComesLate)
	waits := []*Command{p.waits(t, "message"), late}
	p.Close()
	assert.Empty(t, p.gate.Of(p.sender))
	for _, cmd := range waits {
		<-cmd.Done()
	}
	for _, one := range p.gate.Log() {
		assert.Equal(t, Done, one.State, one.Name)
	}
}

// Two orders of an instance may run the same script with the same arguments at the same time.
func TestEqualScriptsAreTwoSteps(t *testing.T) {
	p := newPair(t)
	p.client.sends("EVALSHA abc 1 k", "EVALSHA abc 1 k")
	p.server.gets("EVALSHA abc 1 k", "EVALSHA abc 1 k")
	p.server.sends("-NOSCRIPT no", "-NOSCRIPT no")
	p.client.gets("-NOSCRIPT no", "-NOSCRIPT no")
	p.client.sends("EVALSHA abc 1 k", "EVALSHA abc 1 k")
	p.server.gets("EVALSHA abc 1 k", "EVALSHA abc 1 k")
	p.server.sends(":1", ":2")
	p.client.gets(":1", ":2")
	var replies []string
	for _, one := range p.gate.Log() {
		replies = append(replies, one.Reply)
	}
	assert.Equal(t, []string{"1", "2"}, replies)
}

// A late script that the server does not know has no client left to resend it.
func TestLateUnknownScriptIsDone(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("EVALSHA abc 1 k")
	cmd := p.waits(t, "eval")
	p.gate.Decide(cmd, schedule.ComesLate)
	require.NoError(t, p.client.Close())
	p.server.gets("EVALSHA abc 1 k")
	p.server.sends("-NOSCRIPT no")
	p.server.ends()
	<-cmd.Done()
	assert.True(t, p.gate.Log()[0].Failed)
}

// What a connection buffers is bounded, from either side. Exceeding the bound closes it.
func TestConnectionBufferIsBounded(t *testing.T) {
	for _, fromServer := range []bool{false, true} {
		p := newPair(t)
		p.client.sends("GET k")
		p.server.gets("GET k")
		c := p.open()[0]
		c.mu.Lock()
		c.kept = maxKept + 1
		c.mu.Unlock()
		want := resp.ErrProtocol.Error()
		if fromServer {
			p.server.sends("$-1")
			want = "stock: " + want
		} else {
			p.client.sends("GET k")
		}
		p.server.ends()
		p.client.ends()
		assert.Equal(t, []string{want}, p.Refused())
	}
}

func TestBlockingCommandEndsWithItsClient(t *testing.T) {
	for _, one := range []string{"BLPOP l 0", "XREAD COUNT 1 BLOCK 0 STREAMS s $"} {
		p := newPair(t)
		p.client.sends("GET k", one)
		p.server.gets("GET k", one)
		require.NoError(t, p.client.Close())
		p.server.sends("$-1")
		p.server.ends()
		assert.Equal(t, "(nil)", p.gate.Log()[0].Reply)
	}
}

func TestReplyIsWithheldUntilItMayBeDelivered(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("GET k", "PEXPIRE lock 9")
	get := p.waits(t, "get")
	get.Deliver = make(chan struct{})
	p.gate.OpenAll()
	p.server.gets("GET k", "PEXPIRE lock 9")
	p.server.sends("$-1", ":1")
	<-get.Done()
	p.seen(t, "pexpire", func(s Seen) bool { return s.State == Done })
	assert.Zero(t, p.gate.Log()[0].Delivered)
	close(get.Deliver)
	p.client.gets("$-1", ":1")
}

// What waits at the gate, or blocks at the server, is not on its way; what the server has yet to answer is, and so are
// bytes that have come and were not handled.
func TestWireIsBusyWhileAnythingIsOnItsWay(t *testing.T) {
	p := newPair(t)
	busy := func(want bool) {
		t.Helper()
		require.Eventually(t, func() bool { return p.IsBusy() == want }, patience, time.Millisecond)
	}
	p.hold()
	p.client.sends("GET k")
	get := p.waits(t, "get")
	busy(false)
	p.gate.Decide(get, schedule.Pass)
	p.server.gets("GET k")
	busy(true)
	p.server.sends("$-1")
	p.client.gets("$-1")
	busy(false)
	p.gate.OpenAll()
	p.client.sends("BLPOP k 0")
	p.server.gets("BLPOP k 0")
	busy(false)
	if _, known := socket.Received(p.client.Conn); known { // the wire reads them at once
		_, err := p.client.Write([]byte("GE"))
		require.NoError(t, err)
		busy(true)
	}
}

// A script that is loaded because its server does not know it is one step too.
func TestScriptThatIsLoadedIsOneStep(t *testing.T) {
	p := newPair(t)
	p.hold()
	p.client.sends("EVALSHA abc 1 k")
	p.gate.Decide(p.waits(t, "eval"), schedule.Pass)
	p.server.gets("EVALSHA abc 1 k")
	p.server.sends("-NOSCRIPT No matching script.")
	p.client.gets("-NOSCRIPT No matching script.")
	p.client.sends("SCRIPT LOAD x", "EVALSHA abc 1 k")
	p.server.gets("SCRIPT LOAD x", "EVALSHA abc 1 k")
	p.server.sends("$3", "abc", ":1")
	p.client.gets("$3", "abc", ":1")
	assert.Equal(t, "1", p.seen(t, "eval", func(s Seen) bool { return s.State == Done }).Reply)
	assert.Len(t, p.gate.Log(), 1)
}

// With a looker, commands are carried out one after the other.
func TestCommandsAreLookedAtInTurn(t *testing.T) {
	p := newPair(t)
	looked := make(chan string, 10)
	p.gate.Look = func(cmd *Command, carryOut func()) {
		looked <- "before " + cmd.Name
		carryOut()
		if cmd.Name == "blpop" {
			time.Sleep(10 * time.Millisecond)
			assert.False(t, IsClosed(cmd.Done()), "not done before the look")
		}
		looked <- "after " + cmd.Name + ": " + cmd.Reply
	}
	p.client.sends("GET k", "SET k 1", "PING", "BLPOP l 0", "GET k")
	p.server.gets("GET k")
	assert.Equal(t, "before get", <-looked)
	p.server.sends("$-1")
	p.server.gets("SET k 1")
	p.server.sends("+OK")
	p.server.gets("PING", "BLPOP l 0")
	p.server.sends("+PONG", "$-1") // a blocking command holds back those behind it: no look could see their effect
	p.server.gets("GET k")
	require.NoError(t, p.server.Close())
	for _, want := range []string{"after get: (nil)", "before set", "after set: OK", "before blpop"} {
		assert.Equal(t, want, <-looked)
	}
	last := []string{<-looked, <-looked, <-looked} // a blocking command takes no turn
	assert.ElementsMatch(t, []string{"after blpop: (nil)", "before get", "after get: "}, last)
}

// A client may send a lot before it reads.
func TestUnreadRepliesBlockNothing(t *testing.T) {
	p := newPair(t)
	const n, size = 64, 1 << 20
	for range n {
		p.client.sends("GET k")
	}
	for range n { // a reply before its command would be unasked
		p.server.gets("GET k")
	}
	go func() {
		value := strings.Repeat("x", size)
		for range n {
			_, _ = fmt.Fprintf(p.server, "$%d\r\n%s\r\n", size, value)
		}
	}()
	require.Eventually(t, func() bool {
		log := p.gate.Log()
		return len(log) == n && log[n-1].State == Done
	}, patience, time.Millisecond)
	for range n {
		p.client.gets(fmt.Sprintf("$%d", size), strings.Repeat("x", size))
	}
}
