//go:build !linux

package wire

// received returns how many bytes a connection has received, read or not, and whether that is known: here it is not.
func received(any) (n int64, known bool) { return 0, false }

// isCalled reports whether a connection waits to be accepted. It is false if that is unknown.
func isCalled(any) bool { return false }
