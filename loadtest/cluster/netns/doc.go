// Package netns runs a service in a network namespace of its own, in which the addresses in its code lead to servers
// outside.
//
// Reading order: network_linux.go (the network, as we see it), inside_linux.go (what we do inside), relay_linux.go.
package netns

import "net/netip"

// ShopMark is the environment variable that marks the processes of a foreign service. Each service has its own value.
// Ours within its network have none.
const ShopMark = "LOADTEST_SHOP"

// Loopback has the addresses that localhost may mean.
var Loopback = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// A Door is an address in the network of a service, and the host:port on this machine that it leads to.
type Door struct {
	At netip.AddrPort
	To string
}
