package trace

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/backend"
	"stockapi/internal/backend/sqldb"
	"stockapi/internal/lock"
	"stockapi/internal/stock"
)

// An Observer wraps the commands to all backends of an instance.
type Observer struct {
	Names  Names     // of the scripts
	Count  func()    // called once for each Redis command and SQL statement; may be nil
	Faults *Injector // nil: faults are off
}

func (o Observer) count() {
	if o.Count != nil {
		o.Count()
	}
}

// Redis returns the hook for the client of one node. A trace shows when a command was really sent: after the faults
// before it.
func (o Observer) Redis(node string) redis.Hook { return hook{o, node} }

type hook struct {
	Observer
	node string
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.inject(ctx, false, cmd)
		at := time.Now()
		err := next(ctx, cmd)
		h.record(ctx, cmd, at, err)
		h.inject(ctx, true, cmd)
		return err
	}
}

// ProcessPipelineHook injects faults before and after the whole pipeline.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.inject(ctx, false, cmds...)
		at := time.Now()
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if !isSetup(cmd) {
				h.record(ctx, cmd, at, cmd.Err())
			}
		}
		h.inject(ctx, true, cmds...)
		return err
	}
}

func (h hook) inject(ctx context.Context, after bool, cmds ...redis.Cmder) {
	if h.Faults == nil || !hasFaults(ctx) {
		return
	}
	for _, cmd := range cmds {
		name, key := h.Names.Describe(cmd.Args())
		h.Faults.at(ctx, after, name, key)
	}
}

func (h hook) record(ctx context.Context, cmd redis.Cmder, at time.Time, err error) {
	h.count()
	if r := From(ctx); r != nil {
		r.add(h.event(cmd, at, err))
	}
}

// SQL returns the wrapper, as used by [sqldb.DB], of the statements about locks in one database.
func (o Observer) SQL(node string) func(ctx context.Context, statement, key string, do sqldb.Do) (int64, error) {
	return func(ctx context.Context, statement, key string, do sqldb.Do) (int64, error) {
		e := Event{Node: node, Cmd: "sql:" + statement, Key: key}
		o.Faults.at(ctx, false, e.Cmd, key)
		defer o.Faults.at(ctx, true, e.Cmd, key)
		o.count()
		e.At = time.Now()
		n, err := do(ctx)
		e.End = time.Now()
		switch {
		case sqldb.Contended(err): // a definite no
			e.Reply = err.Error()
		case err != nil:
			e.Err = err.Error()
		default:
			e.Reply = strconv.FormatInt(n, 10)
		}
		From(ctx).add(e)
		return n, err
	}
}

// created is the reply to a successful create of ZooKeeper.
const created = "ok"

// ZooKeeper returns the hook for a connection to ZooKeeper, whose operations count as commands in a trace. A created
// node has the name that the server gave it.
func (o Observer) ZooKeeper(node string) backend.ZooKeeperHook {
	return func(ctx context.Context, op *backend.ZooKeeperOperation, next func(context.Context) error) error {
		o.Faults.at(ctx, false, op.Name, op.Path)
		defer o.Faults.at(ctx, true, op.Name, op.Path)
		e := Event{Node: node, Cmd: op.Name, Key: op.Path, At: time.Now()}
		err := next(ctx)
		e.End, e.Reply = time.Now(), short(op.Reply)
		switch {
		case !backend.Answered(err):
			e.Err = short(err.Error())
		case err == nil && op.Name == "zk:create":
			e.Key, e.Reply = op.Reply, created
		}
		From(ctx).add(e)
		return err
	}
}

// Names maps the digests of scripts to their names.
type Names map[string]string

// ScriptNames returns the names of all scripts of the rungs and of the shelf.
func ScriptNames() Names {
	names := Names(lock.ScriptNames())
	maps.Copy(names, stock.ScriptNames())
	return names
}

// isSetup reports whether a command sets up a new connection, and so is not part of a sale.
func isSetup(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client":
		return true
	}
	return false
}

func (h hook) event(cmd redis.Cmder, at time.Time, err error) Event {
	name, key := h.Names.Describe(cmd.Args())
	e := Event{Node: h.node, Cmd: name, Key: key, At: at, End: time.Now()}
	switch {
	case err == redis.Nil: //nolint:errorlint // go-redis returns it bare, and this is a hot path
		e.Reply = "nil"
	case err != nil:
		e.Err = short(err.Error())
	default:
		e.Reply = short(Reply(cmd))
	}
	return e
}

// Describe returns a command's name, in lower case and with the name of its script, and its first key.
func (n Names) Describe(args []any) (name, key string) {
	arg := func(i int) string {
		if i < len(args) {
			return fmt.Sprint(args[i])
		}
		return ""
	}
	name = strings.ToLower(arg(0))
	switch name {
	case "evalsha", "eval":
		digest := arg(1)
		if name == "eval" {
			digest = redis.NewScript(digest).Hash()
		}
		name = "eval"
		if script := n[digest]; script != "" {
			name = "eval:" + script
		}
		return name, arg(3)
	default:
		return name, arg(1)
	}
}

// Reply returns the reply to a command as text, empty if it has several values.
func Reply(cmd redis.Cmder) string {
	switch c := cmd.(type) {
	case *redis.StringCmd:
		return c.Val()
	case *redis.StatusCmd:
		return c.Val()
	case *redis.IntCmd:
		return fmt.Sprint(c.Val())
	case *redis.BoolCmd:
		return strconv.FormatBool(c.Val())
	case *redis.Cmd:
		return fmt.Sprint(c.Val())
	}
	return ""
}

func short(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
