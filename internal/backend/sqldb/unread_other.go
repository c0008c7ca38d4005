//go:build !unix

package sqldb

import "net"

// hasUnread returns true: on this system it cannot be known, so the driver pings the server.
func hasUnread(net.Conn) bool { return true }
