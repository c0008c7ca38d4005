package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockapi/loadtest/cluster"
	"stockapi/loadtest/history"
	"stockapi/loadtest/report"
	"stockapi/loadtest/report/terminal"
	"stockapi/loadtest/scenario"
	"stockapi/loadtest/stage"
)

// stageLog is the log of a class, and stageSheet the page with its rounds.
const stageLog, stageSheet = "stage.jsonl", "stage.html"

// stageFlags are the flags of the command stage.
type stageFlags struct {
	LAN      bool   `name:"lan" xor:"lan" help:"Serve the phones' page, and nothing else, to the local network."`
	Port     int    `default:"7070" help:"Port of the wall; the phones' page is on the next."`
	Rounds   string `placeholder:"FILE" xor:"rounds" help:"Play these rounds instead of the workshop's: docs/teaching.md."`
	Language string `enum:"en,zh" default:"en" help:"Language of the pages and rounds: ${enum}."`
	Replay   string `placeholder:"FILE" xor:"lan,rounds" help:"Replay a class from its log: out/class/stage.jsonl."`
	Backend  string `enum:"redis-server,embedded,auto" default:"auto" help:"Redis to start: ${enum}."`
	Out      string `default:"out" placeholder:"DIR" help:"Keep the class in DIR/class. Default: ${default}."`
}

// run serves the stage until it is interrupted, and returns the exit code.
func (f *stageFlags) run(ctx context.Context, stdout, stderr io.Writer) int {
	if err := f.show(ctx, stdout, stderr); err != nil {
		return complain(stderr, fmt.Errorf("stage: %w", err))
	}
	return asExpected
}

func (f *stageFlags) show(ctx context.Context, stdout, stderr io.Writer) error {
	if f.Replay != "" {
		return f.again(ctx, stdout)
	}
	rounds, err := stage.ReadRounds(f.Rounds, f.Language)
	if err != nil {
		return fmt.Errorf("--rounds: %w", err)
	}
	if err := checkOut(f.dir()); err != nil {
		return err
	}
	wall, wallAt, err := f.listen(ctx, f.Port, false)
	if err != nil {
		return err
	}
	defer wall.Close()
	next := f.Port + 1
	if f.Port == 0 { // any two
		next = 0
	}
	phones, phonesAt, err := f.listen(ctx, next, f.LAN)
	if err != nil {
		return err
	}
	defer phones.Close()
	log, err := os.Create(filepath.Join(f.dir(), stageLog))
	if err != nil {
		return err
	}
	defer log.Close()
	debug.SetGCPercent(50) // a class allocates little: a smaller heap costs nothing
	progress := terminal.NewProgress(stderr, terminal.Of(stderr))
	defer progress.Clear()
	progress.Status("starting Redis and stockapi…")
	code := stage.NewCode()
	s, ctx, err := stage.Open(ctx, stage.Options{
		Cluster: cluster.Options{Backend: f.Backend, Stockapi: theStockapi(), Say: progress.Say},
		Rounds:  rounds, Language: f.Language, Log: log, Keep: f.keep, LAN: f.LAN, Code: code,
		Addresses: phonesAt,
	})
	progress.Clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "the wall, with the teacher's controls: http://%s/\nthe phones: http://%s/%s\n"+
		"Ctrl-C ends the class, which is kept in %s\n", wallAt[0], phonesAt[0], code, f.dir())
	err = errors.Join(serve(ctx, map[net.Listener]http.Handler{wall: s.Teacher(), phones: s.Phones()}), s.Close())
	if len(s.Run(thisBuild()).Cells) == 0 {
		fmt.Fprintf(stdout, "no round reached its verdict; the log of the class is %s\n", log.Name())
		return err
	}
	fmt.Fprintf(stdout, "the class is kept in %s: all rounds in %s, what was judged in report.html\n", f.dir(), stageSheet)
	return err
}

// dir returns the directory of the class, beside the files of the last run.
func (f *stageFlags) dir() string { return filepath.Join(f.Out, "class") }

