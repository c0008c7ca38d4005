package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"stockapi/internal/lock"
	"stockapi/internal/stock"
	"stockapi/internal/trace"
)

// scriptNames maps the digests of scripts to their names.
type scriptNames trace.Names

// allScripts are the scripts of all rungs and shelves.
func allScripts() scriptNames {
	names := scriptNames(lock.ScriptNames())
	maps.Copy(names, stock.ScriptNames())
	return names
}

// reads are the commands that write nothing.
var reads = []string{"get", "exists", "pttl", "type", "watch"}

// command describes a command of go-redis, or a pipeline, for the gate. A transaction is called exec.
func (n scriptNames) command(server *store, cmds ...redis.Cmder) *command {
	described := &command{server: server}
	for _, cmd := range cmds {
		if cmd.Name() == "multi" || cmd.Name() == "exec" || cmd.Name() == "wait" {
			continue
		}
		name, _ := trace.Names(n).Describe(cmd.Args())
		if described.Name == "" {
			described.Name, described.args = name, cmd.Args()
		}
		described.Keys = append(described.Keys, keysOf(cmd.Args())...)
		described.write = described.write || !slices.Contains(reads, name)
	}
	if len(cmds) > 1 && cmds[0].Name() == "multi" {
		described.Name = "exec"
	}
	described.opens = described.write && server.Index > 0 && !ends(described.Name)
	return described
}

// ends reports whether a command of that name releases a lock, and begins no lease.
func ends(name string) bool {
	return slices.Contains([]string{"del", "delex", "delifeq"}, name) || strings.HasPrefix(name, "eval:release")
}

// changedNothing reports whether the reply shows that a command has written nothing: a refused acquire, or the release
// of a lock with another owner.
func changedNothing(name string, cmd redis.Cmder) bool {
	if cmd.Err() != nil {
		return false
	}
	switch reply := cmd.(type) {
	case *redis.BoolCmd:
		return name == "set" && !reply.Val()
	case *redis.IntCmd:
		return name == "delex" && reply.Val() == 0
	case *redis.Cmd:
		n, err := reply.Int64()
		return err == nil && (n == 0 && slices.Contains(refuseByZero, name) ||
			n < 0 && slices.Contains(refuseByLess, name))
	}
	return false
}

// Scripts that have written nothing if they return 0, and those if they return less. Any other script would also drop
// what such a script drops as expired.
var (
	refuseByZero = []string{"setnx", "eval:acquire", "eval:acquire-permit", "eval:acquire-reentrant", "eval:release",
		"eval:release-reentrant", "eval:release-fair", "eval:renew", "eval:renew-reentrant",
		"eval:renew-or-recreate"}
	refuseByLess = []string{"eval:acquire-reentrant", "eval:release"}
)

// keysOf returns the keys of a command, and the channel that it publishes to. Every command of the service that is not
// a script has one key. A script's arguments name the channel after PUBLISH, unless it is one of the keys.
func keysOf(args []any) []string {
	switch fmt.Sprint(args[0]) {
	case "eval", "evalsha":
		n, _ := args[2].(int)
		var keys []string
		for i, arg := range args[3:] {
			if i < n || args[2+i] == "PUBLISH" {
				keys = append(keys, fmt.Sprint(arg))
			}
		}
		return keys
	}
	if len(args) < 2 {
		return nil
	}
	return []string{fmt.Sprint(args[1])}
}

// argument returns the ith argument of a script, after its keys, as text.
func (cmd *command) argument(i int) string {
	n, _ := cmd.args[2].(int)
	if at := 3 + n + i; at < len(cmd.args) {
		return fmt.Sprint(cmd.args[at])
	}
	return ""
}

// digestOf returns the digest of the script that a command runs.
func digestOf(args []any) string {
	script := fmt.Sprint(args[1])
	if fmt.Sprint(args[0]) == "eval" {
		return redis.NewScript(script).Hash()
	}
	return script
}
