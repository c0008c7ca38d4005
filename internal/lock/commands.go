package lock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Commands that compare and delete, and that not every Redis knows.
const (
	delex   = "DELEX"   // of Redis 8.4
	delifeq = "DELIFEQ" // of Valkey 9
)

// askTime bounds how long AskCommands waits for a Redis that does not answer.
const askTime = 3 * time.Second

// AskCommands returns those commands of [Rung.Asks] that a Redis knows, and that this user may send. It sends each as
// the rung does, for the lock of that product, with a token that no order has: it deletes nothing. Versions and the
// replies to COMMAND prove less: the embedded Redis answers as a Redis 5.
func AskCommands(ctx context.Context, rdb redis.UniversalClient, product string) (known []string) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for _, r := range Ladder() {
		for _, command := range r.Asks {
			if knows(sendIfEqual(ctx, rdb, command, r.Key(product), newToken()).Err()) {
				known = append(known, command)
			}
		}
	}
	return known
}

// knows reports whether the error of a command shows that the server knows it, and lets this user send it. The key may
// have another type.
func knows(err error) bool {
	var answer redis.Error
	return err == nil || errors.As(err, &answer) && !redis.HasErrorPrefix(err, "NOPERM") &&
		!strings.Contains(answer.Error(), "unknown command")
}

// known returns the first of these commands that Redis knows, "" if it knows none.
func (b Backends) known(commands ...string) string {
	if i := slices.IndexFunc(commands, func(name string) bool { return slices.Contains(b.Commands, name) }); i >= 0 {
		return commands[i]
	}
	return ""
}

// unknown returns the commands that the rung asks for if Redis knows none of them, else "".
func (b Backends) unknown(r Rung) string {
	if len(r.Asks) == 0 || b.known(r.Asks...) != "" {
		return ""
	}
	return strings.Join(r.Asks, " or ")
}

// deleteIfEqual removes the lock by that command if token still owns it, and otherwise returns ErrLost.
func deleteIfEqual(ctx context.Context, rdb redis.UniversalClient, command, key, token string) error {
	return releaseResult(sendIfEqual(ctx, rdb, command, key, token).Result())
}

func sendIfEqual(ctx context.Context, rdb redis.UniversalClient, command, key, token string) *redis.IntCmd {
	if command == delex {
		return rdb.DelExArgs(ctx, key, redis.DelExArgs{Mode: "IFEQ", MatchValue: token})
	}
	cmd := redis.NewIntCmd(ctx, strings.ToLower(command), key, token)
	_ = rdb.Process(ctx, cmd)
	return cmd
}
