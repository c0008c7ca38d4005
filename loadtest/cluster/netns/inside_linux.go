package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A work has the addresses and the port that a process of ours serves in a network.
type work struct {
	At   []netip.AddrPort // where it listens; none: it is the porter
	Port int              // of the service
}

// An entered is the report of the first process in a network.
type entered struct {
	Doors   []int // those that the sockets beside the report belong to
	Porter  int   // its process id
	Refused string
}

// networkMark is in the environment of the processes of ours in a network: the first one, and the porter.
const networkMark = "LOADTEST_NETWORK"

// What these processes inherit.
const (
	controlFD = 3 + iota // their end of a socket pair
	servedFD             // listens outside
)

// Main does the work of a process of ours in a network, if this is one, and ends it.
func Main() {
	text := os.Getenv(networkMark)
	if text == "" {
		return
	}
	var todo work
	err := json.Unmarshal([]byte(text), &todo)
	switch {
	case err != nil:
	case len(todo.At) == 0:
		err = todo.carry()
	default:
		err = todo.begin()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// begin makes the network, starts the porter, hands over the sockets, and becomes the service.
func (todo work) begin() error {
	runtime.LockOSThread() // exec keeps the capabilities of its thread
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(servedFD)
	is, fds, err := todo.prepare()
	if err != nil {
		is.Refused = err.Error()
	}
	text, failed := json.Marshal(is)
	if failed == nil {
		failed = syscall.Sendmsg(controlFD, text, syscall.UnixRights(fds...), nil, 0)
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return fmt.Errorf("cannot start %s: %w", os.Args[1], syscall.Exec(os.Args[1], os.Args[2:], without(networkMark)))
}

// prepare returns what there is to report, and the sockets that go with it.
func (todo work) prepare() (is entered, fds []int, err error) {
	if err := todo.setAddresses(); err != nil {
		return is, nil, err
	}
	for i, at := range todo.At {
		l, err := net.Listen("tcp", at.String())
		if err != nil && at.Addr().Is6() { // this system has no IPv6, so the service does not use it
			continue
		}
		if err != nil {
			return is, nil, err
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return is, nil, err
		}
		is.Doors, fds = append(is.Doors, i), append(fds, int(f.Fd()))
		runtime.KeepAlive(f)
	}
	is.Porter, err = todo.startPorter()
	return is, fds, err
}

// setAddresses brings up the loopback interface, which has no addresses but 127.0.0.0/8 and ::1, and adds the others.
func (todo work) setAddresses() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	for i, at := range todo.At {
		if at.Addr().IsLoopback() {
			continue
		}
		one, err := unix.NewIfreq(fmt.Sprintf("lo:%d", i))
		if err == nil {
			err = one.SetInet4Addr(at.Addr().AsSlice())
		}
		if err == nil {
			err = unix.IoctlIfreq(s, unix.SIOCSIFADDR, one)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// startPorter starts the porter, and returns its process id. Its parent is ours, so it is no process of the service.
func (todo work) startPorter() (pid int, err error) {
	text, err := json.Marshal(work{Port: todo.Port})
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, "porter")
	cmd.Dir, cmd.Env = "/", append(without(networkMark, ShopMark), networkMark+"="+string(text))
	cmd.ExtraFiles = []*os.File{os.NewFile(controlFD, "control"), os.NewFile(servedFD, "served")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_PARENT}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	runtime.KeepAlive(cmd.ExtraFiles) // their finalizers would close what exec closes
	return cmd.Process.Pid, nil
}

// carry is the porter: it relays connections from outside to the service until the trial closes the network.
func (todo work) carry() error {
	l, err := net.FileListener(os.NewFile(servedFD, "served"))
	if err != nil {
		return err
	}
	_ = os.NewFile(servedFD, "served").Close()
	var all relays
	all.serve(l, func() (conn net.Conn, err error) {
		for _, host := range Loopback {
			at := netip.AddrPortFrom(host, uint16(todo.Port))
			if conn, err = net.Dial("tcp", at.String()); err == nil {
				break
			}
		}
		return conn, err
	})
	_, _ = io.Copy(io.Discard, os.NewFile(controlFD, "control"))
	all.close()
	return nil
}

// without returns our environment without these variables.
func without(names ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(names, name)
	})
}
