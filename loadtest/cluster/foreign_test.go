package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shop is a program that listens on a port, and does nothing else. It exits by itself if a test fails to end it.
func shop() {
	time.AfterFunc(3*time.Minute, func() { os.Exit(2) })
	l, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("FLEET_HOST"), os.Getenv("PORT")))
	for err == nil {
		var conn net.Conn
		if conn, err = l.Accept(); err == nil {
			_ = conn.Close()
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// Scripts of foreign services: one process that listens, and three of which the last listens.
const (
	oneProcess     = `FLEET_TEST=shop exec "$FLEET_SELF"`
	threeProcesses = `echo $$; sleep 600 & FLEET_TEST=shop "$FLEET_SELF" & wait`
)

// foreign is a foreign service that the shell runs.
func foreign(script string, args ...string) ForeignOptions {
	_ = os.Setenv("FLEET_SELF", os.Args[0])
	script = "PATH=$PATH:/usr/bin:/bin; " + script
	port, _ := strconv.Atoi(os.Getenv("FLEET_LITERAL")) // of a service in a network, or 0
	return ForeignOptions{Argv: append([]string{"/bin/sh", "-c", script}, args...), RedisAddr: "127.0.0.1:6379", Name: "a",
		Literal: Literal{Port: port}}
}

// own is a program that starts a foreign service, prints its output and waits.
func own() {
	c, ctx, err := New(context.Background(), Options{})
	if err == nil {
		var f *Foreign
		if f, err = c.StartForeign(ctx, foreign(os.Getenv("FLEET_SHOP"))); err == nil {
			for len(f.Tail()) == 0 {
				time.Sleep(time.Millisecond)
			}
			fmt.Println(f.Tail()[0])
			select {}
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// A server may crash on a connection without a request.
func TestListenerMakesNoConnection(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:0": "127.0.0.1", "[::1]:0": "::1", ":0": "127.0.0.1"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			continue // this machine has no IPv6
		}
		port := l.Addr().(*net.TCPAddr).Port
		if _, known := listens(port); !known {
			t.Skip("this system does not report listeners")
		}
		assert.Equal(t, net.JoinHostPort(want, strconv.Itoa(port)), listener(t.Context(), port), listen)
		require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = l.Accept()
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "a connection was made")
		require.NoError(t, l.Close())
		assert.Empty(t, listener(t.Context(), port))
	}
}
