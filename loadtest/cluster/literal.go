package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"stockapi/loadtest/cluster/netns"
	"strconv"
)

// A Literal has the addresses that are literals in the code of a foreign service. With any, the service runs in a
// network of its own, where they lead to its servers, and where nothing else of this machine can be reached.
type Literal struct {
	Redis    string // host:port; "" if it takes ours
	Database string // likewise; it leads to the database of [ForeignOptions], or without one to that address itself
	Port     int    // where it listens; 0 if it takes ours
}

// Check returns an error that names the flag of an address that cannot be had.
func (l Literal) Check() error {
	redis, err := addressesOf("--redis-at", l.Redis)
	if err != nil {
		return err
	}
	database, err := addressesOf("--db-at", l.Database)
	if err != nil {
		return err
	}
	taken := func(by []netip.AddrPort) bool {
		return slices.ContainsFunc(by, func(a netip.AddrPort) bool { return int(a.Port()) == l.Port })
	}
	switch {
	case slices.ContainsFunc(redis, func(a netip.AddrPort) bool { return slices.Contains(database, a) }):
		return fmt.Errorf("--redis-at and --db-at are both %s: the shop cannot tell them apart", l.Redis)
	case taken(redis):
		return fmt.Errorf("--port-at %d is the port of --redis-at, too", l.Port)
	case taken(database):
		return fmt.Errorf("--port-at %d is the port of --db-at, too", l.Port)
	}
	return nil
}

// addressesOf returns the addresses that a flag's host:port means; none for "". Those of this machine are also its
// other ones: a client may take either for localhost.
func addressesOf(flag, hostPort string) (all []netip.AddrPort, err error) {
	if hostPort == "" {
		return nil, nil
	}
	host, number, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: write HOST:PORT", flag, err)
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%s: %q is no port: write HOST:PORT", flag, number)
	}
	hosts := netns.Loopback
	if host != "localhost" {
		ip, err := netip.ParseAddr(host)
		switch ip = ip.Unmap(); {
		case err != nil:
			return nil, fmt.Errorf("%s: %q is no IP address: write that of the shop's code, or localhost", flag, host)
		case ip.IsUnspecified() || slices.Contains(netns.Loopback, ip):
		case ip.Is6() || ip.IsMulticast():
			return nil, fmt.Errorf("%s: %s cannot be had: only ::1 and IPv4 addresses can", flag, host)
		default:
			hosts = []netip.Addr{ip}
		}
	}
	for _, h := range hosts {
		all = append(all, netip.AddrPortFrom(h, uint16(port)))
	}
	return all, nil
}

// doors returns those of a service's network: its servers are at their literal addresses, and where they really are.
func (o *ForeignOptions) doors() (all []netns.Door, err error) {
	add := func(flag, at, to string) {
		addresses, wrong := addressesOf(flag, at)
		err = errors.Join(err, wrong)
		for _, a := range addresses {
			if !slices.ContainsFunc(all, func(d netns.Door) bool { return d.At == a }) {
				all = append(all, netns.Door{At: a, To: to})
			}
		}
	}
	database := o.Database
	if database == "" {
		database = o.Literal.Database
	}
	add("--redis-at", o.Literal.Redis, o.RedisAddr)
	add("--db-at", o.Literal.Database, database)
	add("the Redis", o.RedisAddr, o.RedisAddr)
	add("the database", o.Database, o.Database)
	return all, err
}
