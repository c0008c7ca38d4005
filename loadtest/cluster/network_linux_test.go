package cluster

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names is a server that answers each connection with its name, and what it was sent until the client has closed.
func names(t *testing.T, name string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c)
			_, _ = io.WriteString(c, name+" got "+string(text))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// needsNetwork skips a test where a service cannot have a network, unless STOCKAPI_REQUIRE names the network.
func needsNetwork(t *testing.T) {
	t.Helper()
	c, ctx := newCluster(t)
	o := foreign(oneProcess)
	o.Literal.Port = 8080
	f, err := c.StartForeign(ctx, o)
	if err == nil {
		require.NoError(t, f.Kill())
		return
	}
	if strings.Contains(os.Getenv("STOCKAPI_REQUIRE"), "network") || !strings.Contains(err.Error(), "namespace") {
		require.NoError(t, err)
	}
	t.Skip(err)
}

// asked returns what a service answers to a request of a client that then closes its half of the connection.
func asked(t *testing.T, f *Foreign, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", hostPort(f.URL))
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(answer)
}

func TestLiteralAddressesLeadToTheServers(t *testing.T) {
	needsNetwork(t)
	c, ctx := newCluster(t)
	redis, database := names(t, "redis"), names(t, "database")
	elsewhere := names(t, "elsewhere")
	for _, one := range []struct {
		literal    Literal
		dial, want string
	}{
		{Literal{Redis: "127.0.0.1:6379"}, "127.0.0.1:6379", "redis got it"},
		{Literal{Redis: "127.0.0.1:6379"}, "[::1]:6379", "redis got it"},
		{Literal{Redis: "[::1]:6379"}, "127.0.0.1:6379", "redis got it"},
		{Literal{Redis: "localhost:6379"}, "localhost:6379", "redis got it"},
		{Literal{Redis: "127.0.1.1:80"}, "127.0.1.1:80", "redis got it"},
		{Literal{Redis: "192.168.150.101:6379", Database: "10.0.0.3:1"}, "192.168.150.101:6379", "redis got it"},
		{Literal{Redis: "192.168.150.101:6379", Database: "192.168.150.101:5432"}, "192.168.150.101:5432", "database got it"},
		{Literal{Redis: "127.0.0.1:6379", Database: "127.0.0.1:5432"}, "127.0.0.1:5432", "database got it"},
		{Literal{}, redis, "redis got it"},
		{Literal{}, database, "database got it"},
		{Literal{}, elsewhere, "dial tcp " + elsewhere + ": connect: connection refused"},
		{Literal{}, "192.0.2.1:80", "dial tcp 192.0.2.1:80: connect: network is unreachable"},
	} {
		t.Setenv("FLEET_DIAL", one.dial)
		o := foreign(`FLEET_TEST=passer exec "$FLEET_SELF"`)
		o.RedisAddr, o.Database, o.Literal = redis, database, one.literal
		o.Literal.Port = 8080
		f, err := c.StartForeign(ctx, o)
		require.NoError(t, err, one)
		assert.Equal(t, one.want, asked(t, f, "it"), one)
		require.NoError(t, f.Kill())
	}
}

func TestLiteralAddressOfADatabaseThatIsNotProxied(t *testing.T) {
	needsNetwork(t)
	c, ctx := newCluster(t)
	database := names(t, "database")
	t.Setenv("FLEET_DIAL", database)
	o := foreign(`FLEET_TEST=passer exec "$FLEET_SELF"`)
	o.Literal = Literal{Database: database, Port: 8080}
	f, err := c.StartForeign(ctx, o)
	require.NoError(t, err)
	assert.Equal(t, "database got it", asked(t, f, "it"))
}

// Two instances have the same port, and a third program may have it, too.
func TestInstancesWithTheSameLiteralPort(t *testing.T) {
	needsNetwork(t)
	c, ctx := newCluster(t)
	redis := names(t, "redis")
	t.Setenv("FLEET_DIAL", redis)
	o := foreign(`FLEET_TEST=passer exec "$FLEET_SELF"`)
	o.RedisAddr, o.Literal = redis, Literal{Port: 8080}
	a, err := c.StartForeign(ctx, o)
	require.NoError(t, err)
	b, err := c.StartForeign(ctx, o)
	require.NoError(t, err)
	require.NoError(t, b.Stop())
	assert.Equal(t, "redis got this", asked(t, a, "this"))
	require.NoError(t, b.Continue())
	assert.Equal(t, "redis got that", asked(t, b, "that"))
	require.NoError(t, a.Kill())
	_, err = net.Dial("tcp", hostPort(a.URL))
	require.ErrorContains(t, err, "refused", "as by any killed service")
	assert.Equal(t, "redis got that", asked(t, b, "that"))
}

// What is refused, killed or reset in a network looks like that outside, and no process of ours is left.
func TestNetworkOfAServiceThatDies(t *testing.T) {
	needsNetwork(t)
	c, ctx := newCluster(t)
	o := foreign(`FLEET_TEST=passer "$FLEET_SELF" & sleep 0.5; kill $!; exit 7`)
	o.Literal.Port = 8080
	f, err := c.StartForeign(ctx, o)
	require.NoError(t, err)
	<-f.Exited()
	assert.Equal(t, 7, f.cmd.ProcessState.ExitCode())
	<-f.ended
	_, err = net.Dial("tcp", hostPort(f.URL))
	require.ErrorContains(t, err, "refused")
	_, err = os.Stat(f.network.Table)
	require.ErrorIs(t, err, os.ErrNotExist, "the porter has ended, and is no zombie")
	require.NoError(t, f.Kill())
}

// A process in a network of its own is stopped, continued and killed like any other.
func TestForeignInANetwork(t *testing.T) {
	needsNetwork(t)
	t.Setenv("FLEET_LITERAL", "8080")
	t.Run("group", TestForeignIsStoppedContinuedAndKilledAsAGroup)
	t.Run("children", TestForeignDiesWithItsChildren)
	t.Run("left its group", TestForeignThatLeftItsGroup)
	t.Run("dies at start", TestForeignThatDiesAtStartReportsItsLastLines)
	t.Run("dies with loadtest", TestForeignThatLeftItsGroupDiesWithLoadtest)
}

// The user of a service in a network is the same, and sees the same files.
func TestUserInANetwork(t *testing.T) {
	needsNetwork(t)
	c, ctx := newCluster(t)
	if _, err := exec.LookPath("id"); err != nil {
		t.Skip("needs id")
	}
	want, err := exec.Command("id", "-u").Output()
	require.NoError(t, err)
	o := foreign(`id -u; ls -l /proc/self/fd | grep -c socket: ; ` + oneProcess)
	o.Literal.Port = 8080
	f, err := c.StartForeign(ctx, o)
	require.NoError(t, err)
	require.NoError(t, f.Kill())
	assert.Equal(t, []string{strings.TrimSpace(string(want)), "0"}, f.Tail(), "it inherits no file of ours")
}
