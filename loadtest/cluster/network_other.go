//go:build !linux

package cluster

import (
	"context"
	"errors"
)

// A network would be that of a service with literal addresses.
type network struct{ table string }

func (c *Cluster) newNetwork(*child, int, *ForeignOptions) (*network, error) {
	return nil, errors.New("--redis-at, --db-at and --port-at need Linux: try the shop there, or in a container")
}

func (n *network) enter(context.Context, error) error { return nil }

func (n *network) close() {}

// networkMain does nothing: no process is started within a network here.
func networkMain() {}
