package trace

import (
	"context"
	"time"

	"stockapi/internal/backend"
)

// created is the reply to a create that was carried out.
const created = "ok"

// ZooKeeperHook returns the hook for a connection to ZooKeeper. It records operations as commands. A created node has
// the name that the server gave it.
func ZooKeeperHook(node string) backend.ZooKeeperHook {
	return func(ctx context.Context, o *backend.ZooKeeperOperation, next func(context.Context) error) error {
		r := From(ctx)
		if r == nil {
			return next(ctx)
		}
		e := Event{Node: node, Cmd: o.Name, Key: o.Path, At: time.Now()}
		err := next(ctx)
		e.End, e.Reply = time.Now(), short(o.Reply)
		switch {
		case !backend.Answered(err):
			e.Err = short(err.Error())
		case err == nil && o.Name == "zk:create":
			e.Key, e.Reply = o.Reply, created
		}
		r.add(e)
		return err
	}
}
