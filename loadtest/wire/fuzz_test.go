package wire

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stockapi/loadtest/schedule"
)

// Arbitrary bytes from either side close their connection and nothing else.
func FuzzConnection(f *testing.F) {
	for _, text := range []string{
		"*1\r\n$4\r\nPING\r\n",
		"PING\r\nMULTI\r\nGET k\r\nEXEC\r\n",
		"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n",
		"\x16\x03\x01\x02",
		"CLIENT CACHING YES\r\nMULTI\r\nDISCARD\r\nUNSUBSCRIBE\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n",
		">3\r\n+message\r\n+a\r\n+b\r\n",
		"%1\r\n+proto\r\n:3\r\n>0\r\n*0\r\n",
		"-NOSCRIPT x\r\n-MOVED 1 x\r\n",
		"|1\r\n+a\r\n:1\r\n_\r\n",
		"$-1\r\n*-1\r\n=1\r\n",
		"+1 a\r\n+2 b\r\n",
		"*99999999\r\n",
		"\r\n\r\n",
		"*1\r\n$0\r\n\r\n*1\r\n$4\r\nEVAL\r\n",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, fromServer bool) {
		w := &Wire{Server: &schedule.Server{Name: "stock"}, gate: NewGate(nil), sender: &schedule.Client{Name: "a"},
			conns: map[*conn]bool{}, locals: map[string]bool{}, unknown: map[string][]*Command{}}
		connect := func() (client, server net.Conn) {
			client, atClient := net.Pipe()
			server, atServer := net.Pipe()
			w.all.Go(func() { w.connect(newConn(w, atClient, atServer)) })
			for _, c := range []net.Conn{client, server} {
				require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
			}
			return client, server
		}
		client, server := connect()
		from := client
		if fromServer {
			from = server
			go func() {
				_, _ = io.WriteString(client, "HELLO 3\r\nMONITOR\r\nSUBSCRIBE a\r\nEVALSHA x 0\r\nGET k\r\nRESET\r\n")
			}()
		}
		for _, c := range []net.Conn{client, server} {
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		_, _ = from.Write(text)
		_ = from.Close()

		other, behind := connect()
		go func() {
			line, _ := bufio.NewReader(behind).ReadString('\n')
			_, _ = io.WriteString(behind, "+"+line)
		}()
		go func() { _, _ = io.WriteString(other, "GET k\r\n") }()
		line, err := bufio.NewReader(other).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "+GET k\r\n", line)
		for _, c := range w.open() {
			c.close()
		}
		w.all.Wait()
	})
}
