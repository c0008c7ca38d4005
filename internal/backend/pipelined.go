package backend

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// ErrNotPipelined means that a client cannot pipeline: its commands go to several servers.
var ErrNotPipelined = errors.New("automatic pipelining needs one Redis, or a Sentinel, and no Cluster")

// Pipelined returns a view of a client that sends the commands of all its callers over one connection, and concurrent
// ones in one write. This is the automatic pipelining of go-redis, which is experimental. A caller still waits
// for its reply. Close the client, not the view. The error is [ErrNotPipelined], or that of go-redis.
//
// Beside the client itself:
//   - When the connection breaks, all commands in flight on it have an unknown outcome, instead of one. go-redis sends
//     them all again if a client may retry, also those that were executed. So the clients of [Open] may not.
//   - A command ends with its reply or the client's timeout, and not with its context.
//   - A hook sees a batch of commands, in the context of none of them. So faults and traces of an order do not work.
//
// Transactions, subscriptions and pipelines still have connections of their own.
func Pipelined(client redis.UniversalClient) (redis.UniversalClient, error) {
	single, ok := client.(*redis.Client)
	if !ok {
		return nil, ErrNotPipelined
	}
	face, err := single.AutoPipeline()
	if err != nil {
		return nil, err
	}
	return face, nil
}
