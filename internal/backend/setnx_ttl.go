package backend

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type setNXWithTTL struct{ ttl time.Duration }

// SetNXWithTTL returns a hook that sends SETNX as SET NX PX, with this TTL. It is for a shared Redis: the lock of a
// killed process expires. The caller gets the reply of a SETNX, and hooks that were added before this one see a SETNX.
func SetNXWithTTL(ttl time.Duration) redis.Hook { return setNXWithTTL{ttl} }

// DialHook is part of redis.Hook.
func (setNXWithTTL) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook is part of redis.Hook. No SETNX is sent in a pipeline.
func (setNXWithTTL) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook is part of redis.Hook.
func (m setNXWithTTL) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		asked, ok := cmd.(*redis.Cmd)
		if !ok || asked.Name() != "setnx" || len(asked.Args()) != 3 {
			return next(ctx, cmd)
		}
		sent := redis.NewBoolCmd(ctx, "set", asked.Args()[1], asked.Args()[2], "px", m.ttl.Milliseconds(), "nx")
		err := next(ctx, sent)
		asked.SetErr(err)
		asked.SetVal(int64(0))
		if sent.Val() {
			asked.SetVal(int64(1))
		}
		return err
	}
}
