package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// A Created is what came of making a node.
type Created struct {
	Path string // of the first node made
	Zxid int64  // the transaction's number, which only grows: the czxid of what was made
}

// String returns the node's path.
func (c Created) String() string { return c.Path }

// Create makes nodes that end with the session, all of them or none, in one transaction. Path is the first one's; the
// others are named in full. Mark is a node that the transaction writes to as well: the answer to that tells the
// transaction's number, which a create by itself does not.
func (z *ZooKeeper) Create(ctx context.Context, mark, data string, flags int32, paths ...string) (Created, error) {
	var all []any
	for _, path := range paths {
		all = append(all, &zk.CreateRequest{Path: path, Data: []byte(data), Acl: open, Flags: zk.FlagEphemeral | flags})
	}
	all = append(all, &zk.SetDataRequest{Path: mark, Data: []byte(data), Version: anyVersion})
	return do(ctx, z, &ZooKeeperOperation{Name: "zk:create", Path: paths[0]}, func() (Created, error) {
		answers, err := z.conn.Multi(all...)
		if err != nil {
			return Created{}, err
		}
		return Created{Path: answers[0].String, Zxid: answers[len(answers)-1].Stat.Mzxid}, nil
	})
}

var open = zk.WorldACL(zk.PermAll)

// anyVersion stands for whatever version a node has.
const anyVersion = -1

// Delete removes nodes, all of them or none: if one is not there, [zk.ErrNoNode].
func (z *ZooKeeper) Delete(ctx context.Context, paths ...string) error {
	var all []any
	for _, path := range paths {
		all = append(all, &zk.DeleteRequest{Path: path, Version: anyVersion})
	}
	return z.transact(ctx, &ZooKeeperOperation{Name: "zk:delete", Path: paths[0]}, all)
}

// Check returns whether a node is there, by a transaction: a read could be answered by a server that was left behind.
func (z *ZooKeeper) Check(ctx context.Context, path string) (bool, error) {
	check := []any{&zk.CheckVersionRequest{Path: path, Version: anyVersion}}
	err := z.transact(ctx, &ZooKeeperOperation{Name: "zk:check", Path: path}, check)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

func (z *ZooKeeper) transact(ctx context.Context, o *ZooKeeperOperation, all []any) error {
	_, err := do(ctx, z, o, func() (bool, error) {
		_, err := z.conn.Multi(all...)
		return err == nil, err
	})
	return err
}

// Find returns what is known of a node, or nil if it is not there.
func (z *ZooKeeper) Find(ctx context.Context, path string) (*zk.Stat, error) {
	return do(ctx, z, &ZooKeeperOperation{Name: "zk:exists", Path: path}, func() (*zk.Stat, error) {
		there, stat, err := z.conn.Exists(path)
		if !there {
			stat = nil
		}
		return stat, err
	})
}

// Children returns the names of the nodes below one.
func (z *ZooKeeper) Children(ctx context.Context, path string) ([]string, error) {
	return do(ctx, z, &ZooKeeperOperation{Name: "zk:children", Path: path}, func() ([]string, error) {
		names, _, err := z.conn.Children(path)
		return names, err
	})
}

// Container makes a node that the server removes by itself some time after the last node in it has gone.
func (z *ZooKeeper) Container(ctx context.Context, path string) error {
	_, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:container", Path: path}, func() (string, error) {
		return z.conn.CreateContainer(path, nil, zk.FlagContainer, open)
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Sync waits until the server that this client speaks to has heard of all that was done before: a read by itself may be
// answered by a server that was left behind.
func (z *ZooKeeper) Sync(ctx context.Context, path string) error {
	_, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:sync", Path: path}, func() (string, error) {
		return z.conn.Sync(path)
	})
	return err
}

// Watch returns a channel that is closed when the node is changed or removed, or its session has ended, or nil when it
// is not there. It asks for the node's data: to ask whether it exists would leave a watch also on a node that does not.
func (z *ZooKeeper) Watch(ctx context.Context, path string) (<-chan struct{}, error) {
	gone, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:watch", Path: path}, func() (<-chan struct{}, error) {
		return z.watches.join(z, path)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return gone, err
}

// Ping returns nil when ZooKeeper answers.
func (z *ZooKeeper) Ping(ctx context.Context) error {
	_, err := z.Find(ctx, "/")
	if err != nil {
		return fmt.Errorf("ZooKeeper at %s: %w", z.Address, err)
	}
	return nil
}