// keep writes the files of the class so far.
func (f *stageFlags) keep(s *stage.Stage) error {
	run := s.Run(thisBuild())
	return errors.Join(report.WriteAll(f.dir(), run, scenario.Table.Assess(run.Cells)),
		history.WriteFile(filepath.Join(f.dir(), stageSheet), s.WriteSheet))
}

// again replays a class from its log.
func (f *stageFlags) again(ctx context.Context, stdout io.Writer) error {
	file, err := os.Open(f.Replay)
	if err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	defer file.Close()
	recording, err := stage.ReadRecording(file, f.Language)
	if err != nil {
		return fmt.Errorf("--replay: %s: %w", f.Replay, err)
	}
	wall, wallAt, err := f.listen(ctx, f.Port, false)
	if err != nil {
		return err
	}
	defer wall.Close()
	fmt.Fprintf(stdout, "the wall: http://%s/ (Space jumps ahead)\nCtrl-C ends it\n", wallAt[0])
	go recording.Play(ctx)
	return serve(ctx, map[net.Listener]http.Handler{wall: recording.Wall()})
}

// listen listens on loopback, or on the local network. It also returns the addresses at which others reach it.
func (f *stageFlags) listen(ctx context.Context, port int, lan bool) (l net.Listener, at []string, err error) {
	host := "127.0.0.1"
	if lan {
		host = ""
	}
	l, err = new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: choose another port with --port", err)
	}
	if at, err = addressesOf(ctx, l); err != nil {
		_ = l.Close()
	}
	return l, at, err
}

// addressesOf returns the addresses at which others reach a listener, the likeliest first.
func addressesOf(ctx context.Context, l net.Listener) ([]string, error) {
	at := netip.MustParseAddrPort(l.Addr().String())
	if !at.Addr().IsUnspecified() {
		return []string{at.String()}, nil
	}
	first := ""
	if way, err := new(net.Dialer).DialContext(ctx, "udp4", "192.0.2.1:9"); err == nil { // it sends nothing
		first = way.LocalAddr().(*net.UDPAddr).IP.String()
		_ = way.Close()
	}
	all, _ := net.Interfaces()
	hosts := hostsOf(all, (*net.Interface).Addrs, first)
	if len(hosts) == 0 {
		return nil, errors.New("--lan: this machine has no address in a local network: join one, or leave it out")
	}
	for i := range hosts {
		hosts[i] = net.JoinHostPort(hosts[i], strconv.Itoa(int(at.Port())))
	}
	return hosts, nil
}

// hostsOf returns the IPv4 addresses of interfaces: the one of the default route first, and last those that no phone
// can reach. A VPN with the default route is among the last.
func hostsOf(all []net.Interface, addresses func(*net.Interface) ([]net.Addr, error), first string) (hosts []string) {
	rank := map[string]int{}
	for i := range all {
		addrs, _ := addresses(&all[i])
		for _, one := range addrs {
			net, is := one.(*net.IPNet)
			if !is || net.IP.To4() == nil || !net.IP.IsGlobalUnicast() {
				continue
			}
			host := net.IP.String()
			hosts = append(hosts, host)
			switch {
			case isApart(&all[i]):
				rank[host] = 2
			case host != first:
				rank[host] = 1
			}
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return rank[a] - rank[b] })
	return hosts
}

// isApart reports whether an interface leads to a single machine, as a VPN's does, or to containers: by its flags, or
// if these do not show it, by its name.
func isApart(i *net.Interface) bool {
	names := []string{"tun", "utun", "wg", "ppp", "tailscale", "docker", "br-", "veth", "virbr"}
	known := func(prefix string) bool { return strings.HasPrefix(i.Name, prefix) }
	return i.Flags&net.FlagPointToPoint != 0 || slices.ContainsFunc(names, known)
}

// serve serves the pages until ctx ends, and returns why it ended, or nil if it was cancelled.
func serve(ctx context.Context, pages map[net.Listener]http.Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for l, page := range pages {
		// Without a timeout, a body that never arrives and that the handler does not read would hold its connection for
		// ever. Streams may last longer: their requests have been read.
		server := &http.Server{Handler: page, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			MaxHeaderBytes: 16 << 10}
		go func() { cancel(server.Serve(l)) }()
		defer func() { _ = server.Close() }()
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
