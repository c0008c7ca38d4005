package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// A Created is the reply to creating nodes.
type Created struct {
	Path string // of the first node
	Zxid int64  // the number of the transaction, which only grows: the czxid of the nodes
}

// String returns the node's path.
func (c Created) String() string { return c.Path }

// Create creates ephemeral nodes, all or none, in one transaction. The transaction also writes to the node mark: the
// reply to that write has the number of the transaction, which the reply to a create does not have.
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

// anyVersion matches every version of a node.
const anyVersion = -1

// Delete removes nodes, all or none. If one does not exist, it returns [zk.ErrNoNode].
func (z *ZooKeeper) Delete(ctx context.Context, paths ...string) error {
	var all []any
	for _, path := range paths {
		all = append(all, &zk.DeleteRequest{Path: path, Version: anyVersion})
	}
	return z.transact(ctx, &ZooKeeperOperation{Name: "zk:delete", Path: paths[0]}, all)
}

// Check reports whether a node exists. It uses a transaction: a server that lags behind could answer a read.
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

// Find returns the stat of a node, or nil if the node does not exist.
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

// Container creates a container node, which the server removes some time after its last child has gone.
func (z *ZooKeeper) Container(ctx context.Context, path string) error {
	_, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:container", Path: path}, func() (string, error) {
		return z.conn.CreateContainer(path, nil, zk.FlagContainer, open)
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Sync waits until this client's server has caught up with the ensemble: without it a read may return old data.
func (z *ZooKeeper) Sync(ctx context.Context, path string) error {
	_, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:sync", Path: path}, func() (string, error) {
		return z.conn.Sync(path)
	})
	return err
}

// Watch returns a channel that is closed when the node changes or is removed, or the session ends. It returns nil if
// the node does not exist. It reads the node's data: an exists request would leave a watch on a node that does not
// exist.
func (z *ZooKeeper) Watch(ctx context.Context, path string) (<-chan struct{}, error) {
	gone, err := do(ctx, z, &ZooKeeperOperation{Name: "zk:watch", Path: path}, func() (<-chan struct{}, error) {
		return z.watches.join(z, path)
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return gone, err
}

// Ping returns nil if ZooKeeper answers.
func (z *ZooKeeper) Ping(ctx context.Context) error {
	_, err := z.Find(ctx, "/")
	if err != nil {
		return fmt.Errorf("ZooKeeper at %s: %w", z.Address, err)
	}
	return nil
}
