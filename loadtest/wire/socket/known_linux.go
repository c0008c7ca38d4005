package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Received returns how many bytes a connection has received, read or not, and whether that is known.
func Received(c any) (n int64, known bool) {
	info := infoOf(c)
	if info == nil {
		return 0, false
	}
	return int64(info.Bytes_received), true
}

// IsCalled reports whether a connection waits to be accepted. It is false if that is unknown.
func IsCalled(listener any) bool {
	info := infoOf(listener)
	return info != nil && info.Unacked > 0 // of a socket that listens: the length of its queue
}

// infoOf returns what the system knows about a socket, nil if it knows nothing.
func infoOf(socket any) (info *unix.TCPInfo) {
	s, is := socket.(syscall.Conn)
	if !is {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err != nil {
		return nil
	}
	return info
}
