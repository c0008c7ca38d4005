package cluster

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// passer is a shop that passes each connection to the literal address in its environment on to that address.
func passer() {
	time.AfterFunc(3*time.Minute, func() { os.Exit(2) })
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	for err == nil {
		var from net.Conn
		if from, err = l.Accept(); err != nil {
			break
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp", os.Getenv("FLEET_DIAL"))
			if err != nil {
				_, _ = io.ReadAll(from) // closing a connection with unread bytes resets it
				_, _ = io.WriteString(from, err.Error())
				return
			}
			defer to.Close()
			_, _ = io.Copy(to, from)
			_ = to.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(from, to)
		}()
	}
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

func TestLiteralThatCannotBe(t *testing.T) {
	for want, l := range map[string]Literal{
		"--redis-at: address 6379: missing port in address: write HOST:PORT":                {Redis: "6379"},
		`--redis-at: "x" is no port: write HOST:PORT`:                                       {Redis: "127.0.0.1:x"},
		`--db-at: "0" is no port: write HOST:PORT`:                                          {Database: "127.0.0.1:0"},
		`--redis-at: "redis" is no IP address: write that of the shop's code, or localhost`: {Redis: "redis:6379"},
		"--db-at: fd00::1 cannot be had: only ::1 and IPv4 addresses can":                   {Database: "[fd00::1]:1"},
		"--redis-at and --db-at are both localhost:1: the shop cannot tell them apart":      {"localhost:1", "[::1]:1", 0},
		"--port-at 6379 is the port of --redis-at, too":                                     {"10.0.0.1:6379", "", 6379},
		"--port-at 5432 is the port of --db-at, too":                                        {"", "0.0.0.0:5432", 5432},
	} {
		require.EqualError(t, l.Check(), want)
	}
	for _, l := range []Literal{{}, {Port: 1}, {"127.0.0.1:1", "10.0.0.1:1", 0}, {"[::1]:1", "127.0.0.1:2", 3}} {
		require.NoError(t, l.Check())
	}
}
