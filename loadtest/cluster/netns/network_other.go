//go:build !linux

package netns

import (
	"context"
	"errors"
	"os/exec"
)

// A Network would be that of a service with literal addresses.
type Network struct{ Table string }

// New returns an error: there are no such networks here.
func New(*exec.Cmd, int, int, []Door) (*Network, error) {
	return nil, errors.New("--redis-at, --db-at and --port-at need Linux: try the shop there, or in a container")
}

// Enter does nothing.
func (n *Network) Enter(context.Context, error) error { return nil }

// Close does nothing.
func (n *Network) Close() {}

// Main does nothing: no process is started within a network here.
func Main() {}
