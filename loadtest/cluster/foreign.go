package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"stockapi/loadtest/cluster/netns"
	"strconv"
	"strings"
	"time"
)

// ForeignOptions describe a foreign service and its servers.
type ForeignOptions struct {
	// Argv is the command line. In it {port}, {redis} (a URL), {redis_host} and {redis_port} are replaced.
	Argv []string
	// RedisAddr is the host:port of its Redis.
	RedisAddr string
	// Database is the host:port of its database, for {db_host} and {db_port}; "" if it has none.
	Database string
	// Literal has the addresses in its code, where it has any.
	Literal Literal
	// Name names it in messages.
	Name string
	// Within bounds the time until it accepts connections; 0 means two minutes.
	Within time.Duration
}

// A Foreign is a running service that is a black box but for its command line. It may have several processes.
type Foreign struct {
	*Instance
	port    int
	literal int            // the port in its code, or 0
	network *netns.Network // nil unless it has one of its own

	ended    chan struct{} // of one with a network: closed when that has ended, and outlived is set
	outlived error
}

// silentWithin bounds the wait until the port of a killed service refuses connections: its last process may still be
// dying where marks cannot be read.
const silentWithin = 5 * time.Second

// StartForeign starts a foreign service with our environment, PORT and REDIS_URL, and waits until it listens on that
// port, which nothing else uses. If it dies later, that does not end the run: see [Instance.Exited].
func (c *Cluster) StartForeign(ctx context.Context, o ForeignOptions) (*Foreign, error) {
	if !CanStop {
		return nil, errors.New("a service cannot be stopped with its children on this system: use Linux, macOS or WSL")
	}
	if len(o.Argv) == 0 {
		return nil, errors.New("no command line for the service")
	}
	host, redisPort, err := net.SplitHostPort(o.RedisAddr)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	for err == nil && listener(ctx, port) != "" { // another program's, on ::1
		port, err = freePort()
	}
	if err != nil {
		return nil, err
	}
	number, url := strconv.Itoa(cmp.Or(o.Literal.Port, port)), "redis://"+o.RedisAddr
	replaced := []string{"{port}", number, "{redis}", url, "{redis_host}", host, "{redis_port}", redisPort}
	if host, port, err := net.SplitHostPort(o.Database); err == nil {
		replaced = append(replaced, "{db_host}", host, "{db_port}", port)
	}
	replace := strings.NewReplacer(replaced...)
	var argv []string
	for _, arg := range o.Argv {
		argv = append(argv, replace.Replace(arg))
	}
	f := &Foreign{port: port, literal: o.Literal.Port, Instance: &Instance{Name: o.Name,
		child: &child{name: o.Name, cmd: exec.Command(argv[0], argv[1:]...), mark: rand.Text()}}}
	f.cmd.Env = append(os.Environ(), "PORT="+number, "REDIS_URL="+url, netns.ShopMark+"="+f.mark)
	if err := f.begin(ctx, c, &o); err != nil {
		return nil, err
	}
	addr, err := f.listens(ctx, cmp.Or(o.Within, readyWithin))
	if err != nil {
		return nil, cmp.Or(f.Kill(), err)
	}
	f.URL = "http://" + addr
	return f, nil
}

// begin starts the process, in a network of its own if there are literal addresses.
func (f *Foreign) begin(ctx context.Context, c *Cluster, o *ForeignOptions) (err error) {
	if o.Literal == (Literal{}) {
		return f.spawn(c, never, nil)
	}
	doors, err := o.doors()
	if err != nil {
		return err
	}
	if f.network, err = netns.New(f.cmd, f.port, cmp.Or(f.literal, f.port), doors); err != nil {
		return err
	}
	started := f.spawn(c, never, nil)
	if err := f.network.Enter(ctx, started); err != nil {
		if started == nil {
			f.child.Kill()
		}
		f.network.Close()
		return err
	}
	f.ended = make(chan struct{})
	go func() {
		defer close(f.ended)
		<-f.exited
		f.outlived = f.falls()
		f.network.Close()
	}()
	return nil
}

// listens waits until the service accepts connections on the port, and returns the address.
func (f *Foreign) listens(ctx context.Context, within time.Duration) (addr string, err error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		if addr := f.listener(ctx); addr != "" && !f.exitsWithin(0) {
			return addr, nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-f.exited:
			return "", fmt.Errorf("%s died at start (%s)%s", f.name, f.cmd.ProcessState, f.lastLines())
		case <-late.C:
			where := fmt.Sprintf("%d, which is $PORT and {port}", f.port)
			if f.literal != 0 {
				where = fmt.Sprintf("%d of --port-at", f.literal)
			}
			return "", fmt.Errorf("%s does not listen on port %s, within %s%s", f.name, where, within, f.lastLines())
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// listener returns the address of the service, or "" if it does not listen.
func (f *Foreign) listener(ctx context.Context) string {
	if f.network == nil {
		return listener(ctx, f.port)
	}
	if host, _ := listensIn(f.network.Table, cmp.Or(f.literal, f.port)); host == "" {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port))
}

// listener returns the address of this machine at which the port accepts connections, or "". Node's localhost may be
// ::1 only. Where the system does not report listeners, ::1 is tried first: a service that starts to listen on both
// meanwhile is then found at 127.0.0.1, as usual.
func listener(ctx context.Context, port int) (found string) {
	if host, known := listens(port); known {
		if host == "" {
			return ""
		}
		return net.JoinHostPort(host, strconv.Itoa(port))
	}
	for _, host := range []string{"::1", "127.0.0.1"} {
		addr := net.JoinHostPort(host, strconv.Itoa(port))
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr); err == nil {
			_ = conn.Close()
			found = addr
		}
	}
	return found
}

// listens returns the host on which something listens on the port, "" if nothing does, and whether the system reports
// that. It makes no connection: some servers crash on one without a request.
func listens(port int) (host string, known bool) { return listensIn("/proc/net", port) }

// listensIn is listens for a network, given the directory of its tables.
func listensIn(network string, port int) (host string, known bool) {
	const state, listening = 3, "0A"
	for _, table := range []string{"tcp6", "tcp"} { // 127.0.0.1 before ::1
		text, err := os.ReadFile(filepath.Join(network, table))
		known = known || err == nil
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) <= state || fields[state] != listening {
				continue
			}
			address, number, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseInt(number, 16, 32); err != nil || int(n) != port {
				continue
			}
			switch address { // as the kernel prints them: words in the machine's byte order
			case "00000000000000000000000001000000":
				host = "::1"
			case "0100007F", "0000000000000000FFFF00000100007F", "00000000", strings.Repeat("0", 32):
				host = "127.0.0.1"
			}
		}
	}
	return host, known
}

// Kill kills all its processes, as SIGKILL or a power cut would. That does not end the run. An error means that a
// process was not found and still listens.
func (f *Foreign) Kill() error {
	f.child.Kill()
	if f.ended != nil {
		<-f.ended
		return f.outlived
	}
	return f.falls()
}

// falls waits until nothing listens on the port of the service, which was killed or has died.
func (f *Foreign) falls() error {
	for begun := time.Now(); f.listener(context.Background()) != ""; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > silentWithin {
			return fmt.Errorf("%s outlived the process that was started; start it in the foreground", f.name)
		}
	}
	return nil
}

// lastLines returns the last lines of output as the end of an error message.
func (f *Foreign) lastLines() string {
	if lines := f.Tail(); len(lines) > 0 {
		return "; its last lines:\n" + strings.Join(lines, "\n")
	}
	return ", without any output"
}
