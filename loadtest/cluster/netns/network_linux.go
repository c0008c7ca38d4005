package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Network is that of a service with literal addresses: a namespace without any way out. This executable is started
// there first; see [work]. It listens at the literal addresses, hands us these sockets, which stay in that network
// wherever they are used, and becomes the service. So the service is a process as it would be without a network, and
// no relay of ours is stopped or killed with it.
//
// Into the network leads a process besides, the porter: only a process within it can connect there.
type Network struct {
	Table string // the directory of its list of sockets

	doors  []Door
	ours   *net.UnixConn // its end is that of the porter
	theirs []*os.File    // what the processes inside inherit
	porter *os.Process
	relays relays
	once   sync.Once
}

// New returns the network of a service, and makes the service's command, which has not been started, start there. What
// comes to the port outside arrives at the port inside. Close it.
func New(cmd *exec.Cmd, outside, inside int, doors []Door) (n *Network, err error) {
	n = &Network{doors: doors}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n.theirs = []*os.File{os.NewFile(uintptr(pair[1]), "theirs")}
	if n.ours, err = unixConn(os.NewFile(uintptr(pair[0]), "ours")); err != nil {
		return n, err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", outside))
	if err != nil {
		return n, err
	}
	defer l.Close()
	served, err := l.(*net.TCPListener).File()
	if err != nil {
		return n, err
	}
	n.theirs = append(n.theirs, served)
	todo := work{Port: inside}
	for _, d := range n.doors {
		todo.At = append(todo.At, d.At)
	}
	if cmd.Err == nil { // else there is no such program
		err = n.wrap(cmd, todo)
	}
	return n, err
}

// unixConn returns the connection of a file, which it closes.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// wrap makes a command start as this executable, in namespaces of its own. Its user is the same there: a user
// namespace lets any user make a network, and root keeps all users, to become one of them.
func (n *Network) wrap(cmd *exec.Cmd, todo work) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(todo)
	if err != nil {
		return err
	}
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args...)
	cmd.Path = self
	cmd.Env = append(cmd.Env, networkMark+"="+string(text))
	cmd.ExtraFiles = n.theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings:                mapped("uid", os.Geteuid()),
		GidMappings:                mapped("gid", os.Getegid()),
		GidMappingsEnableSetgroups: os.Geteuid() == 0,
		AmbientCaps:                []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}, // root has them anyway
	}
	return nil
}

// mapped maps an id to itself, or all ids if we are root.
func mapped(kind string, id int) (all []syscall.SysProcIDMap) {
	if os.Geteuid() == 0 {
		text, _ := os.ReadFile("/proc/self/" + kind + "_map")
		for line := range strings.Lines(string(text)) {
			var first, outer, count int
			if _, err := fmt.Sscan(line, &first, &outer, &count); err == nil {
				all = append(all, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: count})
			}
		}
	}
	if len(all) == 0 {
		all = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return all
}

// Enter waits until the service is being started in the network, and serves the sockets there. Call it after the
// process was started, also if that failed.
func (n *Network) Enter(ctx context.Context, started error) error {
	n.closeTheirs()
	for _, why := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS, syscall.EINVAL} {
		if errors.Is(started, why) {
			return forbidden(why.Error())
		}
	}
	if started != nil {
		return started
	}
	defer context.AfterFunc(ctx, func() { _ = n.ours.SetReadDeadline(time.Now()) })()
	text, rights := make([]byte, 4<<10), make([]byte, syscall.CmsgSpace(4*len(n.doors)))
	size, rest, _, _, err := n.ours.ReadMsgUnix(text, rights)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF): // the process has died, and its last lines say why
		return nil
	case err != nil:
		return err
	}
	var is entered
	if err := json.Unmarshal(text[:size], &is); err != nil {
		return err
	}
	if is.Refused != "" {
		return forbidden(is.Refused)
	}
	n.Table = fmt.Sprintf("/proc/%d/net", is.Porter)
	if n.porter, err = os.FindProcess(is.Porter); err != nil {
		return err
	}
	return n.serve(is.Doors, rights[:rest])
}

// serve relays from the sockets in a message to where they lead.
func (n *Network) serve(doors []int, rights []byte) error {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("no sockets came from the shop's network: %w", err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		_ = f.Close()
		if err != nil {
			return err
		}
		to := n.doors[doors[i]].To
		n.relays.serve(l, func() (net.Conn, error) { return net.Dial("tcp", to) })
	}
	return nil
}

// Close ends the network of a service that has ended. What that has sent still arrives.
func (n *Network) Close() {
	n.once.Do(func() {
		n.closeTheirs()
		if n.ours != nil {
			_ = n.ours.Close()
		}
		n.relays.close()
		if n.porter != nil {
			_, _ = n.porter.Wait()
		}
	})
}

func (n *Network) closeTheirs() {
	for _, f := range n.theirs {
		_ = f.Close()
	}
	n.theirs = nil
}

// forbidden returns the error for a network that cannot be had, with the reason as text, and a remedy.
func forbidden(reason string) error {
	return fmt.Errorf("--redis-at, --db-at and --port-at need a network namespace, which the system refuses (%s): %s",
		reason, remedy())
}

// remedy returns how to be allowed a namespace.
func remedy() string {
	for _, s := range []struct {
		setting, forbids, allows string
		root                     bool // it holds for root, too
	}{
		{"user.max_user_namespaces", "0", "10000", true},
		{"user.max_net_namespaces", "0", "10000", true},
		{"kernel.unprivileged_userns_clone", "0", "1", false},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0", false},
	} {
		is, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.setting, ".", "/"))
		if err == nil && strings.TrimSpace(string(is)) == s.forbids && (s.root || os.Geteuid() != 0) {
			return fmt.Sprintf("as root, run sysctl -w %s=%s", s.setting, s.allows)
		}
	}
	return "in a container, start that with --security-opt seccomp=unconfined, or try the shop outside"
}
