//go:build !linux

package socket

// Received returns how many bytes a connection has received, read or not, and whether that is known: here it is not.
func Received(any) (n int64, known bool) { return 0, false }

// IsCalled reports whether a connection waits to be accepted. It is false if that is unknown.
func IsCalled(any) bool { return false }
