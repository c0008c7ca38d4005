package backend

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// mortal is a hook that gives a key of SETNX an end.
type mortal struct{ ttl time.Duration }

// Mortal returns a hook that sends SETNX as SET NX PX, with this TTL. It is for a Redis that is somebody else's: what a
// process that was killed leaves there ends by itself. Whoever asked is answered as by SETNX, and hooks that were added
// before this one see SETNX.
func Mortal(ttl time.Duration) redis.Hook { return mortal{ttl} }

// DialHook is part of redis.Hook.
func (mortal) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook is part of redis.Hook; nobody sends SETNX in a pipeline.
func (mortal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook is part of redis.Hook.
func (m mortal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
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
